// Native tools of harnesses under the rules of this server: each hook input has the form that its harness documents.
import { unlinkSync, symlinkSync } from 'node:fs'
import { applyPatch } from 'diff'
import t, { type Test } from 'tap'
import type { PartialConfig } from '../../src/config/config.ts'
import { connect, type Answer, type TestClient } from '../fixtures/clients.ts'
import { startServer } from '../fixtures/server.ts'
import { makeTree, type Tree } from '../fixtures/tree.ts'
import { until } from '../fixtures/until.ts'

const lines = Array.from({ length: 30 }, (_, index) => `line ${index + 1}`)
const content = `${lines.join('\n')}\n`

interface Bench {
  readonly tree: Tree
  readonly bob: TestClient
  readonly log: readonly string[]
  readonly url: string
  readonly hook: (harness: string, event: object) => Promise<Answer>
  /** Of Claude Code. */
  readonly session: (id: string, more?: object) => Session
  readonly history: (path: string) => Promise<readonly Answer[]>
}

type Session = ReturnType<typeof createSession>

function createSession(hook: Bench['hook'], root: string, id: string, more: object) {
  let calls = 0
  const ask = (name: string, fields: object) =>
    hook('claude-code', {
      session_id: id,
      transcript_path: `${root}/transcript.jsonl`,
      cwd: root,
      permission_mode: 'acceptEdits',
      hook_event_name: name,
      ...more,
      ...fields
    })
  const tool = (name: string, tool_name: string, tool_input: object, fields: object = {}) =>
    ask(name, { tool_name, tool_input, tool_use_id: `toolu_${id}_${calls}`, ...fields })
  return {
    ask,
    tool,
    /** What the tool has shown. */
    read(path: string, text: string, startLine = 1) {
      calls += 1
      const shown = text.replace(/\n$/, '')
      const numLines = shown.split('\n').length
      const file = { filePath: path, content: shown, numLines, startLine, totalLines: startLine === 1 ? numLines : 30 }
      return tool('PostToolUse', 'Read', { file_path: path }, { tool_response: { type: 'text', file } })
    },
    before(tool_name: string, input: object) {
      calls += 1
      return tool('PreToolUse', tool_name, input)
    },
    after: (tool_name: string, input: object) => tool('PostToolUse', tool_name, input, { tool_response: {} })
  }
}

async function start(t: Test, overrides: PartialConfig = {}, files: Record<string, string> = {}): Promise<Bench> {
  const tree = makeTree(t, { 'a.txt': content, ...files })
  const { url, log } = await startServer(t, tree.root, overrides)
  const bob = await connect(t, 'rest', url, 'bob')
  const hook = async (harness: string, event: object) => {
    const headers = { 'content-type': 'application/json' }
    const response = await fetch(`${url}/hooks/${harness}`, { method: 'POST', headers, body: JSON.stringify(event) })
    return (await response.json()) as Answer
  }
  const session = (id: string, more: object = {}) => createSession(hook, tree.root, id, more)
  const history = async (path: string) => (await bob.call('async_history', { path }))['versions'] as Answer[]
  return { tree, bob, log, url, hook, session, history }
}

/** Of Claude Code and Codex. */
const refusalOf = (answer: Answer): string => answer['hookSpecificOutput']?.permissionDecisionReason ?? ''
const contextOf = (answer: Answer): string => answer['hookSpecificOutput']?.additionalContext ?? ''
/** The unified diff in a refusal. */
const diffIn = (text: string) => /current one:\n([^]*)\nAdjust/.exec(text)?.[1] ?? ''

async function change(bob: TestClient, path: string, old_string: string, new_string: string): Promise<void> {
  const { hash } = await bob.call('async_read', { path })
  const answer = await bob.call('async_update', { path, expected_hash: hash, patches: [{ old_string, new_string }] })
  if (answer['status'] !== 'ok') throw new Error(JSON.stringify(answer))
}

const edit = (path: string, old_string: string, new_string: string) => ({ file_path: path, old_string, new_string })

