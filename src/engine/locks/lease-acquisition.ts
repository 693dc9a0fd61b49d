// A lease in the table: a request for one key that, once granted, stays held for its agent.
import { Acquisition, requireDuration } from './acquisition.ts'
import type { Lease, LeaseState, LeaseTarget, LeaseWaitOptions, LockMode } from './lock.ts'
import type { QueueEntry } from './queue.ts'

export class LeaseAcquisition extends Acquisition implements Lease {
  declare readonly agentId: string
  declare fencingToken: number
  readonly place: QueueEntry
  graceMs: number
  connection: string | undefined
  names: readonly string[]
  /** Given the lease: this one, or the one that its agent had on the key already. */
  readonly onGrant: (lease: LeaseAcquisition) => void
  /** How many requests have brought or renewed it and have not been undone, by what they asked for. */
  readonly claims: Record<LockMode, number> = { shared: 0, exclusive: 0 }
  /** How many requests have renewed it and have not been undone since. */
  renewals = 0
  /** What its agent had said of the lease that this request has renewed; undefined where it is a lease of its own. */
  replaced: Pick<LeaseAcquisition, 'note' | 'connection' | 'names' | 'ttlMs' | 'renewals'> | undefined
  /** What an earlier process has granted; undefined where this one has to. */
  restored: Pick<LeaseState, 'fencingToken' | 'expiresAt' | 'acquiredAt' | 'names'> | undefined
  /** Told when it is parked. */
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
    this.place = this.places[0] as QueueEntry
    this.graceMs = requireDuration('graceMs', options.graceMs)
    this.note = options.note
    this.names = request.name === undefined ? [] : [request.name]
    this.connection = options.connection
  }

  override get isLease(): boolean {
    return true
  }

  get key(): string {
    return this.place.key
  }

  get path(): string {
    return this.place.path
  }

  get mode(): LockMode {
    return this.place.mode
  }

  /** True where its agent has been granted it by one request only, or all but one have been undone. */
  get hasOneClaim(): boolean {
    return this.claims.shared + this.claims.exclusive === 1
  }

  get acquiredAt(): number {
    return this.place.since
  }

  get expiresAt(): number {
    return this.endsAt
  }

  get isHeld(): boolean {
    return this.state === 'held'
  }
}

function ignore(): void {}
