// A lease from the requester's side: waiting, parked, granted or refused.
import { requireDuration } from './acquisition.ts'
import { cancelled } from './errors.ts'
import { LeaseAcquisition } from './lease-acquisition.ts'
import type { Lease, LeaseTarget, LeaseWaitOptions, LockMode, PlaceState } from './lock.ts'
import type { LockTable } from './lock-table.ts'

type OnPosition = LeaseWaitOptions['onPosition']
/** Without `graceMs` the grace period stays. */
type ResumeOptions = Pick<LeaseWaitOptions, 'timeoutMs' | 'connection' | 'onPosition'> &
  Partial<Pick<LeaseWaitOptions, 'graceMs'>>

export class LeaseRequest {
  readonly acquisition: LeaseAcquisition
  readonly #table: LockTable
  readonly #mode: LockMode
  #lease: LeaseAcquisition | undefined
  #error: unknown
  #onPosition: OnPosition
  #isUndone = false
  #listeners: (() => void)[] = []

  constructor(request: LeaseTarget, options: LeaseWaitOptions, now: number, table: LockTable) {
    this.#table = table
    this.#mode = request.mode
    this.#onPosition = options.onPosition
    this.acquisition = new LeaseAcquisition(
      request,
      options,
      now,
      (lease) => {
        this.#lease = lease
        this.#wake()
      },
      (error) => {
        this.#error = error
        this.#wake()
      }
    )
    if (options.onPosition !== undefined) this.#reportPositions()
    this.acquisition.onPark = () => this.#wake()
  }

  get key(): string {
    return this.acquisition.key
  }

  /** Undefined until it is granted. It may have ended since. */
  get lease(): Lease | undefined {
    return this.#lease
  }

  /** True if its agent already had the lease, which it has only renewed or made exclusive. */
  get hasJoinedLease(): boolean {
    return this.#lease !== undefined && this.#lease !== this.acquisition
  }

  /** Why it was refused; undefined otherwise. */
  get error(): unknown {
    return this.#error
  }

  get isWaiting(): boolean {
    return this.acquisition.state === 'waiting'
  }

  /** True from the end of its timeout until a client waits for it again, granted meanwhile or not. */
  get isParked(): boolean {
    return this.acquisition.isParked
  }

  /** The place it waits in, as another process can restore it; undefined if it does not wait. */
  get placeState(): PlaceState | undefined {
    if (!this.isWaiting) return undefined
    const { key, path, names, mode, agentId, operation, note, ttlMs, graceMs, dueAt, isParked, entry } =
      this.acquisition
    const keptUntil = isParked ? dueAt : dueAt + graceMs
    const { since: queuedAt, ticket: order } = entry
    return { key, path, name: names[0], mode, agentId, operation, note, ttlMs, graceMs, queuedAt, order, keptUntil }
  }

  enter(now: number): void {
    this.#table.enter(this.acquisition, now)
    if (this.isWaiting) this.#table.setDeadline(this.acquisition, this.acquisition.dueAt)
  }

  /** Resolves when it has been granted, refused or parked. */
  async settled(): Promise<void> {
    while (this.isWaiting && !this.isParked) await new Promise<void>((resolve) => this.#listeners.push(resolve))
  }

  /** A client waits for it again, perhaps over another connection. */
  resume({ timeoutMs, graceMs, connection, onPosition }: ResumeOptions): void {
    this.#table.catchUp()
    const lease = this.#lease ?? this.acquisition
    lease.connection = connection
    this.#onPosition = onPosition
    if (graceMs !== undefined) this.acquisition.graceMs = requireDuration('graceMs', graceMs)
    this.#table.leases.resume(this.acquisition, requireDuration('timeoutMs', timeoutMs), this.#lease)
    if (onPosition === undefined || !this.isWaiting) return
    this.#reportPositions()
    this.#table.queues.get(this.key)?.follow(this.acquisition.entry)
  }

  /** Keeps the granted lease for at least this long, since the call that requested it goes on. */
  keepFor(ms: number): void {
    if (this.#lease !== undefined) this.#table.leases.prolong(this.#lease, ms)
  }

  /** Its agent learns of the lease, so the TTL begins. The time that another request was promised is not shortened. */
  begin(): void {
    const lease = this.#lease
    if (lease?.hasOneClaim === true) this.#table.leases.renew(lease, lease.ttlMs)
    else if (lease !== undefined) this.#table.leases.prolong(lease, lease.ttlMs)
  }

  /** Keeps the granted lease no longer than a place, until a client waits for it again. */
  keepForGrace(): void {
    if (this.#lease === this.acquisition) this.#table.leases.keepForGrace(this.acquisition)
  }

  /** Leaves the queue; does nothing once it is granted. */
  cancel(cause?: unknown): void {
    this.#table.fail(this.acquisition, cancelled(this.acquisition, cause))
  }

  /**
   * Leaves the queue, or gives back what it was granted: the lease, or its stronger mode. What another request of its agent
   * was granted stays.
   */
  undo(cause?: unknown): void {
    this.cancel(cause)
    if (this.#isUndone || this.#lease === undefined) return
    this.#isUndone = true
    this.#table.leases.withdraw(this.#lease, this.#mode, this.acquisition)
  }

  #reportPositions(): void {
    this.acquisition.onPosition = (position, total) => this.#notifyPosition(position, total)
  }

  #wake(): void {
    for (const listener of this.#listeners.splice(0)) listener()
  }

  /** Calls no listener while no client waits for the answer. A listener that throws fails only its own request. */
  #notifyPosition(position: number, total: number): void {
    if (this.isParked) return
    try {
      this.#onPosition?.(position, total)
    } catch (error) {
      this.#table.fail(this.acquisition, error)
    }
  }
}
