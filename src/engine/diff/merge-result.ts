// What to merge, and what comes of it.
import type { MergeConflict } from '../../../schemas/contention.ts'
import type { Region } from './regions.ts'
import type { DiffBound } from './runs.ts'

/** What to merge; a plain object, so that it can go to another thread. */
export interface MergeTask {
  readonly base: string
  readonly current: string
  readonly incoming: string
  /** True where the result must be JSON if all three are. */
  readonly isJson: boolean
  /** Of both differences together, as far as time goes. */
  readonly bound: DiffBound
  /** The most bytes the conflicts may take as JSON. */
  readonly maxConflictBytes: number
}

export interface MergeConflicts {
  /** In order, those that there is room for. */
  readonly conflicts: MergeConflict[]
  /** How many more there are. */
  readonly further: number
  /** False where there is room for their places alone. */
  readonly hasContents: boolean
}

export type MergeResult = ({ readonly text: string } | MergeConflicts) & {
  /** True where the bound was reached: what each side has changed is true, yet larger than it need be, and collides sooner. */
  readonly coarse: boolean
}

/** The lines of the three texts. */
export interface MergeLines {
  readonly base: readonly string[]
  readonly current: readonly string[]
  readonly incoming: readonly string[]
}

export type NotMerged = Exclude<MergeResult, { readonly text: string }>

/** Where the two sides cannot both be had. */
export interface Clash extends Pick<Region, 'base' | 'current' | 'incoming'> {
  readonly reason: MergeConflict['reason']
}
