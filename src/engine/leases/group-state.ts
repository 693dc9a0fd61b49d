// A group of files that an agent asked for together, as it outlives the process.
import type { LeaseOptions, LockMode, PlaceState } from '../locks/lock.ts'

export interface GroupOptions extends LeaseOptions {
  readonly mode: LockMode
  readonly allOrNothing: boolean
}

/** One file of a group, as it outlives the process. */
export interface MemberState {
  readonly filepath: string
  /** Canonical. */
  readonly path: string
  /** Comparable with other spellings; undefined if it equals that of the path. */
  readonly name?: string | undefined
  readonly isTold: boolean
  /** Undefined if no request waits in it any more. */
  readonly place: Pick<PlaceState, 'graceMs' | 'queuedAt' | 'order' | 'keptUntil'> | undefined
  /** True if the group holds a lease on it. */
  readonly isGranted: boolean
}

/** A group as it outlives the process; its connection does not. */
export interface GroupState {
  readonly options: Omit<GroupOptions, 'connection'>
  readonly members: readonly MemberState[]
}
