// Hooks of Claude Code and of Codex, which sends and takes the same form (PreToolUse, PostToolUse, ...).
import { resolve } from 'node:path'
import {
  integerOf,
  requirePath,
  requireText,
  textOf,
  toCommand,
  toEdit,
  toEditOfAll,
  toSearchedLines
} from './fields.ts'
import type { FileEdit, Harness, NativeEvent, ShownText } from './native-call.ts'
import { readPatchText } from './patch-text.ts'
import { toFields, type Fields } from '../../support/json-fields.ts'

/** What each tool that changes files is about to do. */
const editTools: Readonly<Record<string, (input: Fields, cwd: string) => readonly FileEdit[]>> = {
  Edit: (input, cwd) => [
    toEdit(
      requirePath(input, cwd, 'file_path'),
      textOf(input, 'old_string'),
      input['new_string'],
      input['replace_all'] === true
    )
  ],
  MultiEdit: (input, cwd) => [toEditOfAll(requirePath(input, cwd, 'file_path'), input['edits'])],
  Write: (input, cwd) => [{ path: requirePath(input, cwd, 'file_path'), content: textOf(input, 'content') ?? '' }],
  NotebookEdit: (input, cwd) => [{ path: requirePath(input, cwd, 'notebook_path', 'file_path') }],
  apply_patch: (input, cwd) => readPatchText(textOf(input, 'command', 'input', 'patch'), cwd)
}

/** What each tool that reads files has shown. */
const readTools: Readonly<Record<string, (input: Fields, response: Fields, cwd: string) => readonly ShownText[]>> = {
  Read(input, response, cwd) {
    // The cells that it shows are not the text of the file: what that is now counts.
    if (response['type'] === 'notebook') return [{ path: requirePath(input, cwd, 'file_path'), startLine: 1 }]
    const file = toFields(response['file'])
    const text = file['content']
    if (response['type'] !== 'text' || typeof text !== 'string') return []
    return [
      {
        path: requirePath(input, cwd, 'file_path'),
        startLine: integerOf(file, 'startLine') ?? 1,
        totalLines: integerOf(file, 'totalLines'),
        text
      }
    ]
  },
  Grep(input, response, cwd) {
    const content = textOf(response, 'content')
    if (response['mode'] !== 'content' || content === undefined) return []
    const path = textOf(input, 'path')
    return toSearchedLines(content, cwd, content.startsWith('/') || path === undefined ? undefined : resolve(cwd, path))
  }
}

/** The tool of Claude Code, and what Codex has called its own. */
const shellTools: readonly string[] = ['Bash', 'shell', 'local_shell', 'exec_command', 'unified_exec', 'shell_command']
const folderNames = ['workdir', 'working_directory']
/** They say what has become of a command in the background: of their present names, and of older ones. */
const taskTools: readonly string[] = ['TaskOutput', 'BashOutput', 'TaskStop', 'KillShell', 'KillBash']
const stopTools: readonly string[] = ['TaskStop', 'KillShell', 'KillBash']

const endings: Readonly<Record<string, NativeEvent>> = {
  SubagentStop: { type: 'end', withSubagents: false },
  SessionEnd: { type: 'end', withSubagents: true },
  UserPromptSubmit: { type: 'prompt', isNewTurn: true }
}

function createHarness(reportsReads: boolean): Harness {
  return {
    reportsReads,
    read(event) {
      const name = requireText(event, 'hook_event_name')
      const session = requireText(event, 'session_id')
      const own = { session, subagent: textOf(event, 'agent_id'), callId: textOf(event, 'tool_use_id') }
      const ending = Object.hasOwn(endings, name) ? endings[name] : undefined
      if (ending !== undefined) return { ...own, event: ending }
      const tool = textOf(event, 'tool_name')
      const found = tool === undefined ? undefined : toolEvent(name, tool, event)
      return found && { ...own, event: found }
    },
    write(event, { refusal, context }) {
      const hookEventName = event['hook_event_name']
      if (refusal !== undefined && hookEventName === 'PreToolUse')
        return {
          hookSpecificOutput: { hookEventName, permissionDecision: 'deny', permissionDecisionReason: refusal }
        }
      const takesContext = ['PostToolUse', 'PostToolUseFailure', 'UserPromptSubmit'].includes(String(hookEventName))
      return context === undefined || !takesContext
        ? null
        : { hookSpecificOutput: { hookEventName, additionalContext: context } }
    }
  }
}

export const claudeCode = createHarness(true)
/** It reads files by shell commands, which do not say what they have shown. */
export const codex = createHarness(false)

function toolEvent(name: string, tool: string, event: Fields): NativeEvent | undefined {
  const cwd = resolve(textOf(event, 'cwd') ?? '')
  const input = toFields(event['tool_input'])
  const edits = Object.hasOwn(editTools, tool) ? editTools[tool]?.(input, cwd) : undefined
  const command = shellTools.includes(tool) ? toCommand(input, cwd, ...folderNames) : undefined
  if (name === 'PreToolUse') {
    if (command !== undefined) return { type: 'before_command', ...command }
    return edits && { type: 'before_edit', tool, edits }
  }
  if (!['PostToolUse', 'PostToolUseFailure', 'PermissionDenied'].includes(name)) return undefined
  if (edits !== undefined) return { type: 'after_edit', tool, edits }
  const response = toFields(event['tool_response'])
  if (command !== undefined) return { type: 'after_command', ...command, task: textOf(response, 'backgroundTaskId') }
  const task = name === 'PostToolUse' && taskTools.includes(tool) ? endedTask(tool, input, response) : undefined
  if (task !== undefined) return { type: 'task_end', task }
  const shown =
    name === 'PostToolUse' && Object.hasOwn(readTools, tool) ? readTools[tool]?.(input, response, cwd) : undefined
  return shown === undefined ? { type: 'prompt' } : { type: 'after_read', shown }
}

/** Undefined while it goes on. */
function endedTask(tool: string, input: Fields, response: Fields): string | undefined {
  const task = textOf(input, 'task_id', 'bash_id', 'shell_id')
  if (stopTools.includes(tool)) return task
  const status = textOf(response, 'status') ?? textOf(toFields(response['task']), 'status')
  return status === undefined || ['running', 'pending'].includes(status) ? undefined : task
}
