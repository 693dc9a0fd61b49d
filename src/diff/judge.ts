// Whether the patches of a late update would still do on the current text what their author saw them do on the base.
import type { ApplicablePatch, Patch, PatchConflict, StringPatch } from '../../schemas/contention.ts'
import { judgeLinePatches } from './judge-lines.ts'
import { areLinePatches, isLinePatch } from './line-patches.ts'
import { lineEnd, lineNumbersAt, lineStart, splitMark } from './lines.ts'
import { occurrences } from './occurrences.ts'
import { applyPatch, type AppliedPatch } from './patches.ts'

export interface PatchJudgement {
  /** True guarantees that `applyPatches` succeeds on the current text; false is caution. */
  readonly patches_applicable: boolean
  readonly conflicts: PatchConflict[]
  /** Indices of the patches known to be without conflict. */
  readonly non_conflicting_patches: number[]
  /** Those that still apply, with their lines in the current text. */
  readonly applicable_patches: ApplicablePatch[]
}

/** What to judge; a plain object, so that it can go to another thread. */
export interface JudgeTask {
  readonly base: string
  readonly current: string
  readonly patches: readonly Patch[]
  readonly contextLines: number
  /** The limit given to `applyPatches`, in UTF-8 bytes. */
  readonly maxBytes: number
  /** Patches not judged by then are in neither list, and `patches_applicable` is false. */
  readonly timeoutMs: number
}

/** Judges the patches on the texts without their byte order marks, as `applyPatches` applies them. */
export function judgePatches(task: JudgeTask): PatchJudgement {
  const { patches } = task
  const { mark, body: current } = splitMark(task.current)
  const maxBytes = task.maxBytes - Buffer.byteLength(mark)
  const bodies = { ...task, base: splitMark(task.base).body, current, maxBytes }
  if (areLinePatches(patches)) return judgeLinePatches({ ...bodies, patches })
  return judgeStringPatches({
    ...bodies,
    patches: patches.filter((patch): patch is StringPatch => !isLinePatch(patch))
  })
}

interface StringJudgeTask extends JudgeTask {
  readonly patches: readonly StringPatch[]
}

/**
 * Judges each patch on the running text, as a re-submission would, passing over those that fail. The same patches are
 * applied to the base alongside, so that an edit of this request stands on both sides and is no change of context.
 */
function judgeStringPatches({
  base,
  current,
  patches,
  contextLines,
  maxBytes,
  timeoutMs
}: StringJudgeTask): PatchJudgement {
  const deadline = performance.now() + timeoutMs
  const conflicts: PatchConflict[] = []
  const non_conflicting_patches: number[] = []
  const applicable_patches: ApplicablePatch[] = []
  let runningBase = base
  let runningCurrent = current
  for (const [patch_index, patch] of patches.entries()) {
    if (performance.now() > deadline) break
    const onCurrent = applyPatch(runningCurrent, patch, maxBytes)
    if ('fault' in onCurrent) {
      if (onCurrent.fault === 'too_large') break
      conflicts.push({ patch_index, reason: onCurrent.fault, ...linesInBase(base, patch) })
      continue
    }
    const onBase = applyPatch(runningBase, patch)
    const isSame =
      'text' in onBase &&
      hasSameSurroundings(runningBase, onBase, runningCurrent, onCurrent, patch.old_string.length, contextLines)
    if (isSame) {
      non_conflicting_patches.push(patch_index)
      const place = linesOf(current, patch)
      if (place !== undefined) applicable_patches.push({ patch_index, ...place })
    } else conflicts.push({ patch_index, reason: 'context_changed', ...linesInBase(base, patch) })
    runningCurrent = onCurrent.text
    if ('text' in onBase) runningBase = onBase.text
  }
  const patches_applicable = non_conflicting_patches.length === patches.length
  return { patches_applicable, conflicts, non_conflicting_patches, applicable_patches }
}

/** True where old_string stands in both texts equally often and each time with the same lines around it. */
function hasSameSurroundings(
  base: string,
  inBase: AppliedPatch,
  current: string,
  inCurrent: AppliedPatch,
  length: number,
  contextLines: number
): boolean {
  // More places than are known are not compared: caution.
  if (inBase.count !== inCurrent.count || inBase.count > inBase.offsets.length) return false
  return inBase.offsets.every((offset, index) => {
    const was = surroundings(base, offset, length, contextLines)
    const is = surroundings(current, inCurrent.offsets[index]!, length, contextLines)
    return was.before === is.before && was.after === is.after
  })
}

/** What stands around a place: the rest of its first and last line, and the context lines beyond them. */
function surroundings(text: string, offset: number, length: number, contextLines: number) {
  const end = offset + length
  let contextStart = lineStart(text, offset)
  let contextEnd = lineStart(text, end) === end ? end : lineEnd(text, end)
  for (let line = 0; line < contextLines; line++) {
    if (contextStart > 0) contextStart = lineStart(text, contextStart - 1)
    contextEnd = lineEnd(text, contextEnd)
  }
  return { before: text.slice(contextStart, offset), after: text.slice(end, contextEnd) }
}

/** The lines of old_string in the base as its author knew it. */
function linesInBase(base: string, patch: StringPatch) {
  const place = linesOf(base, patch)
  return place === undefined ? {} : { base_start_line: place.start_line, base_end_line: place.end_line }
}

/** The lines where old_string stands once, or first if all places are meant. */
function linesOf(text: string, { old_string, replace_all }: StringPatch) {
  const [offset, another] = occurrences(text, old_string, 'overlapping')
  if (offset === undefined || (another !== undefined && replace_all !== true)) return undefined
  const [start_line, end_line] = lineNumbersAt(text, [offset, offset + old_string.length - 1])
  return { start_line: start_line!, end_line: end_line! }
}
