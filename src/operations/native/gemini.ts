// Hooks of Gemini CLI (BeforeTool, AfterTool, BeforeAgent, SessionEnd).
import { resolve } from 'node:path'
import { countLines, integerOf, requirePath, requireText, textOf, toCommand, toEdit, toListedLines } from './fields.ts'
import type { FileEdit, Harness, NativeEvent, ShownText } from './native-call.ts'
import { toFields, type Fields } from '../../support/json-fields.ts'

const editTools: Readonly<Record<string, (input: Fields, cwd: string) => readonly FileEdit[]>> = {
  write_file: (input, cwd) => [{ path: requirePath(input, cwd, 'file_path'), content: textOf(input, 'content') ?? '' }],
  replace: (input, cwd) => [
    toEdit(
      requirePath(input, cwd, 'file_path'),
      textOf(input, 'old_string'),
      input['new_string'],
      input['allow_multiple'] === true || (integerOf(input, 'expected_replacements') ?? 1) > 1
    )
  ]
}

/** Its present name, and an older one. */
const searchTools = ['grep_search', 'search_file_content']
const truncated = 'IMPORTANT: The file content has been truncated'
const partHead = new RegExp(
  `^\\s*${truncated}\\.\\nStatus: Showing lines (\\d+)-\\d+ of (\\d+) total lines\\.\\n[^]*?\\n--- FILE CONTENT \\(truncated\\) ---\\n`
)

export const gemini: Harness = {
  reportsReads: true,
  read(event) {
    const name = requireText(event, 'hook_event_name')
    const session = requireText(event, 'session_id')
    const found = eventOf(name, event)
    return found && { session, event: found }
  },
  write(event, { refusal, context }) {
    if (refusal !== undefined && event['hook_event_name'] === 'BeforeTool') return { decision: 'deny', reason: refusal }
    const takesContext = ['AfterTool', 'BeforeAgent'].includes(String(event['hook_event_name']))
    return context === undefined || !takesContext
      ? null
      : { hookSpecificOutput: { hookEventName: event['hook_event_name'], additionalContext: context } }
  }
}

function eventOf(name: string, event: Fields): NativeEvent | undefined {
  if (name === 'SessionEnd') return { type: 'end', withSubagents: true }
  if (name === 'BeforeAgent') return { type: 'prompt', isNewTurn: true }
  if (name !== 'BeforeTool' && name !== 'AfterTool') return undefined
  const tool = requireText(event, 'tool_name')
  const cwd = resolve(textOf(event, 'cwd') ?? '')
  const input = toFields(event['tool_input'])
  const edits = Object.hasOwn(editTools, tool) ? editTools[tool]?.(input, cwd) : undefined
  const command = tool === 'run_shell_command' ? toCommand(input, cwd, 'dir_path', 'directory') : undefined
  if (name === 'BeforeTool') {
    if (command !== undefined) return { type: 'before_command', ...command }
    return edits && { type: 'before_edit', tool, edits }
  }
  if (edits !== undefined) return { type: 'after_edit', tool, edits }
  const response = toFields(event['tool_response'])
  const text = textOf(response, 'llmContent')
  if (command !== undefined) return { type: 'after_command', ...command, task: taskOf(text) }
  if (text === undefined || toFields(response['error'])['message'] !== undefined) return { type: 'prompt' }
  if (searchTools.includes(tool)) {
    const folder = resolve(cwd, textOf(input, 'dir_path') ?? '')
    return { type: 'after_read', shown: toListedLines(text, folder, /^File: (.+)$/, /^L(\d+)[:-] ?(.*)$/) }
  }
  if (tool !== 'read_file') return { type: 'prompt' }
  return { type: 'after_read', shown: toShown(requirePath(input, cwd, 'file_path', 'absolute_path'), input, text) }
}

/** A command that it leaves in the background, by its process; its end is not reported. */
function taskOf(text: string | undefined): string | undefined {
  return /^(?:Command moved to background \(PID: |(?:Background PIDs|Process Group PGID): )(\d+)/m.exec(text ?? '')?.[1]
}

/** A part comes with words before it, which say where it begins. */
function toShown(path: string, input: Fields, text: string): readonly ShownText[] {
  const [head, first, total] = partHead.exec(text) ?? []
  if (head !== undefined)
    return [{ path, startLine: Number(first), totalLines: Number(total), text: text.slice(head.length) }]
  const startLine = integerOf(input, 'start_line') ?? 1
  const endLine = integerOf(input, 'end_line')
  if (startLine === 1 && endLine === undefined && !text.includes(truncated))
    return [{ path, startLine, text, totalLines: countLines(text) }]
  // Words of another version: the lines that were asked for count.
  return endLine === undefined ? [] : [{ path, startLine, lineCount: Math.max(0, endLine - startLine + 1) }]
}
