// What each harness calls its tools and events, and the forms in which it shows files.
import t from 'tap'
import { change, content, lines, refusalOf, startHooks as start } from '../fixtures/native-session.ts'

t.test('the searches of Gemini CLI and opencode, and a part of a file, count as seen, too', async (t) => {
  const { tree, bob, hook } = await start(t, {}, { 'sub/b.txt': content })
  const found = '---\nFile: b.txt\nL11- line 11\nL12: line 12\nL13- line 13\n---\nFile: gone.txt\nL1: x\n---'
  const part =
    '\nIMPORTANT: The file content has been truncated.\nStatus: Showing lines 20-21 of 31 total lines.\nAction: To read more of the file, use start_line: 22.\n\n--- FILE CONTENT (truncated) ---\nline 20\nline 21'
  const gemini = (name: string, fields: object) =>
    hook('gemini', { session_id: 'g1', cwd: tree.root, hook_event_name: name, ...fields })
  const opencode = (fields: object) =>
    hook('opencode', { sessionID: 's1', event: 'tool.execute.after', directory: tree.root, ...fields })
  await gemini('AfterTool', {
    tool_name: 'grep_search',
    tool_input: { pattern: 'line 12', dir_path: 'sub' },
    tool_response: { llmContent: `Found 1 match for pattern "line 12" in path "sub":\n${found}` }
  })
  await gemini('AfterTool', {
    tool_name: 'read_file',
    tool_input: { file_path: 'sub/b.txt', start_line: 20 },
    tool_response: { llmContent: part }
  })
  const output = `Found 2 matches\n${tree.path('sub/b.txt')}:\n  Line 12: line 12\n  Line 20: line 20`
  await opencode({ tool: 'grep', args: { pattern: 'line' }, output })
  const toldOf = async (line: string) => {
    await change(bob, 'sub/b.txt', `${line}\n`, `${line} by bob\n`)
    const ofGemini = await gemini('BeforeAgent', { prompt: 'x' })
    const ofOpencode = await opencode({ tool: 'bash', args: {}, output: '' })
    return [ofGemini['hookSpecificOutput']?.additionalContext, ofOpencode['context']]
  }
  t.same(await toldOf('line 2'), [undefined, undefined], 'a line that no session has seen')
  t.match(await toldOf('line 12'), [/line 12/, /line 12/])
  t.match(await toldOf('line 20'), [/line 20/, /line 20/])
  t.match(await toldOf('line 21'), [/line 21/, undefined])
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
  t.match(
    await hook('codex', event('PostToolUse', patch, 'c1')),
    { hookSpecificOutput: { additionalContext: /^async-crud-mcp knows you as "codex\/019a": [^\n]*$/ } },
    'its name, and nothing else'
  )
  t.match(await history('new/c.txt'), [{ agent_id: 'codex/019a', operation: 'native_edit' }])
  await change(bob, 'a.txt', 'third\n', 'by bob\n')
  const again = '*** Begin Patch\n*** Update File: a.txt\n@@\n line 2\n-third\n+3\n line 4\n*** End Patch'
  t.match(refusalOf(await hook('codex', event('PreToolUse', again, 'c2'))), '+by bob')
  for (const agent_id of ['codex/019a', 'codex/019a/sub'])
    await bob.call('lock_try', { filepaths: [`${agent_id.replaceAll('/', '-')}.txt`], agent_id })
  const held = async () => (await bob.call('async_status', {}))['active_locks'].leases
  const end = { session_id: '019a', cwd: tree.root, transcript_path: null }
  await hook('codex', { ...end, hook_event_name: 'SubagentStop', agent_id: 'sub', agent_type: 'default' })
  t.equal(await held(), 1)
  await hook('codex', { ...end, hook_event_name: 'SessionEnd', reason: 'other' })
  t.equal(await held(), 0)
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
