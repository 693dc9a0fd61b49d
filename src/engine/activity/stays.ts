// Leases that were held, and requests that waited, from when until when: bounded, in memory alone.
import type { LeaseManager } from '../locks/lease-manager.ts'
import { systemClock } from '../locks/clock.ts'
import type { LockManager } from '../locks/lock-manager.ts'
import type { Lease, LockMode } from '../locks/lock.ts'

export interface Stay {
  readonly path: string
  readonly agentId: string | undefined
  /** Undefined for a request that waited. */
  readonly mode: LockMode | undefined
  readonly note?: string | undefined
  /** Milliseconds since the epoch. */
  readonly from: number
  readonly to: number
}

/** That have ended, the latest of them. */
const maxStays = 20_000

export function createStays(now = Date.now) {
  let ended: Stay[] = []
  let knownSince = now()
  /** When each lease began that is held. */
  const since = new WeakMap<Lease, number>()

  /** Cut by halves: shifting a long list for each would cost more than all the rest. */
  function add(stay: Stay): void {
    ended.push(stay)
    if (ended.length < 2 * maxStays) return
    knownSince = ended[maxStays - 1]?.to ?? knownSince
    ended = ended.slice(-maxStays)
  }

  return {
    /** Milliseconds since the epoch; what ended before is not all known. */
    get knownSince(): number {
      return knownSince
    },
    add,
    /** Those that have ended and are still known, oldest first. */
    ended: (): readonly Stay[] => ended,
    /** Notes each lease that ends. @returns ends it */
    follow(leases: LeaseManager): () => void {
      return leases.onChange((lease) => {
        const { path, agentId, mode, note } = lease
        const from = since.get(lease)
        if (lease.isHeld) since.set(lease, from ?? wallTime(lease.acquiredAt, now()))
        // A place in line that was given up was no lease.
        else if (since.delete(lease) && from !== undefined) add({ path, agentId, mode, note, from, to: now() })
      })
    },
    /** Those at a time, whether they have ended since or not. */
    *at(time: number, locks: LockManager): Generator<Stay> {
      for (const stay of ended) if (stay.from <= time && time <= stay.to) yield stay
      for (const stay of present(locks, since, now())) if (stay.from <= time) yield stay
    }
  }
}

function* present(locks: LockManager, since: WeakMap<Lease, number>, now: number): Generator<Stay> {
  for (const lease of locks.leases.all()) {
    const { path, agentId, mode, note, acquiredAt } = lease
    yield { path, agentId, mode, note, from: since.get(lease) ?? wallTime(acquiredAt, now), to: now }
  }
  for (const [key, path, depth] of locks.paths()) {
    if (depth === 0) continue
    for (const { agentId, note, queuedAt } of locks.status(key).waiters)
      yield { path, agentId, mode: undefined, note, from: wallTime(queuedAt, now), to: now }
  }
}

/** @param ms of the clock of the locks, which does not follow corrections of the wall clock, and ticks a little apart from it */
const wallTime = (ms: number, now: number): number => now - Math.max(0, systemClock.now() - ms)
