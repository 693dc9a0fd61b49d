// Paths in what a harness gives its hooks, and in what these answer: the members are those of the harness, and some are texts of files.
import type { CarryCall, OperationResult } from '../../engine/call/context.ts'
import { relocation, relocationInProse } from '../../support/relocate.ts'

/** The operation that takes them. */
export const nativeHook = 'native_hook'

/** Members that hold the text of a file, or of a person. */
const textNames: ReadonlySet<string> = new Set([
  'content',
  'contents',
  'llmContent',
  'new_string',
  'newString',
  'new_source',
  'old_string',
  'oldString',
  'output',
  'prompt',
  'returnDisplay',
  'text'
])

const patchHeader = /^(\s*\*\*\* (?:(?:Add|Update|Delete) File|Move to):\s*)(.*)$/

/** Every text of one line may be a path; one of several lines is a patch that names files in its headers. */
export function mapHookInput(value: unknown, map: (path: string) => string): unknown {
  return mapStrings(value, (text) => (text.includes('\n') ? mapPatch(text, map) : map(text)), textNames)
}

function mapPatch(text: string, map: (path: string) => string): string {
  return mapLines(text, (line) => line.replace(patchHeader, (_, header: string, path: string) => header + map(path)))
}

/** @param map of prose; the lines of a diff are those of the file */
export function mapHookAnswer(value: unknown, map: (prose: string) => string): unknown {
  return mapStrings(value, (text) => mapProse(text, map))
}

/** @param kept names of members whose texts stay */
function mapStrings(value: unknown, map: (text: string) => string, kept?: ReadonlySet<string>): unknown {
  if (typeof value === 'string') return map(value)
  if (Array.isArray(value)) return value.map((item) => mapStrings(item, map, kept))
  if (typeof value !== 'object' || value === null) return value
  return Object.fromEntries(
    Object.entries(value).map(([name, item]: [string, unknown]) => [
      name,
      kept?.has(name) === true && typeof item === 'string' ? item : mapStrings(item, map, kept)
    ])
  )
}

function mapProse(text: string, map: (prose: string) => string): string {
  let isInDiff = false
  return mapLines(text, (line) => {
    isInDiff = line.startsWith('@@ ') || (isInDiff && /^[ +\-\\]/.test(line))
    return isInDiff ? line : map(line)
  })
}

function mapLines(text: string, map: (line: string) => string): string {
  return text.split('\n').map(map).join('\n')
}

/**
 * Hooks that name files by another path of the first root, as a container has it: the engine gets the root's own, and answers name theirs.
 * @param root real path of the first root @param knownAs its other paths
 */
export function withKnownHooks(call: CarryCall, root: string, knownAs: readonly string[]): CarryCall {
  if (knownAs.length === 0) return call
  return async (operation, input, options) => {
    if (operation.name !== nativeHook) return call(operation, input, options)
    for (const known of knownAs) {
      const toRoot = relocation(known, root)
      let isMeant = false
      const own = mapHookInput(input, (path) => {
        const next = toRoot(path)
        isMeant ||= next !== path
        return next
      })
      if (!isMeant) continue
      return mapHookAnswer(await call(operation, own, options), relocationInProse(root, known)) as OperationResult
    }
    return call(operation, input, options)
  }
}
