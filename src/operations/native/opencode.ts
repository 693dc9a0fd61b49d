// Hooks of opencode: its plugin (src/program/setup/opencode-plugin.ts) sends what "tool.execute.before" and "after" get, as one object.
import { resolve } from 'node:path'
import { requirePath, requireText, textOf, toCommand, toEdit, toListedLines } from './fields.ts'
import type { FileEdit, Harness, NativeEvent, ShownText } from './native-call.ts'
import { readPatchText } from './patch-text.ts'
import { toFields, type Fields } from '../../support/json-fields.ts'

const editTools: Readonly<Record<string, (input: Fields, cwd: string) => readonly FileEdit[]>> = {
  edit: (args, cwd) => [
    toEdit(
      requirePath(args, cwd, 'filePath'),
      textOf(args, 'oldString'),
      args['newString'],
      args['replaceAll'] === true
    )
  ],
  write: (args, cwd) => [{ path: requirePath(args, cwd, 'filePath'), content: textOf(args, 'content') ?? '' }],
  apply_patch: (args, cwd) => readPatchText(textOf(args, 'patchText', 'patch'), cwd),
  patch: (args, cwd) => readPatchText(textOf(args, 'patchText', 'patch'), cwd)
}

export const opencode: Harness = {
  reportsReads: true,
  read(event) {
    const found = eventOf(requireText(event, 'event'), event)
    const session = requireText(event, 'sessionID')
    return found && { session, callId: textOf(event, 'callID'), event: found }
  },
  write: (_event, { refusal, context }) =>
    refusal === undefined && context === undefined
      ? null
      : { ...(refusal !== undefined && { refusal }), ...(context !== undefined && { context }) }
}

function eventOf(name: string, event: Fields): NativeEvent | undefined {
  if (name === 'session.deleted') return { type: 'end', withSubagents: true }
  if (name === 'chat.message') return { type: 'prompt', isNewTurn: true }
  if (name !== 'tool.execute.before' && name !== 'tool.execute.after') return undefined
  const tool = requireText(event, 'tool')
  const cwd = resolve(textOf(event, 'directory') ?? '')
  const args = toFields(event['args'])
  const edits = Object.hasOwn(editTools, tool) ? editTools[tool]?.(args, cwd) : undefined
  const command = tool === 'bash' ? toCommand(args, cwd, 'workdir') : undefined
  if (name === 'tool.execute.before') {
    if (command !== undefined) return { type: 'before_command', ...command }
    return edits && { type: 'before_edit', tool, edits }
  }
  if (command !== undefined) return { type: 'after_command', ...command }
  if (edits !== undefined) return { type: 'after_edit', tool, edits }
  const output = textOf(event, 'output')
  if (tool === 'grep' && output !== undefined)
    return { type: 'after_read', shown: toListedLines(output, cwd, /^(\S.*):$/, /^  Line (\d+): (.*)$/) }
  if (tool !== 'read' || output === undefined) return { type: 'prompt' }
  return { type: 'after_read', shown: toShown(requirePath(args, cwd, 'filePath'), output) }
}

/** Each line begins with its number: `00001| text`, or `1: text`. */
function toShown(path: string, output: string): readonly ShownText[] {
  const numbered = output.split('\n').flatMap((line) => {
    const [, number, text] = /^\s*(\d+)(?:\| |: |\t)(.*)$/.exec(line) ?? []
    return number === undefined || text === undefined ? [] : [{ number: Number(number), text }]
  })
  const [first] = numbered
  return first === undefined
    ? []
    : [
        {
          path,
          startLine: first.number,
          text: numbered.map(({ text }) => text).join('\n'),
          ...(output.includes('End of file') && { totalLines: numbered.at(-1)?.number })
        }
      ]
}
