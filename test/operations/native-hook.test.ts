// Native tools of harnesses under the rules of this server: each hook input has the form that its harness documents.
import { unlinkSync, symlinkSync } from 'node:fs'
import { applyPatch } from 'diff'
import t from 'tap'
import {
  change,
  content,
  contextOf,
  diffIn,
  edit,
  lines,
  refusalOf,
  startHooks as start,
  type Session
} from '../fixtures/native-session.ts'
import { connect, type Answer } from '../fixtures/clients.ts'
import { until } from '../fixtures/until.ts'
import { cannotLink } from '../fixtures/links.ts'

t.test('a native edit is recorded with its agent, and the readers of the file are told once', async (t) => {
  const { tree, bob, session, history, url } = await start(t)
  const [anna, carl] = [session('anna'), session('carl')]
  const path = tree.path('a.txt')
  await anna.read(path, content)
  await carl.read(path, content)
  const input = edit(path, 'line 3\n', 'third\n')
  t.same(await anna.before('Edit', input), {}, 'nothing to say')
  tree.write('a.txt', content.replace('line 3\n', 'third\n'))
  t.same(await anna.after('Edit', input), {})
  t.match(await history('a.txt'), [
    { agent_id: 'claude-code/anna', operation: 'native_edit', lines: { modified: 1 } },
    {}
  ])
  const told = await carl.ask('UserPromptSubmit', { prompt: 'go on' })
  t.match(contextOf(told), /claude-code\/anna changed .*a\.txt since you read it: line 3\. Read it again/)
  t.notMatch(contextOf(told), 'known_hash')
  t.same(await carl.ask('UserPromptSubmit', { prompt: 'go on' }), {}, 'once')
  t.same(await anna.ask('UserPromptSubmit', { prompt: 'go on' }), {}, 'not who made it')
  const { agents } = (await (await fetch(`${url}/activity`)).json()) as { agents: { agent_id: string }[] }
  t.match(
    agents.find(({ agent_id }) => agent_id === 'claude-code/anna'),
    { operation: 'native_hook' },
    'the board shows its session'
  )
  const restored = await bob.call('async_restore', {
    path: 'a.txt',
    hash: (await history('a.txt'))[1]?.['hash'],
    expected_hash: null
  })
  t.equal(restored['status'], 'ok')
  t.equal(tree.read('a.txt'), content, 'it can be undone')
})

t.test('an edit that would overwrite what its session has not seen is refused with the exact difference', async (t) => {
  const { tree, bob, session } = await start(t)
  const [anna] = [session('anna')]
  const path = tree.path('a.txt')
  await anna.read(path, content)
  await change(bob, 'a.txt', 'line 3\n', 'by bob\n')
  const whole = { file_path: path, content: content.replace('line 9\n', 'nine\n') }
  const refused = refusalOf(await anna.before('Write', whole))
  t.match(refused, /^bob changed .*a\.txt since you last saw it, and Write would overwrite that/)
  t.equal(applyPatch(content, diffIn(refused)), tree.read('a.txt'))
  t.same(await anna.before('Write', whole), {}, 'it knows the present version now')
  await anna.after('Write', whole)
  await change(bob, 'a.txt', 'line 20\n', 'by bob\n')
  t.match(refusalOf(await anna.before('Edit', edit(path, 'line 20', 'twenty'))), '+by bob')
  t.match(
    (await bob.call('lock_status', { filepaths: ['a.txt'] }))['results'],
    [{ holders: [] }],
    'nothing stays locked'
  )
})

t.test(
  'an edit of lines that nobody touched passes, and its session then learns what others had changed',
  async (t) => {
    const { tree, bob, session, history } = await start(t)
    const anna = session('anna')
    const path = tree.path('a.txt')
    await anna.read(path, content)
    await change(bob, 'a.txt', 'line 3\n', 'by bob\n')
    const input = edit(path, 'line 20\n', 'twenty\n')
    t.same(await anna.before('Edit', input), {})
    tree.write('a.txt', tree.read('a.txt').replace('line 20\n', 'twenty\n'))
    const told = contextOf(await anna.after('Edit', input))
    t.match(told, /made beside changes of bob, which you have not seen/)
    t.match(told, '+by bob')
    t.match(await history('a.txt'), [{ agent_id: 'claude-code/anna' }, { agent_id: 'bob' }, {}])
    t.same(await anna.before('Edit', edit(path, 'twenty\n', '20\n')), {}, 'its own change is no news to it')
  }
)

