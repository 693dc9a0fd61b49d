// What a native tool has made of a file: whose version that is, and whether its session knows it.
import { symlinkSync, unlinkSync } from 'node:fs'
import { applyPatch } from 'diff'
import t from 'tap'
import { change, content, diffIn, edit, refusalOf, startHooks as start } from '../fixtures/native-session.ts'
import { until } from '../fixtures/until.ts'
import { cannotLink } from '../fixtures/links.ts'

/** The turn of a native tool is over at once, as it is when a person takes time to allow the tool. */
const brief = { locks: { native_edit_seconds: 0.05 } }

const whole = (text: string) => `${text}by anna\n`

for (const [title, config] of [
  ['in time', {}],
  ['late', brief]
] as const)
  t.test(`a session does not know what a person makes of its edit before that is reported ${title}`, async (t) => {
    const { tree, bob, session, history } = await start(t, config)
    const isFree = async () =>
      (await bob.call('lock_status', { filepaths: ['a.txt'] }))['results'][0].holders.length === 0
    const path = tree.path('a.txt')
    const byPerson = (text: string) => text.replace('line 20\n', 'by a person\n')
    for (const [tool, made, input] of [
      ['Write', whole(content), { file_path: path, content: whole(content) }],
      ['Edit', content.replace('line 3\n', 'third\n'), edit(path, 'line 3\n', 'third\n')]
    ] as const) {
      const anna = session(`anna-${tool}`)
      tree.write('a.txt', content)
      await bob.call('async_read', { path: 'a.txt' })
      await anna.read(path, content)
      t.same(await anna.before(tool, input), {})
      if (config === brief) await until(isFree)
      tree.write('a.txt', made)
      tree.write('a.txt', byPerson(made))
      await anna.after(tool, input)
      const refused = refusalOf(await anna.before('Write', { file_path: path, content: whole(made) }))
      t.match(refused, '+by a person', tool)
      t.equal(applyPatch(content, diffIn(refused)), tree.read('a.txt'), tool)
      t.match((await history('a.txt'))[0], { operation: /^(external|native_edit_probable)$/ }, tool)
    }
  })

t.test('a late report waits for the file, and does not claim what others have made meanwhile', async (t) => {
  const { tree, bob, session, history } = await start(t)
  const [anna, carl] = [session('anna'), session('carl')]
  const path = tree.path('a.txt')
  await anna.read(path, content)
  const input = edit(path, 'line 20\n', 'carl\n')
  await carl.before('Edit', input)
  // The process that knew of the call before the tool has gone.
  const late = anna.after('Write', { file_path: path, content: whole(content) })
  await until(async () => (await bob.call('lock_status', { filepaths: ['a.txt'] }))['results'][0].queue_depth === 1)
  tree.write('a.txt', content.replace('line 20\n', 'carl\n'))
  await carl.after('Edit', input)
  await late
  t.match(await history('a.txt'), [{ agent_id: 'claude-code/carl' }, { agent_id: null }])
  t.match(refusalOf(await anna.before('Write', { file_path: path, content: whole(content) })), '+carl')
})

t.test('a late report of what was announced is the work of its agent, which knows it', async (t) => {
  for (const isNoticed of [false, true]) {
    const { tree, bob, session, history } = await start(t, { watcher: { enabled: false } })
    const anna = session('anna')
    const path = tree.path('a.txt')
    await anna.read(path, content)
    const steps = [
      ['Edit', edit(path, 'line 3\n', 'third\n'), content.replace('line 3\n', 'third\n')],
      ['Write', { file_path: path, content: 'all new\n' }, 'all new\n']
    ] as const
    for (const [tool, input, made] of steps) {
      tree.write('a.txt', made)
      if (isNoticed) await bob.call('async_read', { path: 'a.txt' })
      await anna.after(tool, input)
      t.match((await history('a.txt'))[0], { agent_id: isNoticed ? 'external' : 'claude-code/anna' })
      t.same(await anna.before('Write', { file_path: path, content: 'x\n' }), {}, `${tool}, noticed ${isNoticed}`)
      await anna.ask('PostToolUseFailure', { tool_name: 'Write', tool_input: { file_path: path }, error: 'x' })
    }
    await change(bob, 'a.txt', 'all new\n', 'by bob\n')
    t.match(refusalOf(await anna.before('Write', { file_path: path, content: 'x\n' })), '+by bob')
  }
})

