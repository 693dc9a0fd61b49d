// A lease in the table: a request for one key that, once granted, stays held for its agent.
import { Acquisition, requireDuration, type QueueEntry } from './acquisition.ts'
import type { Lease, LeaseState, LeaseTarget, LeaseWaitOptions, LockMode } from './lock.ts'

export class LeaseAcquisition extends Acquisition implements Lease {
  declare readonly agentId: string
  declare fencingToken: number
  readonly entry: QueueEntry
  graceMs: number
  connection: string | undefined
  names: readonly string[]
  /** Called with the lease: this one, or the one that its agent already had on the key. */
  readonly onGrant: (lease: LeaseAcquisition) => void
  /** How many requests were granted this lease and are not undone, by the mode they requested. */
  readonly claims: Record<LockMode, number> = { shared: 0, exclusive: 0 }
  /** Grows with each renewal. Undoing the latest one restores the number before. */
  renewals = 0
  /** What this request replaced in the lease that it renewed; undefined if it renewed none. */
  replaced: Pick<LeaseAcquisition, 'note' | 'connection' | 'names' | 'ttlMs' | 'renewals'> | undefined
  /** The grant of an earlier process; undefined if this process has to grant. */
  restored: Pick<LeaseState, 'fencingToken' | 'expiresAt' | 'acquiredAt' | 'names'> | undefined
  /** Called when it is parked. */
  onPark: (() => void) | undefined

  constructor(
    request: LeaseTarget,
    options: LeaseWaitOptions,
    now: number,
    onGrant: (lease: LeaseAcquisition) => void,
    reject: (error: unknown) => void
  ) {
    super(request, options, now, ignore, reject)
    this.onGrant = onGrant
    this.entry = this.entries[0] as QueueEntry
    this.graceMs = requireDuration('graceMs', options.graceMs)
    this.note = options.note
    this.names = request.name === undefined ? [] : [request.name]
    this.connection = options.connection
  }

  override get isLease(): boolean {
    return true
  }

  get key(): string {
    return this.entry.key
  }

  override get path(): string {
    return this.entry.path
  }

  get mode(): LockMode {
    return this.entry.mode
  }

  /** True if all but one of the requests that were granted this lease are undone. */
  get hasOneClaim(): boolean {
    return this.claims.shared + this.claims.exclusive === 1
  }

  get acquiredAt(): number {
    return this.entry.since
  }

  get expiresAt(): number {
    return this.dueAt
  }

  get isHeld(): boolean {
    return this.state === 'held'
  }
}

function ignore(): void {}
