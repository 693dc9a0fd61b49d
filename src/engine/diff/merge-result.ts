// The task of a merge, and its result.
import type { MergeConflict } from '../../../schemas/contention.ts'
import type { Region } from './regions.ts'
import type { DiffBound } from './runs.ts'

/** What to merge; a plain object, so that it can go to another thread. */
export interface MergeTask {
  readonly base: string
  readonly current: string
  readonly incoming: string
  /** The time limit is for both differences together. */
  readonly bound: DiffBound
  /** The most bytes the conflicts may take as JSON. */
  readonly maxConflictBytes: number
}

export interface MergeConflicts {
  /** In order, as many as there is room for. */
  readonly conflicts: MergeConflict[]
  /** How many more there are. */
  readonly further: number
  /** False if there is room for their places only. */
  readonly hasContents: boolean
}

export type MergeResult = ({ readonly text: string } | MergeConflicts) & {
  /** True if the bound was reached: the changes of each side are correct, yet larger than necessary, and collide sooner. */
  readonly coarse: boolean
}

/** The lines of the three texts. */
export interface MergeLines {
  readonly base: readonly string[]
  readonly current: readonly string[]
  readonly incoming: readonly string[]
}

export type NotMerged = Exclude<MergeResult, { readonly text: string }>

/** A place where the two sides conflict. */
export interface Clash extends Pick<Region, 'base' | 'current' | 'incoming'> {
  readonly reason: MergeConflict['reason']
}
