// What each harness reports of its shell tool, in the forms that it documents.
import t from 'tap'
import { harnesses } from '../../src/operations/native/harnesses.ts'

const cwd = '/tree'
const command = 'sed -i s/a/b/ x.txt'
const before = { type: 'before_command', command, cwd }
const after = { type: 'after_command', command, cwd }

t.test('the shell tool of each harness', (t) => {
  const claude = (hook_event_name: string, tool_name: string, tool_input: object, tool_response?: unknown) => ({
    session_id: 's',
    tool_use_id: 'u',
    cwd,
    hook_event_name,
    tool_name,
    tool_input,
    tool_response
  })
  const gemini = (hook_event_name: string, llmContent = '', more: object = {}) => ({
    session_id: 's',
    cwd,
    hook_event_name,
    tool_name: 'run_shell_command',
    tool_input: { command, ...more },
    tool_response: { llmContent }
  })
  const cursor = (hook_event_name: string, fields: object) => ({
    conversation_id: 's',
    workspace_roots: [cwd],
    hook_event_name,
    ...fields
  })
  const shell = { tool_name: 'Shell', tool_input: { command, working_directory: cwd }, tool_use_id: 'u' }
  const opencode = (event: string, args: object) => ({ event, tool: 'bash', sessionID: 's', directory: cwd, args })
  const cases: readonly [keyof typeof harnesses, object, object | undefined][] = [
    ['claude-code', claude('PreToolUse', 'Bash', { command }), before],
    ['claude-code', claude('PostToolUse', 'Bash', { command }, { stdout: '' }), after],
    ['claude-code', claude('PostToolUseFailure', 'Bash', { command }), after],
    ['claude-code', claude('PermissionDenied', 'Bash', { command }), after],
    [
      'claude-code',
      claude('PostToolUse', 'Bash', { command, run_in_background: true }, { backgroundTaskId: 'b1' }),
      { ...after, task: 'b1' }
    ],
    ['claude-code', claude('PostToolUse', 'BashOutput', { bash_id: 'b1' }, { status: 'running' }), { type: 'prompt' }],
    [
      'claude-code',
      claude('PostToolUse', 'BashOutput', { bash_id: 'b1' }, { status: 'completed' }),
      { type: 'task_end', task: 'b1' }
    ],
    [
      'claude-code',
      claude('PostToolUse', 'TaskOutput', { task_id: 'b1' }, { task: { task_id: 'b1', status: 'failed' } }),
      { type: 'task_end', task: 'b1' }
    ],
    ['claude-code', claude('PostToolUse', 'KillShell', { shell_id: 'b1' }, {}), { type: 'task_end', task: 'b1' }],
    ['claude-code', claude('PreToolUse', 'Bash', {}), undefined],
    ['claude-code', { session_id: 's', hook_event_name: 'UserPromptSubmit' }, { type: 'prompt', isNewTurn: true }],
    ['codex', claude('PreToolUse', 'Bash', { command }), before],
    ['codex', claude('PostToolUse', 'Bash', { command }, 'done'), after],
    [
      'codex',
      claude('PreToolUse', 'local_shell', { command: ['bash', '-lc', command], workdir: 'sub' }),
      {
        ...before,
        cwd: '/tree/sub'
      }
    ],
    ['codex', claude('PreToolUse', 'shell', { command: ['rm', 'a b'] }), { ...before, command: `rm 'a b'` }],
    ['codex', claude('PreToolUse', 'exec_command', { cmd: command }), before],
    ['gemini', gemini('BeforeTool'), before],
    ['gemini', gemini('BeforeTool', '', { dir_path: 'sub' }), { ...before, cwd: '/tree/sub' }],
    ['gemini', gemini('AfterTool', 'Output: x\nExit Code: 0'), after],
    ['gemini', gemini('AfterTool', 'Output: x\nBackground PIDs: 4711'), { ...after, task: '4711' }],
    ['cursor', cursor('preToolUse', shell), before],
    ['cursor', cursor('postToolUse', shell), after],
    ['cursor', cursor('postToolUseFailure', shell), after],
    ['cursor', cursor('beforeShellExecution', { command, cwd }), before],
    ['cursor', cursor('afterShellExecution', { command, output: '' }), after],
    ['opencode', opencode('tool.execute.before', { command }), before],
    ['opencode', opencode('tool.execute.after', { command, workdir: 'sub' }), { ...after, cwd: '/tree/sub' }]
  ]
  for (const [name, event, expected] of cases)
    t.strictSame(
      dropAbsent(harnesses[name].read(event as Record<string, unknown>)?.event),
      expected,
      `${name} ${JSON.stringify(event)}`
    )
  t.end()
})

t.test('a refused command, in the form of each harness', (t) => {
  const refusal = 'no'
  const deny = { permission: 'deny', agent_message: 'no' }
  t.match(harnesses.cursor.write({ hook_event_name: 'beforeShellExecution' }, { refusal }), deny)
  t.match(harnesses.cursor.write({ hook_event_name: 'preToolUse' }, { refusal }), deny)
  t.end()
})

function dropAbsent(value: object | undefined): unknown {
  return value === undefined ? undefined : JSON.parse(JSON.stringify(value))
}
