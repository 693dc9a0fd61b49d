// The Lock that a caller holds: a handle on its acquisition.
import type { Acquisition } from './acquisition.ts'
import { lockExpired, lockReleased } from './errors.ts'
import type { Lock } from './lock.ts'

/** What a lock needs from its table. */
interface Table {
  catchUp(): void
  release(acquisition: Acquisition): void
}

export class HeldLock implements Lock {
  readonly fencingToken: number
  readonly #acquisition: Acquisition
  readonly #table: Table

  /** @param acquisition has been granted */
  constructor(acquisition: Acquisition, table: Table) {
    this.fencingToken = acquisition.fencingToken as number
    this.#acquisition = acquisition
    this.#table = table
  }

  get keys(): readonly string[] {
    return this.#acquisition.entries.map((entry) => entry.key)
  }

  get signal(): AbortSignal {
    return this.#acquisition.signal
  }

  assertHeld(): void {
    this.#table.catchUp()
    if (this.#acquisition.isWhole) return
    throw this.#acquisition.state === 'expired' ? lockExpired(this.#acquisition) : lockReleased(this.#acquisition)
  }

  release(): void {
    this.#table.release(this.#acquisition)
  }

  [Symbol.dispose](): void {
    this.release()
  }
}