t.test('a session that has seen some lines is stopped only where these have changed', async (t) => {
  const { tree, bob, session } = await start(t)
  const anna = session('anna')
  const path = tree.path('a.txt')
  await anna.read(path, lines.slice(9, 15).join('\n'), 10)
  await change(bob, 'a.txt', 'line 2\n', 'by bob\n')
  t.same(await anna.before('Edit', edit(path, 'line 12\n', 'twelve\n')), {})
  await anna.ask('PostToolUseFailure', {
    tool_name: 'Edit',
    tool_input: edit(path, 'line 12\n', 'twelve\n'),
    error: 'x'
  })
  await change(bob, 'a.txt', 'line 12\n', 'by bob, too\n')
  t.match(refusalOf(await anna.before('Edit', edit(path, 'line 12\n', 'twelve\n'))), '+by bob, too')
})

t.test('a file is taken for one native edit, and another one waits for its end', async (t) => {
  const { tree, bob, session, history } = await start(t)
  const [anna, carl] = [session('anna'), session('carl')]
  const path = tree.path('a.txt')
  const first = edit(path, 'line 1\n', 'anna\n')
  await anna.before('Edit', first)
  const second = edit(path, 'line 30\n', 'carl\n')
  const waiting = carl.before('Edit', second)
  const update = bob.call('async_append', { path: 'a.txt', content: 'bob\n' })
  await until(async () => (await bob.call('lock_status', { filepaths: ['a.txt'] }))['results'][0].queue_depth === 2)
  tree.write('a.txt', tree.read('a.txt').replace('line 1\n', 'anna\n'))
  await anna.after('Edit', first)
  t.same(await waiting, {})
  tree.write('a.txt', tree.read('a.txt').replace('line 30\n', 'carl\n'))
  await carl.after('Edit', second)
  t.equal((await update)['status'], 'ok')
  t.equal(tree.read('a.txt'), `${content.replace('line 1\n', 'anna\n').replace('line 30\n', 'carl\n')}bob\n`)
  const agents = new Set((await history('a.txt')).slice(0, 3).map((version) => version['agent_id']))
  t.same(agents, new Set(['bob', 'claude-code/anna', 'claude-code/carl']))
})

t.test('what a session reads while another one writes counts as it was, also half written', async (t) => {
  const { tree, session } = await start(t)
  const [anna, carl] = [session('anna'), session('carl')]
  const path = tree.path('a.txt')
  const write = async (text: string, meanwhile: () => Promise<unknown>) => {
    const input = { file_path: path, content: text }
    t.same(await anna.before('Write', input), {})
    tree.write('a.txt', text)
    await meanwhile()
    await anna.after('Write', input)
  }
  await anna.read(path, content)
  await carl.read(path, content)
  const second = `${content}second\n`
  await write(second, () => carl.read(path, second))
  t.same(await carl.ask('UserPromptSubmit', { prompt: 'go on' }), {}, 'it has seen that')
  const third = `${second}third\n`
  await write(third, async () => {})
  const input = { file_path: path, content: `${second}by carl\n` }
  const refused = refusalOf(await carl.before('Write', input))
  t.equal(applyPatch(second, diffIn(refused)), third, 'the difference to what it has seen')
  const fourth = `${third}fourth\n`
  await write(fourth, () => carl.read(path, third.slice(0, 40)))
  const again = refusalOf(await carl.before('Write', { file_path: path, content: `${third}by carl\n` }))
  t.match(again, /changed .*a\.txt since you last saw it.*: read the file again\.$/, 'no difference is right')
  await carl.read(path, fourth)
  t.same(await carl.before('Write', { file_path: path, content: `${fourth}by carl\n` }), {})
})

t.test('a session whose read is reported after the file has changed is told of that, once', async (t) => {
  const { tree, bob, session } = await start(t)
  const path = tree.path('a.txt')
  await bob.call('async_read', { path: 'a.txt' })
  await change(bob, 'a.txt', 'line 3\n', 'by bob\n')
  for (const [id, read] of [
    ['anna', (one: Session) => one.read(path, content)],
    ['carl', (one: Session) => one.read(path, lines.slice(1, 9).join('\n'), 2)]
  ] as const) {
    const one = session(id)
    t.match(contextOf(await read(one)), /bob changed .*a\.txt since you read it: line 3/, id)
    t.same(await one.ask('UserPromptSubmit', { prompt: 'go on' }), {}, id)
  }
  for (let count = 0; count < 12; count += 1) await change(bob, 'a.txt', `line ${count + 10}\n`, 'again by bob\n')
  t.match(
    contextOf(await session('eve').read(path, content)),
    /since you read it: line 3, lines 10 to 21/,
    'in between'
  )
  await session('dora').read(path, lines.slice(21, 25).join('\n'), 22)
  t.same(await session('dora').ask('UserPromptSubmit', { prompt: 'go on' }), {}, 'of what it has seen alone')
})

