// Everything in the lock table that ends by itself (a waiter at its timeout, a lock at its TTL), under one timer.
import type { Clock } from './clock.ts'

/** All fields belong to Deadlines while the entry is in it. */
export interface Deadline {
  dueAt: number
  /** Index in the heap; -1 outside. */
  slot: number
  /** Of two that end in the same millisecond, the one added first ends first. */
  ticket: number
}

/** The longest delay that Node's timers take; a longer one would fire at once. */
const longestDelayMs = 2 ** 31 - 1

/**
 * A binary heap and one timer. The usual lock is granted and released within a millisecond, thousands of times a second;
 * a timer of its own would make that grant a third slower (measured on Node 20). Here a release leaves the timer armed,
 * and a ring that finds nothing due arms it for what is then the earliest end: a busy server arms it once a TTL. The
 * order of the heap is also what lets `catchUp` end everything in turn when the timer comes late.
 * Invariant: the timer is never armed for later than the earliest end, so every end is prompt.
 */
export class Deadlines<Entry extends Deadline> {
  readonly #clock: Clock
  readonly #onEnd: (entry: Entry) => void
  readonly #heap: Entry[] = []
  #tickets = 0
  #timer: unknown
  #armedFor = Infinity

  constructor(clock: Clock, onEnd: (entry: Entry) => void) {
    this.#clock = clock
    this.#onEnd = onEnd
  }

  /** Adds the entry, or moves it. */
  set(entry: Entry, dueAt: number): void {
    this.delete(entry)
    entry.dueAt = dueAt
    this.#tickets += 1
    entry.ticket = this.#tickets
    this.#lift(entry, this.#heap.length)
    if (entry.dueAt < this.#armedFor) this.#arm(entry.dueAt)
  }

  /** Does nothing for an entry that is not in it. */
  delete(entry: Entry): void {
    const { slot } = entry
    if (slot === -1) return
    entry.slot = -1
    const last = this.#heap.pop()
    if (last === undefined || last === entry) return
    this.#sink(last, slot)
    this.#lift(last, last.slot)
  }

  /** Ends what is overdue although a busy event loop has kept the timer from ringing. */
  catchUp(now: number): void {
    if (now >= this.#armedFor) this.#ring()
  }

  #ring(): void {
    const now = this.#clock.now()
    // An end may add and delete others, and may catch up: so the earliest is looked up anew each time, and #armedFor
    // stays in the past until all that is due has ended.
    for (let earliest = this.#heap[0]; earliest !== undefined; earliest = this.#heap[0]) {
      if (earliest.dueAt > now) return this.#arm(earliest.dueAt)
      this.delete(earliest)
      this.#onEnd(earliest)
    }
    this.#disarm()
  }

  #arm(dueAt: number): void {
    this.#disarm()
    this.#armedFor = dueAt
    const delay = Math.min(Math.ceil(dueAt - this.#clock.now()), longestDelayMs)
    this.#timer = this.#clock.setTimeout(() => this.#ring(), delay)
  }

  #disarm(): void {
    if (this.#timer !== undefined) this.#clock.clear(this.#timer)
    this.#timer = undefined
    this.#armedFor = Infinity
  }

  /** Puts the entry at the slot or above it, wherever its parent does not end later. */
  #lift(entry: Entry, from: number): void {
    let slot = from
    while (slot > 0) {
      const parentSlot = (slot - 1) >> 1
      const parent = this.#heap[parentSlot]
      if (parent === undefined || isBefore(parent, entry)) break
      this.#put(parent, slot)
      slot = parentSlot
    }
    this.#put(entry, slot)
  }

  /** Puts the entry at the slot or below it, wherever no child ends earlier. */
  #sink(entry: Entry, from: number): void {
    let slot = from
    for (;;) {
      const left = this.#heap[2 * slot + 1]
      const right = this.#heap[2 * slot + 2]
      const child = left !== undefined && right !== undefined && isBefore(right, left) ? right : left
      if (child === undefined || isBefore(entry, child)) break
      const childSlot = child.slot
      this.#put(child, slot)
      slot = childSlot
    }
    this.#put(entry, slot)
  }

  #put(entry: Entry, slot: number): void {
    this.#heap[slot] = entry
    entry.slot = slot
  }
}

function isBefore(one: Deadline, other: Deadline): boolean {
  return one.dueAt < other.dueAt || (one.dueAt === other.dueAt && one.ticket < other.ticket)
}
