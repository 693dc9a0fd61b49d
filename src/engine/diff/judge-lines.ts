// Whether patches by lines, made for the base, still mean the same lines of the current text, and which these are now.
import type { ApplicablePatch, LinePatch, PatchConflict } from '../../../schemas/patches.ts'
import { OutOfBudget, type Budget } from './budget.ts'
import { diffLines, type Hunk } from './hunks.ts'
import type { JudgeTask, PatchJudgement } from './judgement.ts'
import { applyLinePatches, findFault } from './line-patches.ts'
import { splitLines } from './lines.ts'

interface LineJudgeTask extends JudgeTask {
  readonly patches: readonly LinePatch[]
}

// Splitting both texts, and numbering their lines; the search has a bound of its own.
const stepsPerChar = 8
const nothingJudged: PatchJudgement = {
  patches_applicable: false,
  conflicts: [],
  non_conflicting_patches: [],
  applicable_patches: []
}

/** No patch is judged if the budget does not suffice, or if only a minimal diff was wanted and there was no time for it. */
export function judgeLinePatches(task: LineJudgeTask, budget: Budget): PatchJudgement {
  try {
    return judge(task, budget)
  } catch (error) {
    if (!(error instanceof OutOfBudget)) throw error
    return nothingJudged
  }
}

function judge(task: LineJudgeTask, budget: Budget): PatchJudgement {
  const { base, current, patches, contextLines, maxBytes, bound } = task
  budget.spend(stepsPerChar * (base.length + current.length))
  const baseLines = splitLines(base)
  const { hunks, coarse } = diffLines(baseLines, splitLines(current), bound)
  if (coarse && bound.minimalOnly === true) return nothingJudged
  const conflicts: PatchConflict[] = []
  const non_conflicting_patches: number[] = []
  const applicable_patches: ApplicablePatch[] = []
  for (const [patch_index, patch] of patches.entries()) {
    const { start_line, end_line } = patch
    if (findFault(baseLines, patch, patch_index) !== undefined) {
      conflicts.push({ patch_index, reason: 'not_found' })
      continue
    }
    const { reason, shift } = place(hunks, patch, contextLines)
    if (reason === undefined) non_conflicting_patches.push(patch_index)
    else conflicts.push({ patch_index, reason, base_start_line: start_line, base_end_line: end_line })
    if (reason === undefined || reason === 'lines_moved') {
      applicable_patches.push({ patch_index, start_line: start_line + shift, end_line: end_line + shift })
    }
  }
  // Sent again unchanged, the patches mean the same line numbers in the current text.
  const patches_applicable =
    non_conflicting_patches.length === patches.length && 'text' in applyLinePatches(current, patches, maxBytes, budget)
  return { patches_applicable, conflicts, non_conflicting_patches, applicable_patches }
}

/** Why the patch's lines are not the same, if so, and how far they have moved. */
function place(
  hunks: readonly Hunk[],
  { start_line, end_line }: LinePatch,
  contextLines: number
): { reason?: PatchConflict['reason']; shift: number } {
  const start = start_line - 1
  let shift = 0
  let isContextChanged = false
  for (const { baseStart, baseEnd, currentEnd } of hunks) {
    if (baseStart > end_line + contextLines) break
    // A change that touches the lines counts: an author that knew of it might have meant other lines.
    if (baseStart <= end_line && baseEnd >= start) return { reason: 'lines_changed', shift: 0 }
    if (baseEnd > start - contextLines) isContextChanged = true
    if (baseEnd <= start) shift = currentEnd - baseEnd
  }
  if (isContextChanged) return { reason: 'context_changed', shift }
  return shift === 0 ? { shift } : { reason: 'lines_moved', shift }
}
