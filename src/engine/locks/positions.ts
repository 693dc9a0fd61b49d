// Reports positions to those waiters of one queue that asked for them.

export interface Standing {
  /** Order of joining the queue. */
  readonly ticket: number
  readonly onPosition: (position: number, total: number) => void
  position: number
  reportedPosition: number
  reportedTotal: number
}

/**
 * Positions are counted down for the listeners only, so that waiters that did not ask cost nothing. Listeners are called
 * from a microtask: several changes in one tick become one call, and no foreign code runs during a change of the queue.
 */
export class Positions {
  readonly #listeners = new Set<Standing>()
  #total = 0
  #isReporting = false

  add(listener: Standing): void {
    this.#listeners.add(listener)
  }

  delete(listener: Standing): void {
    this.#listeners.delete(listener)
  }

  /** A waiter joined the end of the queue, or a listener came; the queue has `total` waiters. */
  changed(total: number): void {
    this.#total = total
    this.#reportSoon()
  }

  /** The waiter with this ticket left the queue, which now has `total` waiters. */
  left(ticket: number, total: number): void {
    this.#total = total
    for (const listener of this.#listeners) if (listener.ticket > ticket) listener.position -= 1
    this.#reportSoon()
  }

  #reportSoon(): void {
    if (this.#isReporting || this.#listeners.size === 0) return
    this.#isReporting = true
    queueMicrotask(() => this.#report())
  }

  /** A waiter that was granted or failed since then is no longer among the listeners, so it is not called. */
  #report(): void {
    this.#isReporting = false
    for (const listener of this.#listeners) {
      const { position, onPosition } = listener
      if (listener.reportedPosition === position && listener.reportedTotal === this.#total) continue
      listener.reportedPosition = position
      listener.reportedTotal = this.#total
      onPosition(position, this.#total)
    }
  }
}
