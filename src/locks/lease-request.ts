// A lease as the one who asks for it sees it: waited for, parked, granted or refused.
import { requireDuration } from './acquisition.ts'
import { cancelled } from './errors.ts'
import { LeaseAcquisition } from './lease-acquisition.ts'
import type { Lease, LeaseWaitOptions, LockMode, LockRequest } from './lock.ts'
import type { LockTable } from './lock-table.ts'

type OnPosition = LeaseWaitOptions['onPosition']

export class LeaseRequest {
  readonly acquisition: LeaseAcquisition
  /** Mode of the lease that the agent had on the key before; undefined where it had none. */
  readonly formerMode: LockMode | undefined
  readonly #table: LockTable
  #lease: LeaseAcquisition | undefined
  #error: unknown
  #onPosition: OnPosition
  #settle: (() => void) | undefined

  constructor(
    request: LockRequest,
    options: LeaseWaitOptions,
    now: number,
    { former, table }: { former: LockMode | undefined; table: LockTable }
  ) {
    this.formerMode = former
    this.#table = table
    this.#onPosition = options.onPosition
    this.acquisition = new LeaseAcquisition(
      request,
      options,
      now,
      (lease) => {
        this.#lease = lease
        this.#tell()
      },
      (error) => this.refuse(error)
    )
    if (options.onPosition !== undefined)
      this.acquisition.onPosition = (position, total) => this.#onPosition?.(position, total)
    this.acquisition.onPark = () => this.#tell()
  }

  get key(): string {
    return this.acquisition.key
  }

  /** Undefined until it is granted. It may have ended since. */
  get lease(): Lease | undefined {
    return this.#lease
  }

  /** Why it was refused; undefined otherwise. */
  get error(): unknown {
    return this.#error
  }

  get isWaiting(): boolean {
    return this.acquisition.state === 'waiting'
  }

  /** True from the end of its timeout until somebody waits for it again, granted meanwhile or not. */
  get isParked(): boolean {
    return this.acquisition.isParked
  }

  enter(now: number): void {
    this.#table.enter(this.acquisition, now)
    if (this.isWaiting) this.#table.endInTime(this.acquisition)
  }

  refuse(error: unknown): void {
    this.#error = error
    this.#tell()
  }

  /** Resolves when it has been granted, refused or parked. */
  async settled(): Promise<void> {
    while (this.isWaiting && !this.isParked) await new Promise<void>((resolve) => (this.#settle = resolve))
  }

  /** Somebody waits for it again. Positions are told only where they were asked for from the start. */
  resume({ timeoutMs, graceMs, onPosition }: Pick<LeaseWaitOptions, 'timeoutMs' | 'graceMs' | 'onPosition'>): void {
    this.#onPosition = onPosition
    this.acquisition.graceMs = requireDuration('graceMs', graceMs)
    this.#table.resume(this.acquisition, requireDuration('timeoutMs', timeoutMs))
  }

  /** What it has brought is kept no longer than a place would be, until somebody waits for it again. */
  keepForGrace(): void {
    if (this.#lease === this.acquisition) this.#table.keepForGrace(this.acquisition)
  }

  /** Leaves the queue; does nothing once it is granted. */
  cancel(cause?: unknown): void {
    this.#table.fail(this.acquisition, cancelled(this.acquisition, cause))
  }

  /** Leaves the queue, or gives back what it has brought: the lease, or its stronger mode. */
  undo(cause?: unknown): void {
    this.cancel(cause)
    if (this.#lease === this.acquisition) this.#table.endLease(this.acquisition)
    else if (this.formerMode === 'shared' && this.#lease?.mode === 'exclusive') this.#table.weaken(this.#lease)
  }

  #tell(): void {
    this.#settle?.()
    this.#settle = undefined
  }
}
