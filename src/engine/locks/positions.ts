// Reports positions to those waiters of one queue that asked for them.

export interface Standing {
  /** Order of joining the queue. */
  readonly ticket: number
  readonly onPosition: (position: number, total: number) => void
  position: number
  toldPosition: number
  toldTotal: number
}

/**
 * Positions are counted down for the listeners only, so that waiters that did not ask cost nothing. Listeners are called
 * from a microtask: several changes in one tick become one call, and no foreign code runs during a change of the queue.
 */
export class Positions {
  /** In queue order. */
  readonly #listeners = new Set<Standing>()
  #total = 0
  #isTelling = false

  add(listener: Standing): void {
    this.#listeners.add(listener)
  }

  delete(listener: Standing): void {
    this.#listeners.delete(listener)
  }

  /** A waiter joined the end of the queue, which now has `total` waiters. */
  joined(total: number): void {
    this.#total = total
    this.#notifySoon()
  }

  /** The waiter with this ticket left the queue, which now has `total` waiters. */
  left(ticket: number, total: number): void {
    this.#total = total
    for (const listener of this.#listeners) if (listener.ticket > ticket) listener.position -= 1
    this.#notifySoon()
  }

  #notifySoon(): void {
    if (this.#isTelling || this.#listeners.size === 0) return
    this.#isTelling = true
    queueMicrotask(() => this.#tell())
  }

  /** A waiter that was granted or failed since then is no longer among the listeners, so it is not called. */
  #tell(): void {
    this.#isTelling = false
    for (const listener of this.#listeners) {
      const { position, onPosition } = listener
      if (listener.toldPosition === position && listener.toldTotal === this.#total) continue
      listener.toldPosition = position
      listener.toldTotal = this.#total
      onPosition(position, this.#total)
    }
  }
}