t.test('who was told of a change has not seen it: an edit is refused as before', async (t) => {
  const { tree, bob, session } = await start(t)
  const [anna, carl] = [session('anna'), session('carl')]
  const path = tree.path('a.txt')
  await anna.read(path, content)
  await carl.read(path, lines.slice(9, 15).join('\n'), 10)
  await change(bob, 'a.txt', 'line 12\n', 'by bob\n')
  const input = { file_path: path, content: 'all new\n' }
  for (const one of [anna, carl]) {
    const told = contextOf(await one.ask('UserPromptSubmit', { prompt: 'go on' }))
    t.match(told, /bob changed .*a\.txt since you read it: line 12/)
  }
  t.equal(applyPatch(content, diffIn(refusalOf(await anna.before('Write', input)))), tree.read('a.txt'))
  t.same(await anna.before('Write', input), {}, 'now it knows')
  await anna.ask('PostToolUseFailure', { tool_name: 'Write', tool_input: { file_path: path }, error: 'x' })
  const refused = refusalOf(await carl.before('Write', input))
  t.match(refused, /You have not seen lines 1 to 9, line 12, lines 16 to 30 of/, 'who has seen a part')
  t.equal(refusalOf(await carl.before('Write', input)), refused, 'and that has shown it nothing')
  const ofLine = edit(path, 'line 12', '12')
  t.equal(applyPatch(content, diffIn(refusalOf(await carl.before('Edit', ofLine)))), tree.read('a.txt'))
})

t.test('a harness that shows a file in a form of its own is asked to read once more at most', async (t) => {
  const { tree, bob, session } = await start(t)
  const anna = session('anna')
  const path = tree.path('a.txt')
  await anna.read(path, content)
  await change(bob, 'a.txt', 'line 3\n', 'by bob\n')
  const own = lines.map((line) => `> ${line}\n`).join('')
  const input = { file_path: path, content: 'all new\n' }
  await anna.read(path, own)
  t.match(refusalOf(await anna.before('Write', input)), /read the file again\.$/)
  await anna.read(path, own)
  t.same(await anna.before('Write', input), {})
})

t.test('a leased file is refused with its holder, and a required lease is asked for', async (t) => {
  const short = { native_wait_seconds: 0.05 }
  const held = await start(t, { locks: short })
  const leased = { filepaths: ['a.txt'], note: 'renaming' }
  await held.bob.call('lock_try', leased)
  const input = edit(held.tree.path('a.txt'), 'line 1', 'x')
  const refused = refusalOf(await held.session('anna').before('Edit', input))
  t.match(refused, /^Edit was not run\. .*Agent bob has leased it .*with the note "renaming"/)
  t.match(refused, 'claude-code/anna', 'under which name it came')
  const required = await start(t, { locks: { ...short, enforcement: 'required' } })
  const path = required.tree.path('a.txt')
  t.match(
    refusalOf(await required.session('anna').before('Edit', edit(path, 'line 1', 'x'))),
    /lock_try with .*"agent_id":"claude-code\/anna"/
  )
  await required.bob.call('lock_try', { filepaths: ['a.txt'], agent_id: 'claude-code/anna' })
  t.same(await required.session('anna').before('Edit', edit(path, 'line 1', 'x')), {}, 'with a lease of its own')
})

t.test('a file that another agent has made is not replaced unread, nor brought back', async (t) => {
  const { tree, bob, session } = await start(t)
  const anna = session('anna')
  await bob.call('async_write', { path: 'new.txt', content: 'by bob\n' })
  const input = { file_path: tree.path('new.txt'), content: 'by anna\n' }
  t.match(refusalOf(await anna.before('Write', input)), /You have not read .*new\.txt, and bob made it/)
  await anna.read(tree.path('new.txt'), 'by bob\n')
  t.same(await anna.before('Write', input), {})
  await anna.after('Write', input)
  await bob.call('async_delete', { path: 'new.txt' })
  t.match(refusalOf(await anna.before('Write', input)), /bob removed .*new\.txt since you last saw it/)
  t.same(await anna.before('Write', input), {}, 'asked for once more, it is wanted')
})

