// Who the authority of a tree is, and how the other processes reach it. `local` decides it by a lock of the system, `etcd` by an election.
import { OperationError } from '../../errors.ts'
import type { HostFacts } from './host-facts.ts'
import type { MeetingPoint } from './meeting-point.ts'
import type { VolumeView } from './volume-view.ts'
import type { MembersLock } from '../state/members-lock.ts'

/** This process was elected, and its lease ended before it had the tree: it can follow the next one. */
export class ElectedMeanwhile extends OperationError {
  constructor(cause?: unknown) {
    const message = 'Another host was elected to serve this tree meanwhile. Nothing was done. Try again.'
    super('OVERLOADED', message, { details: { retry_after_seconds: 1 }, cause })
  }
}

export interface Coordinator {
  /**
   * Campaigns once, and keeps what is already won. @returns false if another process is the authority
   * @throws TreeConflict, ElectedMeanwhile; any other Error says what is in the way
   */
  readonly campaign: () => boolean | Promise<boolean>
  /** Finds out who the authority is, without a campaign. @throws Error that says what is in the way */
  readonly look: () => void | Promise<void>
  /** True while this process is surely the authority. Asked right before each change, and never slow. */
  readonly isInPlace: () => boolean
  /** Process id of the authority; undefined if that is not known. */
  readonly leader: () => number | undefined
  /** How a user finds the process, if that is not known; empty if there is no way. */
  readonly leaderHint: string
  /** Counts the authorities of the tree, upwards; undefined if the system frees the place of a dead one by itself. */
  readonly epoch: () => number | undefined
  /** Lets another process be the authority. Harmless if this one is not. */
  readonly resign: () => void | Promise<void>
  /** @throws Error that says what is in the way */
  readonly openPoint: () => MeetingPoint
  /** The processes that take part in serving the tree. */
  readonly members: MembersLock
  /** What processes of one tree have in common: others are refused. */
  readonly names: () => readonly string[]
  /** True if a process stops being the authority by the mere passing of time: then answers are checked, too. */
  readonly isLeased: boolean
  /** An authority that stays silent so long is given up, in milliseconds; undefined takes daemon.authority_timeout_seconds. */
  readonly silenceMs: number | undefined
  /** Undefined if one host serves the tree. */
  readonly view: VolumeView | undefined
  /** Undefined if one host serves the tree. */
  readonly facts: () => HostFacts | undefined
}