t.test('a native edit is recorded with its agent, and the readers of the file are told once', async (t) => {
  const { tree, bob, session, history } = await start(t)
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

t.test('who was told of a change has not seen it: an edit is refused as before', async (t) => {
  const { tree, bob, session } = await start(t)
  const [anna, carl] = [session('anna'), session('carl')]
  const path = tree.path('a.txt')
  await anna.read(path, content)
  await carl.read(path, lines.slice(9, 15).join('\n'), 10)
  await change(bob, 'a.txt', 'line 12\n', 'by bob\n')
  for (const one of [anna, carl]) {
    const told = contextOf(await one.ask('UserPromptSubmit', { prompt: 'go on' }))
    t.match(told, /bob changed .*a\.txt since you read it: line 12/)
    const refused = refusalOf(await one.before('Write', { file_path: path, content: 'all new\n' }))
    t.equal(applyPatch(content, diffIn(refused)), tree.read('a.txt'))
    t.same(await one.before('Write', { file_path: path, content: 'all new\n' }), {}, 'now it knows')
    await one.ask('PostToolUseFailure', { tool_name: 'Write', tool_input: { file_path: path }, error: 'x' })
  }
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
  await anna.before('Write', { file_path: path, content: 'as announced\n' })
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

t.test('a path is judged by the file that it means', async (t) => {
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

t.test('Codex: the files and texts of a patch', async (t) => {
  const { tree, bob, hook, history } = await start(t, {}, { 'b.txt': content })
  const patch =
    '*** Begin Patch\n*** Update File: a.txt\n@@\n line 2\n-line 3\n+third\n line 4\n*** Add File: new/c.txt\n+hello\n*** End Patch'
  const event = (name: string, command: string, id: string) => ({
    session_id: '019a',
    turn_id: 't1',
    cwd: tree.root,
    model: 'm',
    permission_mode: 'default',
    transcript_path: null,
    hook_event_name: name,
    tool_name: 'apply_patch',
    tool_input: { command },
    tool_use_id: id,
    ...(name === 'PostToolUse' && { tool_response: 'Success' })
  })
  t.same(await hook('codex', event('PreToolUse', patch, 'c1')), {})
  t.match((await bob.call('lock_status', { filepaths: ['a.txt', 'new/c.txt'] }))['results'], [
    { holder: 'codex/019a' },
    { holder: 'codex/019a' }
  ])
  tree.write('a.txt', content.replace('line 3\n', 'third\n'))
  tree.write('new/c.txt', 'hello\n')
  t.same(await hook('codex', event('PostToolUse', patch, 'c1')), {})
  t.match(await history('new/c.txt'), [{ agent_id: 'codex/019a', operation: 'native_edit' }])
  await change(bob, 'a.txt', 'third\n', 'by bob\n')
  const again = '*** Begin Patch\n*** Update File: a.txt\n@@\n line 2\n-third\n+3\n line 4\n*** End Patch'
  t.match(refusalOf(await hook('codex', event('PreToolUse', again, 'c2'))), '+by bob')
})

t.test('Gemini CLI: its own names for the same', async (t) => {
  const { tree, bob, hook, history } = await start(t)
  const path = tree.path('a.txt')
  const event = (name: string, tool: string, input: object, more: object = {}) => ({
    session_id: 'g1',
    transcript_path: '',
    cwd: tree.root,
    timestamp: '2026-11-22T10:00:00Z',
    hook_event_name: name,
    tool_name: tool,
    tool_input: input,
    ...more
  })
  await hook('gemini', event('AfterTool', 'read_file', { file_path: path }, { tool_response: { llmContent: content } }))
  await change(bob, 'a.txt', 'line 3\n', 'by bob\n')
  const refused = await hook('gemini', event('BeforeTool', 'write_file', { file_path: path, content: 'x' }))
  t.equal(refused['decision'], 'deny')
  t.match(refused['reason'], '+by bob')
  const input = { file_path: path, old_string: 'line 9\n', new_string: 'nine\n', instruction: 'x' }
  t.same(await hook('gemini', event('BeforeTool', 'replace', input)), {})
  tree.write('a.txt', tree.read('a.txt').replace('line 9\n', 'nine\n'))
  t.same(await hook('gemini', event('AfterTool', 'replace', input, { tool_response: { llmContent: 'ok' } })), {})
  t.match(await history('a.txt'), [{ agent_id: 'gemini/g1' }, {}, {}])
  await change(bob, 'a.txt', 'line 20\n', 'by bob\n')
  const told = await hook('gemini', event('BeforeAgent', '', {}, { prompt: 'x' }))
  t.match(told['hookSpecificOutput'], { hookEventName: 'BeforeAgent', additionalContext: /bob changed/ })
})

t.test('Cursor: its own names for the same', async (t) => {
  const { tree, bob, hook, history } = await start(t)
  const path = tree.path('a.txt')
  const event = (name: string, fields: object) => ({
    conversation_id: 'c1',
    generation_id: 'g',
    model: 'm',
    workspace_roots: [tree.root],
    hook_event_name: name,
    ...fields
  })
  await hook('cursor', event('beforeReadFile', { file_path: path, content, attachments: [] }))
  await change(bob, 'a.txt', 'line 3\n', 'by bob\n')
  const write = (text: string) =>
    event('preToolUse', { tool_name: 'Write', tool_input: { file_path: path, content: text }, tool_use_id: 'u' })
  const refused = await hook('cursor', write('x'))
  t.equal(refused['permission'], 'deny')
  t.match(refused['agent_message'], '+by bob')
  t.same(await hook('cursor', write('new\n')), {})
  tree.write('a.txt', 'new\n')
  await hook('cursor', event('afterFileEdit', { file_path: path, edits: [{ old_string: '', new_string: 'new\n' }] }))
  t.match(await history('a.txt'), [{ agent_id: 'cursor/c1', operation: 'native_edit' }, {}, {}])
  await change(bob, 'a.txt', 'new\n', 'by bob\n')
  const told = await hook('cursor', event('postToolUse', { tool_name: 'Read', tool_input: {}, tool_output: '' }))
  t.match(told['additional_context'], /bob changed/)
})

t.test('opencode: what its plugin sends', async (t) => {
  const { tree, bob, hook, history } = await start(t)
  const path = tree.path('a.txt')
  const event = (name: string, tool: string, args: object, more: object = {}) => ({
    event: name,
    tool,
    sessionID: 'ses_1',
    callID: 'call_1',
    directory: tree.root,
    args,
    ...more
  })
  const output = `<file>\n${lines.map((line, index) => `${String(index + 1).padStart(5, '0')}| ${line}`).join('\n')}\n</file>`
  await hook('opencode', event('tool.execute.after', 'read', { filePath: path }, { output }))
  await change(bob, 'a.txt', 'line 3\n', 'by bob\n')
  t.match(
    (await hook('opencode', event('tool.execute.before', 'write', { filePath: path, content: 'x' })))['refusal'],
    '+by bob'
  )
  const args = { filePath: path, oldString: 'line 9\n', newString: 'nine\n' }
  t.same(await hook('opencode', event('tool.execute.before', 'edit', args)), {})
  tree.write('a.txt', tree.read('a.txt').replace('line 9\n', 'nine\n'))
  t.same(await hook('opencode', event('tool.execute.after', 'edit', args)), {})
  t.match(await history('a.txt'), [{ agent_id: 'opencode/ses_1' }, {}, {}])
})