t.test('a tool whose end no harness reports gives its file back within seconds', async (t) => {
  const { tree, bob, session, history } = await start(t, { locks: { native_edit_seconds: 1 } })
  const anna = session('anna')
  const path = tree.path('a.txt')
  await anna.read(path, content)
  t.same(await anna.before('Write', { file_path: path, content: 'as announced\n' }), {})
  tree.write('a.txt', 'as announced\n')
  t.equal((await bob.call('async_read', { path: 'a.txt' }))['content'], 'as announced\n')
  t.match(
    await history('a.txt'),
    [{ agent_id: 'claude-code/anna', operation: 'native_edit' }, {}],
    'it is what was announced'
  )
  await anna.before('NotebookEdit', { notebook_path: path, new_source: 'x' })
  tree.write('a.txt', 'something else\n')
  await bob.call('async_read', { path: 'a.txt' })
  t.match(await history('a.txt'), [{ agent_id: 'claude-code/anna', operation: 'native_edit_probable' }, {}, {}])
  t.match(
    refusalOf(await anna.before('Write', { file_path: path, content: 'x' })),
    '+something else',
    "it may be another one's"
  )
})

t.test('subagents have names of their own, and a session ends with all that it holds', async (t) => {
  const { tree, bob, session } = await start(t)
  const path = tree.path('a.txt')
  const [anna, helper] = [session('anna'), session('anna', { agent_id: 'helper' })]
  await anna.read(path, content)
  await helper.read(path, content)
  const input = edit(path, 'line 3\n', 'third\n')
  await helper.before('Edit', input)
  tree.write('a.txt', content.replace('line 3\n', 'third\n'))
  await helper.after('Edit', input)
  t.match(contextOf(await anna.ask('UserPromptSubmit', { prompt: 'x' })), 'claude-code/anna/helper changed')
  for (const agent_id of ['claude-code/anna', 'claude-code/anna/helper', 'claude-code/annabel'])
    await bob.call('lock_try', { filepaths: [`${agent_id.replaceAll('/', '-')}.txt`], agent_id })
  await helper.ask('SubagentStop', {})
  const held = async () => (await bob.call('async_status', {}))['active_locks'].leases
  t.equal(await held(), 2, 'of the subagent alone')
  await anna.ask('SessionEnd', { reason: 'exit' })
  t.equal(await held(), 1, 'not of a session whose name only begins alike')
})

t.test('each agent hears its name once, and a lease over MCP under that name does not block its edits', async (t) => {
  const { tree, url, hook, session } = await start(t, { locks: { native_wait_seconds: 0.05 } })
  const path = tree.path('a.txt')
  const [anna, helper] = [session('anna'), session('anna', { agent_id: 'helper' })]
  const named = /async-crud-mcp knows you as "(.+?)": pass this as agent_id/
  const nameIn = (answer: Answer) => named.exec(contextOf(answer))?.[1]
  const name = nameIn(await anna.ask('UserPromptSubmit', { prompt: 'x' }))
  t.equal(name, 'claude-code/anna')
  t.equal(nameIn(await helper.read(path, content)), 'claude-code/anna/helper', 'with its first tool')
  for (const answer of [
    await anna.read(path, content),
    await anna.ask('UserPromptSubmit', {}),
    await helper.read(path, content)
  ])
    t.notMatch(contextOf(answer), named, 'once')
  const input = edit(path, 'line 1\n', 'first\n')
  const model = await connect(t, 'mcp-2025', url)
  await model.call('lock_try', { filepaths: ['a.txt'], agent_id: name })
  t.same(await anna.before('Edit', input), {}, 'its lease is its own')
  await anna.after('Edit', input)
  await model.call('lock_release_all', { agent_id: name })
  await model.call('lock_try', { filepaths: ['a.txt'] })
  t.match(refusalOf(await anna.before('Edit', input)), 'claude-code/anna', 'a lease under another name is not')
  await anna.ask('SessionEnd', { reason: 'exit' })
  t.equal(nameIn(await anna.ask('UserPromptSubmit', { prompt: 'x' })), name, 'a session that is resumed hears it again')

  // Cursor shows its model nothing of what is said with an edit or a read.
  const cursor = { conversation_id: 'c1', workspace_roots: [tree.root] }
  t.same(await hook('cursor', { ...cursor, hook_event_name: 'beforeReadFile', file_path: path, content }), {})
  const tool = { ...cursor, hook_event_name: 'postToolUse', tool_name: 'Shell', tool_input: {} }
  t.match(await hook('cursor', tool), { additional_context: named })
})

