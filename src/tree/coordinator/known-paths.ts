// Hooks that name files by another path of the first root, as a container has it: the engine gets the root's own, and answers name theirs.
import type { CarryCall, OperationResult } from '../../engine/call/context.ts'
import { relocation } from '../../support/relocate.ts'
import { mapHookAnswer, mapHookInput, nativeHook } from './hook-paths.ts'

/** @param root real path of the first root @param knownAs its other paths */
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
      const inProse = (text: string) => text.replaceAll(`${root}/`, `${known}/`)
      return mapHookAnswer(await call(operation, own, options), inProse) as OperationResult
    }
    return call(operation, input, options)
  }
}
