// What the hook itself must know of an event: which server it concerns, and whether a tool waits for its answer. The server reads the rest.
import { resolve } from 'node:path'
import { parseFields, toFields, type Fields } from '../../support/json-fields.ts'

export interface EventFacts {
  /** Absolute; the file that the tool is about, if it names one. */
  readonly file: string | undefined
  /** The working folder of the session. */
  readonly cwd: string
  /** True if the tool runs after this hook: the hook may wait for a lock, and can refuse the tool. */
  readonly isBefore: boolean
}

const beforeNames: readonly unknown[] = [
  'PreToolUse',
  'BeforeTool',
  'preToolUse',
  'beforeShellExecution',
  'tool.execute.before'
]
const pathNames = ['file_path', 'filePath', 'notebook_path', 'path', 'absolute_path', 'target_file']
const patchNames = ['command', 'patchText', 'input', 'patch']
const patchFile = /^\s*\*\*\* (?:Add|Update|Delete) File:\s*(.+)$/m

/** @throws Error if the text is no JSON object */
export function readEvent(text: string): EventFacts {
  const event = parseEvent(text)
  const { cwd, directory, workspace_roots, hook_event_name, event: name, tool_input, args } = event
  const [workspace] = Array.isArray(workspace_roots) ? (workspace_roots as readonly unknown[]) : []
  const folder = resolve([cwd, directory, workspace].find((given) => typeof given === 'string') ?? '')
  const input = { ...event, ...toFields(args), ...toFields(tool_input) }
  const file = findText(input, pathNames) ?? findPatchFile(input)
  return {
    file: file === undefined ? undefined : resolve(folder, file),
    cwd: folder,
    isBefore: beforeNames.includes(hook_event_name ?? name)
  }
}

/** @throws Error if the text is no JSON object */
export function parseEvent(text: string): Fields {
  const event = parseFields(text)
  if (event === undefined) throw new Error('the hook input on standard input is not a JSON object')
  return event
}

function findText(fields: Fields, names: readonly string[]): string | undefined {
  const found = names.map((name) => fields[name]).find((value) => typeof value === 'string' && value !== '')
  return found as string | undefined
}

function findPatchFile(input: Fields): string | undefined {
  return patchFile.exec(findText(input, patchNames) ?? '')?.[1]?.trim()
}
