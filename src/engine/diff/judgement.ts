// The task of judging patches, and its result.
import type { ApplicablePatch, Patch, PatchConflict } from '../../../schemas/patches.ts'
import type { DiffBound } from './runs.ts'

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
  /** Patches not judged in time are in neither list, and `patches_applicable` is false. Those by lines need the diff. */
  readonly bound: DiffBound
}
