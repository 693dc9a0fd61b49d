// A change of one file as its operation understands it: which files it locks, and what it plans of them once they are locked.
import type { FileVersion } from '../../engine/files/read-file.ts'
import type { OpenEntry } from '../../engine/files/walk.ts'
import type { Target } from '../locking/with-locks.ts'
import type { Refusal, RefusedChange } from './contention.ts'
import type { PathPlan, Plan } from './plan.ts'
import type { Merged } from './stale-change.ts'

/** What is planned, perhaps merged with other agents' changes. */
export interface Planned {
  /** The path whose hash the answer shows. */
  readonly plan: PathPlan
  /** Of a rename. */
  readonly source?: PathPlan
  /** What a reader of the entry that is renamed or deleted got; undefined if it cannot be read. */
  readonly content?: FileVersion | undefined
  /** Where it leads, if that is a symbolic link. */
  readonly link?: string | undefined
  readonly merged?: Merged | undefined
}

/** A refusal says that the file is not the version that the change was made for. */
export type Judged = Planned | Refusal

export interface Planner extends Omit<RefusedChange, 'diffFormat'> {
  /** The file, and perhaps a second name. */
  readonly targets: readonly Target[]
  /**
   * Reads, and writes nothing.
   * @param index of the change in its call
   * @throws OperationError if the change cannot be made, whatever the version
   */
  readonly plan: (places: readonly OpenEntry[], plan: Plan, index: number) => Promise<Judged>
  /** Called once it is made, to report that. */
  readonly onMade?: (planned: Planned) => void
}

/** @param reach default: what a link at the path leads to */
export function exclusive(path: string, fencingToken: number | undefined, reach: Target['reach'] = 'target'): Target {
  return { path, mode: 'exclusive', reach, fencingToken }
}