t.test('a file that cannot be read is not passed over in silence', async (t) => {
  const { tree, session, log, history } = await start(t, { crud: { max_file_size_bytes: 1000 } })
  const anna = session('anna')
  const path = tree.path('a.txt')
  const input = { file_path: path, content: 'x'.repeat(2000) }
  await anna.read(path, content)
  t.same(await anna.before('Write', input), {})
  tree.write('a.txt', input.content)
  t.same(await anna.after('Write', input), {})
  t.match(log.join('\n'), 'what a native tool has made could not be read')
  t.match(await history('a.txt'), [{ agent_id: null }])
  t.match(await anna.before('Write', input), { status: 'error', error_code: 'FILE_TOO_LARGE' }, 'nothing is checked')
})

t.test(
  'a tool that puts a file in the place of a link does not change what the link led to',
  { skip: cannotLink },
  async (t) => {
    const { tree, session, history } = await start(t, { watcher: { enabled: false } })
    symlinkSync('a.txt', tree.path('link.txt'))
    const anna = session('anna')
    const input = { file_path: tree.path('link.txt'), content: 'new\n' }
    await anna.read(tree.path('link.txt'), content)
    t.same(await anna.before('Write', input), {})
    unlinkSync(tree.path('link.txt'))
    tree.write('link.txt', 'new\n')
    await anna.after('Write', input)
    t.match(await history('a.txt'), [{ agent_id: null }])
    t.equal((await history('a.txt')).length, 1)
    const direct = { file_path: tree.path('a.txt'), content: 'newer\n' }
    await anna.before('Write', direct)
    unlinkSync(tree.path('a.txt'))
    symlinkSync('link.txt', tree.path('a.txt'))
    await anna.after('Write', direct)
    t.match(await history('link.txt'), [{ agent_id: null }], 'what is found at the end of a link is not its work')
  }
)

t.test('a notebook that others have changed can be edited once it was read', async (t) => {
  const { tree, bob, session } = await start(t)
  const anna = session('anna')
  await bob.call('async_write', { path: 'n.ipynb', content: '{"cells":[]}\n' })
  const input = { notebook_path: tree.path('n.ipynb'), new_source: 'x' }
  t.match(refusalOf(await anna.before('NotebookEdit', input)), 'You have not read')
  const shown = { type: 'notebook', file: { filePath: input.notebook_path, cells: [] } }
  await anna.tool('PostToolUse', 'Read', { file_path: input.notebook_path }, { tool_response: shown })
  for (const text of ['{"cells":[1]}\n', '{"cells":[2]}\n']) {
    t.same(await anna.before('NotebookEdit', input), {}, 'its own change is no news to it')
    tree.write('n.ipynb', text)
    await anna.after('NotebookEdit', input)
  }
})

t.test('Cursor reports late what it has done', async (t) => {
  const { tree, hook, history } = await start(t, { watcher: { enabled: false } })
  const path = tree.path('a.txt')
  const event = (name: string, fields: object) =>
    hook('cursor', { conversation_id: 'c1', workspace_roots: [tree.root], hook_event_name: name, ...fields })
  await event('beforeReadFile', { file_path: path, content })
  tree.write('a.txt', content.replace('line 3\n', 'third\n'))
  await event('afterFileEdit', { file_path: path, edits: [{ old_string: 'line 3\n', new_string: 'third\n' }] })
  t.match(await history('a.txt'), [{ agent_id: 'cursor/c1', operation: 'native_edit' }, {}])
  const input = { tool_name: 'Write', tool_input: { file_path: path, content: 'x' } }
  t.same(await event('preToolUse', input), {}, 'it knows that')
})
