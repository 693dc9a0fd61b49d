// The input that a harness gives its pre-tool hook on standard input: which files a native tool is about to change.
import { resolve } from 'node:path'
import { toFields, type Fields } from '../../../support/json-fields.ts'
import { parseEvent } from '../event-facts.ts'

export interface NativeEdit {
  readonly tool: string
  /** Operations that do the same through the server. */
  readonly instead: string
  /** Absolute; links are not resolved. */
  readonly files: readonly string[]
  /** The working folder of the session. */
  readonly cwd: string
}

interface Tool {
  readonly instead: string
  readonly files: (input: Fields) => readonly unknown[]
}

const update = 'async_update'
const writeOrUpdate = 'async_update (async_write for a new file)'
/** The tool decides which of several paths it uses: all of them are checked. */
const givenPaths = ({ file_path, notebook_path, filePath, path }: Fields) =>
  [file_path, notebook_path, filePath, path].filter((given) => given !== undefined && given !== null)
const patchHeaders = ['*** Add File:', '*** Update File:', '*** Delete File:', '*** Move to:']

/** By the names of Claude Code, which Cursor uses too, then of VS Code, then of Codex. */
const tools: Readonly<Record<string, Tool>> = {
  Edit: { instead: update, files: givenPaths },
  MultiEdit: { instead: update, files: givenPaths },
  NotebookEdit: { instead: update, files: givenPaths },
  Write: { instead: writeOrUpdate, files: givenPaths },
  replace_string_in_file: { instead: update, files: givenPaths },
  create_file: { instead: writeOrUpdate, files: givenPaths },
  apply_patch: { instead: writeOrUpdate, files: ({ command }) => filesOfPatch(command) }
}

/**
 * @returns undefined for a tool that changes no file by name
 * @throws Error if the input cannot be read, or does not name the file
 */
export function parseHookInput(text: string): NativeEdit | undefined {
  const { tool_name, tool_input, cwd: givenCwd } = parseEvent(text)
  if (typeof tool_name !== 'string') throw new Error('the hook input has no tool_name')
  const tool = Object.hasOwn(tools, tool_name) ? tools[tool_name] : undefined
  if (tool === undefined) return undefined
  const cwd = resolve(typeof givenCwd === 'string' ? givenCwd : '')
  const given = tool.files(toFields(tool_input))
  const files = given.filter(isName).map((file) => resolve(cwd, file))
  if (files.length === 0 || files.length < given.length)
    throw new Error(`the hook input does not say which file ${tool_name} is about to change`)
  return { tool: tool_name, instead: tool.instead, files: [...new Set(files)], cwd }
}

function isName(given: unknown): given is string {
  return typeof given === 'string' && given !== ''
}

/** Indented headers count: Codex trims them too. */
function filesOfPatch(patch: unknown): readonly unknown[] {
  if (typeof patch !== 'string') return []
  return patch.split('\n').flatMap((line) => {
    const header = line.trim()
    const start = patchHeaders.find((known) => header.startsWith(known))
    return start === undefined ? [] : [header.slice(start.length).trim()]
  })
}
