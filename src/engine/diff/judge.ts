// Whether the patches of a late update still do on the current text what they do on the base.
import type { ApplicablePatch, PatchConflict, StringPatch } from '../../../schemas/patches.ts'
import { OutOfBudget, unlimited, type Budget } from './budget.ts'
import { judgeLinePatches } from './judge-lines.ts'
import { areLinePatches, isLinePatch } from './line-patches.ts'
import { lineEnd, lineNumbersAt, lineStart, splitMark } from './lines.ts'
import { occurrences } from './occurrences.ts'
import { applyPatch, type AppliedPatch } from './patches.ts'
import type { JudgeTask, PatchJudgement } from './judgement.ts'

/**
 * Judges the patches on the texts without their byte order marks, as `applyPatches` applies them. Patches for which the
 * budget does not suffice are treated like those for which the time does not.
 */
export function judgePatches(task: JudgeTask, budget = unlimited): PatchJudgement {
  const { patches } = task
  const { mark, body: current } = splitMark(task.current)
  const maxBytes = task.maxBytes - Buffer.byteLength(mark)
  const bodies = { ...task, base: splitMark(task.base).body, current, maxBytes }
  if (areLinePatches(patches)) return judgeLinePatches({ ...bodies, patches }, budget)
  const byText = patches.filter((patch): patch is StringPatch => !isLinePatch(patch))
  return judgeStringPatches({ ...bodies, patches: byText }, budget)
}

interface StringJudgeTask extends JudgeTask {
  readonly patches: readonly StringPatch[]
}

/**
 * Judges each patch on the running text, as a re-submission would, passing over those that fail. The same patches are
 * applied to the base alongside, so that an edit of this request is on both sides and is no change of context.
 */
function judgeStringPatches(task: StringJudgeTask, budget: Budget): PatchJudgement {
  const { patches, bound } = task
  const deadline = performance.now() + bound.timeoutMs
  const conflicts: PatchConflict[] = []
  const non_conflicting_patches: number[] = []
  const applicable_patches: ApplicablePatch[] = []
  let running: RunningTexts = { base: task.base, current: task.current }
  for (const [patch_index, patch] of patches.entries()) {
    if (performance.now() > deadline) break
    const judged = withinBudget(() => judgePatch(task, running, patch, budget))
    if (judged === undefined) break
    if (judged.reason === undefined) {
      non_conflicting_patches.push(patch_index)
      if (judged.place !== undefined) applicable_patches.push({ patch_index, ...judged.place })
    } else conflicts.push({ patch_index, reason: judged.reason, ...judged.inBase })
    running = judged.running
  }
  const patches_applicable = non_conflicting_patches.length === patches.length
  return { patches_applicable, conflicts, non_conflicting_patches, applicable_patches }
}

/** Both versions with the patches so far. */
interface RunningTexts {
  readonly base: string
  readonly current: string
}

/** Undefined if the text would become too large: later patches cannot be judged. @throws OutOfBudget */
function judgePatch(
  { base, current, maxBytes, contextLines }: StringJudgeTask,
  running: RunningTexts,
  patch: StringPatch,
  budget: Budget
) {
  const inBase = () => {
    const place = linesOf(base, patch, budget)
    return place === undefined ? {} : { base_start_line: place.start_line, base_end_line: place.end_line }
  }
  const onCurrent = applyPatch(running.current, patch, maxBytes, budget)
  if ('fault' in onCurrent) {
    const { fault } = onCurrent
    return fault === 'too_large' ? undefined : { reason: fault, inBase: inBase(), running }
  }
  const onBase = applyPatch(running.base, patch, maxBytes, budget)
  const next = { base: 'text' in onBase ? onBase.text : running.base, current: onCurrent.text }
  const isSame =
    'text' in onBase &&
    hasSameSurroundings(
      { text: running.base, places: onBase },
      { text: running.current, places: onCurrent },
      patch.old_string.length,
      contextLines,
      budget
    )
  if (!isSame) return { reason: 'context_changed' as const, inBase: inBase(), running: next }
  return { reason: undefined, place: linesOf(current, patch, budget), running: next }
}

function withinBudget<Result>(work: () => Result): Result | undefined {
  try {
    return work()
  } catch (error) {
    if (error instanceof OutOfBudget) return undefined
    throw error
  }
}

/** A text and where a patch applies to it. */
interface Applied {
  readonly text: string
  readonly places: AppliedPatch
}

/** True if old_string occurs in both texts equally often and each time with the same lines around it. */
function hasSameSurroundings(
  base: Applied,
  current: Applied,
  length: number,
  contextLines: number,
  budget: Budget
): boolean {
  const { count, offsets } = base.places
  // Out of caution, places beyond the known ones are not compared.
  if (count !== current.places.count || count > offsets.length) return false
  return offsets.every((offset, index) => {
    const was = surroundings(base.text, offset, length, contextLines)
    const is = surroundings(current.text, current.places.offsets[index]!, length, contextLines)
    // Lines can be as long as the text.
    budget.spend(was.before.length + was.after.length + is.before.length + is.after.length)
    return was.before === is.before && was.after === is.after
  })
}

/** What surrounds a place: the rest of its first and last line, and the context lines beyond them. */
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

/** The lines of the only place of old_string, or of the first if all places are meant. */
function linesOf(text: string, { old_string, replace_all }: StringPatch, budget: Budget) {
  budget.spend(2 * text.length)
  const [offset, another] = occurrences(text, old_string, 'overlapping')
  if (offset === undefined || (another !== undefined && replace_all !== true)) return undefined
  const [start_line, end_line] = lineNumbersAt(text, [offset, offset + old_string.length - 1])
  return { start_line: start_line!, end_line: end_line! }
}
