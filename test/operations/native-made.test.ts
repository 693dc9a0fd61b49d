// What a native tool has made of a file: whose version that is, and whether its session knows it.
import { applyPatch } from 'diff'
import t from 'tap'
import { change, content, diffIn, edit, refusalOf, startHooks as start } from '../fixtures/native-session.ts'
import { until } from '../fixtures/until.ts'

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
