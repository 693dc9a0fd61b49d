// What a thread of the differ's pool runs: work too large for the event loop.
import { compareTexts, type Comparison, type ComparisonTask } from './compare.ts'
import { judgePatches, type JudgeTask, type PatchJudgement } from './judge.ts'
import { mergeTexts, type MergeResult, type MergeTask } from './merge.ts'
import { applyPatches, type ApplyResult, type ApplyTask } from './patches.ts'

/** Each job by its name, with what it takes and gives. */
export interface Jobs {
  compare: { task: ComparisonTask; result: Comparison }
  judge: { task: JudgeTask; result: PatchJudgement }
  merge: { task: MergeTask; result: MergeResult }
  apply: { task: ApplyTask; result: ApplyResult }
}

export const compare = (task: ComparisonTask): Comparison => compareTexts(task)
export const judge = (task: JudgeTask): PatchJudgement => judgePatches(task)
export const merge = (task: MergeTask): MergeResult => mergeTexts(task)
export const apply = ({ text, patches, maxBytes }: ApplyTask): ApplyResult => applyPatches(text, patches, maxBytes)
