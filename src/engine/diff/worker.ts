// What a thread of the differ's pool runs: work too large for the event loop.
import { createBudget } from './budget.ts'
import { compareTexts, type Comparison, type ComparisonTask } from './compare.ts'
import { judgePatches } from './judge.ts'
import { editLines, type EditResult, type EditTask } from './line-edits.ts'
import { mergeTexts } from './merge.ts'
import { applyPatches, type ApplyResult, type ApplyTask } from './patches.ts'
import { applyUnified, judgeUnified, type UnifiedResult, type UnifiedTask } from './unified-patch.ts'
import type { JudgeTask, PatchJudgement } from './judgement.ts'
import type { MergeResult, MergeTask } from './merge-result.ts'

/** Each job by its name, with what it takes and gives. */
export interface Jobs {
  compare: { task: ComparisonTask; result: Comparison }
  judge: { task: JudgeTask; result: PatchJudgement }
  merge: { task: MergeTask; result: MergeResult }
  apply: { task: ApplyTask; result: ApplyResult }
  unified: { task: UnifiedTask; result: UnifiedResult }
  judgeUnified: { task: UnifiedTask; result: PatchJudgement }
  edit: { task: EditTask; result: EditResult }
}

/** Its time is checked only between two patches, and one patch may compare lines as long as the text a thousand times. */
const maxJudgeSteps = 1_000_000_000
/** A hunk that is nowhere is looked for at each line. */
const maxUnifiedSteps = 1_000_000_000

export const compare = (task: ComparisonTask): Comparison => compareTexts(task)
export const judge = (task: JudgeTask): PatchJudgement => judgePatches(task, createBudget(maxJudgeSteps))
export const merge = (task: MergeTask): MergeResult => mergeTexts(task)
export const apply = ({ text, patches, maxBytes }: ApplyTask): ApplyResult => applyPatches(text, patches, maxBytes)
export const unified = (task: UnifiedTask): UnifiedResult => applyUnified(task, createBudget(maxUnifiedSteps))
const judgeHunks = (task: UnifiedTask): PatchJudgement => judgeUnified(task, createBudget(maxUnifiedSteps))
export { judgeHunks as judgeUnified }
export const edit = (task: EditTask): EditResult => editLines(task)
