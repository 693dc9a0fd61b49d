// Hooks of Cursor (preToolUse, postToolUse, beforeShellExecution, afterShellExecution, afterFileEdit, beforeReadFile, sessionEnd).
import { resolve } from 'node:path'
import { countLines, requirePath, requireText, textOf, toCommand, toEditOfAll } from './fields.ts'
import type { Harness, NativeEvent } from './native-call.ts'
import { toFields, type Fields } from '../../support/json-fields.ts'

const editTools: readonly unknown[] = ['Write', 'Edit', 'StrReplace', 'Delete', 'EditNotebook']
const beforeEvents: readonly unknown[] = ['preToolUse', 'beforeShellExecution']

export const cursor: Harness = {
  reportsReads: true,
  read(event) {
    const name = requireText(event, 'hook_event_name')
    const session = requireText(event, 'conversation_id', 'session_id')
    const found = eventOf(name, event)
    return found && { session, callId: textOf(event, 'tool_use_id'), event: found }
  },
  write(event, { refusal, context }) {
    if (refusal !== undefined && beforeEvents.includes(event['hook_event_name']))
      return { permission: 'deny', user_message: refusal, agent_message: refusal }
    return context === undefined || event['hook_event_name'] !== 'postToolUse' ? null : { additional_context: context }
  }
}

function eventOf(name: string, event: Fields): NativeEvent | undefined {
  const [workspace] = Array.isArray(event['workspace_roots']) ? (event['workspace_roots'] as readonly unknown[]) : []
  const cwd = resolve(textOf(event, 'cwd') ?? (typeof workspace === 'string' ? workspace : ''))
  if (name === 'sessionEnd') return { type: 'end', withSubagents: true }
  if (name === 'afterFileEdit')
    return {
      type: 'after_edit',
      tool: 'Write',
      edits: [toEditOfAll(requirePath(event, cwd, 'file_path'), event['edits'])]
    }
  if (name === 'beforeReadFile') {
    const text = event['content']
    const path = requirePath(event, cwd, 'file_path')
    return {
      type: 'after_read',
      shown: typeof text === 'string' ? [{ path, startLine: 1, text, totalLines: countLines(text) }] : []
    }
  }
  if (name === 'beforeShellExecution' || name === 'afterShellExecution') return commandEvent(name, event, cwd)
  if (event['tool_name'] === 'Shell') return commandEvent(name, toFields(event['tool_input']), cwd)
  if (name === 'beforeSubmitPrompt') return { type: 'prompt', isNewTurn: true }
  const isEdit = editTools.includes(event['tool_name'])
  if (name === 'postToolUse' || (name === 'postToolUseFailure' && !isEdit)) return { type: 'prompt' }
  if ((name !== 'preToolUse' && name !== 'postToolUseFailure') || !isEdit) return undefined
  const input = toFields(event['tool_input'])
  const edit = {
    path: requirePath(input, cwd, 'file_path', 'path', 'target_file'),
    content: textOf(input, 'content', 'contents')
  }
  const oldText = textOf(input, 'old_string')
  const patches =
    oldText === undefined ? undefined : [{ old_string: oldText, new_string: textOf(input, 'new_string') ?? '' }]
  const tool = requireText(event, 'tool_name')
  return { type: name === 'preToolUse' ? 'before_edit' : 'after_edit', tool, edits: [{ ...edit, patches }] }
}

function commandEvent(name: string, input: Fields, cwd: string): NativeEvent | undefined {
  const command = toCommand(input, cwd, 'cwd', 'working_directory')
  if (beforeEvents.includes(name)) return command && { type: 'before_command', ...command }
  return command === undefined ? { type: 'prompt' } : { type: 'after_command', ...command }
}
