// Paths of calls in a form that means the same on every host of a tree, wherever it mounts the volume: relative to the first root.
import { sep } from 'node:path'
import { OperationError, withPath } from '../../errors.ts'
import type { CarryCall, OperationResult } from '../../engine/call/context.ts'
import { mapTexts } from '../../support/map-texts.ts'
import { fromFileUri } from '../../support/file-uri.ts'
import { below } from '../../support/relocate.ts'
import { nativeHook } from './hook-paths.ts'

/** Where inputs and answers have paths. */
export const pathNames: ReadonlySet<string> = new Set([
  'path',
  'paths',
  'filepath',
  'filepaths',
  'files',
  'old_path',
  'new_path',
  'name',
  'renamed_from',
  'renamed_to',
  'waits_for'
])

/**
 * The engine gets relative paths, so that its receipts, leases and notices mean the same to the next authority. Answers name each file as
 * the caller spelt it.
 * @param spellings of the first root on this host
 * @param base what the paths begin with instead; by default they are relative
 */
export function withCommonPaths(call: CarryCall, spellings: readonly string[], base?: string): CarryCall {
  function toCommon(spelt: string): string {
    const path = fromFileUri(spelt) ?? spelt
    for (const root of spellings) {
      const rest = below(root, path)
      if (rest === undefined) continue
      if (rest === '') return base ?? '.'
      return base === undefined ? rest : base + sep + rest
    }
    return spelt
  }

  return async (operation, input, options) => {
    // A harness names files relative to folders of its own.
    if (operation.name === nativeHook) return call(operation, input, options)
    const spelt = new Map<string, string>()
    const common = mapTexts(input, pathNames, (path) => {
      const next = toCommon(path)
      if (next !== path) spelt.set(next, path)
      return next
    })
    if (spelt.size === 0) return call(operation, input, options)
    const restore = (path: string) => spelt.get(path) ?? path
    try {
      return mapTexts(await call(operation, common, options), pathNames, restore) as OperationResult
    } catch (error) {
      if (!(error instanceof OperationError) || error.path === undefined) throw error
      throw withPath(error, restore(error.path))
    }
  }
}
