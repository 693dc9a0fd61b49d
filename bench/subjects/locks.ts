// The lock manager alone: what an uncontended lock costs, what a grant costs in a long queue, what a waiter takes in memory.
import { createLockManager } from '../../src/engine/locks/lock-manager.ts'
import type { AcquireOptions, Lock, LockRequest } from '../../src/engine/locks/lock.ts'
import { median } from '../statistics.ts'
import { figure, percent, printTable, whole } from '../table.ts'

const rounds = 7
const uncontended = 100_000
const queueLengths = [10, 1000, 10_000]
/** Grants a round in all, so that short queues are measured as long as long ones. */
const grantsPerRound = 20_000
const limits = { maxWaitersPerKey: 20_000, maxWaitersPerAgent: 20_000 }

const request: LockRequest = { key: '/root/file', path: 'file', mode: 'exclusive' }
const options: AcquireOptions = { operation: 'async_update', agentId: 'agent', timeoutMs: 30_000, ttlMs: 30_000 }

export async function locks(): Promise<void> {
  console.log('\n## locks: the lock manager alone, on one core')
  await measureUncontended()
  await measureQueues()
}

/** Floor: an await and an entry in a map made and deleted, which no lock of any kind can do without. */
async function measureUncontended(): Promise<void> {
  const ours: number[] = []
  const ratios: number[] = []
  for (let round = 0; round <= rounds; round += 1) {
    const floor = await perSecond(uncontended, floorOnce())
    const { acquire } = createQueue()
    const locked = await perSecond(uncontended, async () => (await acquire()).release())
    // The first round warms up.
    if (round === 0) continue
    ours.push(locked)
    ratios.push(locked / floor)
  }
  const head = ['uncontended', 'per second', 'of an await and a map entry']
  printTable('acquire and release of an uncontended lock', head, [
    ['acquire + release', whole(median(ours)), percent(median(ratios))]
  ])
}

function floorOnce(): () => Promise<void> {
  const map = new Map<string, object>()
  return async () => {
    map.set(request.key, {})
    await Promise.resolve()
    map.delete(request.key)
  }
}

async function perSecond(count: number, once: () => Promise<void>): Promise<number> {
  const start = performance.now()
  for (let index = 0; index < count; index += 1) await once()
  return (count * 1000) / (performance.now() - start)
}

async function measureQueues(): Promise<void> {
  const rows: string[][] = []
  for (const length of queueLengths) {
    const join: number[] = []
    const grant: number[] = []
    for (let round = 0; round <= rounds; round += 1) {
      const costs = await drainQueues(length)
      if (round === 0) continue
      join.push(costs.joinUs)
      grant.push(costs.grantUs)
    }
    rows.push([whole(length), figure(median(join)), figure(median(grant)), whole(await bytesPerWaiter(length))])
  }
  const head = ['waiters', 'join us', 'grant + release us', 'bytes per waiter']
  printTable('a queue of exclusive waiters, each released as soon as it is granted', head, rows)
}

async function drainQueues(length: number): Promise<{ joinUs: number; grantUs: number }> {
  const repeats = Math.ceil(grantsPerRound / length)
  let [joinMs, grantMs] = [0, 0]
  for (let repeat = 0; repeat < repeats; repeat += 1) {
    const { acquire } = createQueue()
    const holder = await acquire()
    const joined = performance.now()
    const waiters = Array.from({ length }, () => acquire().then((lock) => lock.release()))
    const released = performance.now()
    holder.release()
    await Promise.all(waiters)
    joinMs += released - joined
    grantMs += performance.now() - released
  }
  return { joinUs: (joinMs * 1000) / (repeats * length), grantUs: (grantMs * 1000) / (repeats * length) }
}

/** The promise that the caller waits on is part of it. */
async function bytesPerWaiter(length: number): Promise<number> {
  if (globalThis.gc === undefined) return NaN
  const collect = globalThis.gc
  const copies = Math.ceil(10_000 / length)
  const queues = Array.from({ length: copies }, createQueue)
  const holders = await Promise.all(queues.map(({ acquire }) => acquire()))
  const waiters: Promise<Lock>[] = []
  collect()
  const before = process.memoryUsage().heapUsed
  for (const { acquire } of queues) for (let index = 0; index < length; index += 1) waiters.push(acquire())
  collect()
  const bytes = (process.memoryUsage().heapUsed - before) / (copies * length)
  for (const holder of holders) holder.release()
  await Promise.all(waiters.map(async (waiter) => (await waiter).release()))
  return bytes
}

function createQueue() {
  const manager = createLockManager({ limits })
  return { acquire: () => manager.acquire([request], options) }
}
