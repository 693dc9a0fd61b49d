// The path that an input names, whether or not the input is right: a refusal says which file it is about.
import { beginningOf } from '../../support/cut-text.ts'

const maxPathLength = 4096

/** Undefined if the input names no path, or no text. */
export function givenPath(input: unknown): string | undefined {
  if (typeof input !== 'object' || input === null) return undefined
  const { path, old_path: given = path } = input as { path?: unknown; old_path?: unknown }
  return typeof given === 'string' && given.isWellFormed() ? beginningOf(given, maxPathLength) : undefined
}