t.test('what is not known passes, and is logged once; so does what is not served here', async (t) => {
  const { tree, hook, log, session } = await start(t, {}, { 'sub/b.txt': 'b\n' })
  const odd = { session_id: 's', cwd: tree.root, hook_event_name: 'PreToolUse', tool_name: 'Teleport', tool_input: {} }
  for (const event of [odd, odd, { hook_event_name: 'PreToolUse' }, {}, { ...odd, tool_name: 'Edit' }])
    t.same(await hook('claude-code', event), {})
  t.equal(log.filter((line) => line.includes('"tool":"Teleport"')).length, 1)
  t.equal(log.filter((line) => line.includes('a hook was let pass')).length, 4)
  const anna = session('anna')
  t.same(await anna.before('Edit', edit('/etc/hosts', 'a', 'b')), {}, 'outside the roots')
  t.same(await anna.before('Write', { file_path: tree.path('sub'), content: 'x' }), {}, 'a folder')
  t.same(await anna.before('Write', { file_path: tree.path('.async-crud-mcp/x'), content: 'x' }), {}, 'protected')
  const unknown = await fetch(`${(await start(t)).url}/hooks/other`, { method: 'POST' })
  t.equal(unknown.status, 404)
})

t.test('a path is judged by the file that it means', { skip: cannotLink }, async (t) => {
  const { tree, bob, session, history } = await start(t, {}, { 'sub/b.txt': content })
  symlinkSync('sub/b.txt', tree.path('link.txt'))
  const anna = session('anna')
  await anna.read('sub/b.txt', content)
  await change(bob, 'sub/b.txt', 'line 3\n', 'by bob\n')
  t.match(refusalOf(await anna.before('Write', { file_path: tree.path('link.txt'), content: 'x' })), '+by bob')
  const input = edit('link.txt', 'line 9\n', 'nine\n')
  t.same(await anna.before('Edit', input), {})
  tree.write('sub/b.txt', tree.read('sub/b.txt').replace('line 9\n', 'nine\n'))
  await anna.after('Edit', input)
  t.match(await history('sub/b.txt'), [{ agent_id: 'claude-code/anna' }, { agent_id: 'bob' }, {}])
  unlinkSync(tree.path('link.txt'))
})

t.test('search results count as seen, line by line', async (t) => {
  const { bob, session } = await start(t)
  const anna = session('anna')
  const response = { mode: 'content', numFiles: 1, filenames: [], content: 'a.txt:12:line 12\na.txt-13-line 13' }
  await anna.tool('PostToolUse', 'Grep', { pattern: 'line 12', output_mode: 'content' }, { tool_response: response })
  await change(bob, 'a.txt', 'line 2\n', 'by bob\n')
  t.same(await anna.ask('UserPromptSubmit', { prompt: 'x' }), {}, 'another line')
  await change(bob, 'a.txt', 'line 12\n', 'by bob, too\n')
  t.match(contextOf(await anna.ask('UserPromptSubmit', { prompt: 'x' })), 'line 12')
})

t.test('of many changes five are told at a time, each once', async (t) => {
  const names = Array.from({ length: 12 }, (_, index) => `f${index + 10}.txt`)
  const { tree, bob, session } = await start(t, {}, Object.fromEntries(names.map((name) => [name, content])))
  const anna = session('anna')
  for (const name of names) await anna.read(tree.path(name), content)
  for (const name of names) await change(bob, name, 'line 3\n', 'by bob\n')
  const told: string[][] = []
  for (let asked = 0; asked < 4; asked += 1) {
    const text = contextOf(await anna.tool('PostToolUse', 'Bash', { command: 'true' }, { tool_response: {} }))
    told.push([...text.matchAll(/bob changed \S*(f\d+\.txt)/g)].map(([, name = '']) => name))
    t.match(text, [/- 7 more changes/, /- 2 more changes/, /^(?!.*more changes)/s, /^$/][asked])
  }
  t.same(
    told.map((one) => one.length),
    [5, 5, 2, 0]
  )
  t.same(told.flat().sort(), names)
})
