// Leases: what one takes in memory, and what a grant costs, from a thousand to a hundred thousand of them; and both calls over REST.
import { createLockManager, type LockManager } from '../../src/engine/locks/lock-manager.ts'
import type { LockRequest } from '../../src/engine/locks/lock.ts'
import { measureLeaseCalls } from './lease-calls.ts'
import { withOwner } from '../owner.ts'
import { median } from '../statistics.ts'
import { figure, printTable, whole, type Row } from '../table.ts'

const sizes = [1000, 10_000, 100_000]
const rounds = 7
/** Grants a round, so that a small table is measured as long as a large one. */
const grantsPerRound = 20_000
/** Waiters in one queue: no more are let in by default. */
const queueLength = 1000
const agentCount = 100
const limits = { maxWaitersPerKey: queueLength, maxWaitersPerAgent: 1_000_000, maxLeasesPerAgent: 1_000_000 }

/** Of a lease whose end nobody waits for here. */
const ttlMs = 3_600_000

export async function leases(): Promise<void> {
  console.log('\n## leases: the lock manager alone, on one core; then over REST')
  measureMemory()
  measureGrants()
  measureQueue()
  await withOwner(measureLeaseCalls)
}

/** The same facts as an object in a map: no table of leases can do with less. */
interface Fact {
  readonly path: string
  readonly agentId: string
  readonly mode: string
  readonly fencingToken: number
  readonly endsAt: number
}

function measureMemory(): void {
  const rows = sizes.map((size) => {
    const paths = createPaths(size)
    const floor = bytesEach(size, () => createFacts(paths))
    const held = bytesEach(size, () => holdAll(createManager(), paths))
    const manager = createManager()
    holdAll(manager, paths)
    const queued = bytesEach(size, () => [
      manager,
      paths.map((path, index) => wait(manager, path, `waiter-${index % agentCount}`))
    ])
    return [whole(size), whole(floor), whole(held), figure(held / floor), whole(queued), figure(queued / floor)]
  })
  const head = ['paths', 'map entry', 'lease', 'of it', 'queued request', 'of it']
  printTable('heap, bytes each, without the path itself', head, rows)
}

function measureGrants(): void {
  const rows = sizes.map((size) => {
    const paths = createPaths(size)
    const facts = createFacts(paths)
    const manager = createManager()
    holdAll(manager, paths)
    const others = createPaths(grantsPerRound, 'other')
    const floor: number[] = []
    const tries: number[] = []
    const handed: number[] = []
    for (let round = 0; round <= rounds; round += 1) {
      const costs = {
        floor: eachUs(others, (path) => facts.set(path, toFact(path, 'agent')) && facts.delete(path)),
        tried: eachUs(others, (path) => {
          take(manager, path, 'agent')
          manager.leases.release(path, 'agent')
        }),
        handed: handOver(manager, paths)
      }
      if (round === 0) continue
      floor.push(costs.floor)
      tries.push(costs.tried)
      handed.push(costs.handed)
    }
    const ratio = (costs: readonly number[]) => figure(median(costs.map((cost, round) => cost / (floor[round] ?? NaN))))
    return [
      whole(size),
      figure(median(floor)),
      figure(median(tries)),
      ratio(tries),
      figure(median(handed)),
      ratio(handed)
    ]
  })
  const head = ['paths leased', 'map entry us', 'try + release us', 'times that', 'release + grant us', 'times that']
  printTable('time each, in a table of so many leases', head, rows)
}

/** Somebody waits for each of some leases; released, they are his. And back again. */
function handOver(manager: LockManager, paths: readonly string[]): number {
  const some = paths.slice(0, grantsPerRound / 2)
  const repeats = grantsPerRound / 2 / some.length
  let total = 0
  for (let repeat = 0; repeat < repeats; repeat += 1) {
    for (const [holder, next] of [['holder', 'next'] as const, ['next', 'holder'] as const]) {
      for (const [index, path] of some.entries()) wait(manager, path, `${next}-${index % agentCount}`)
      total += eachUs(some, (path, index) => manager.leases.release(path, `${holder}-${index % agentCount}`))
    }
  }
  return total / repeats / 2
}

/** All wait for one path; each gives it to the next. Also where each of them holds a lease elsewhere, which somebody might wait for. */
function measureQueue(): void {
  const rows = [10, 100, queueLength].flatMap((length) =>
    [false, true].map((isHolding): Row => {
      const join: number[] = []
      const grant: number[] = []
      for (let round = 0; round <= rounds; round += 1) {
        const agents = Array.from({ length }, (_, index) => `agent-${index}`)
        const manager = createManager()
        take(manager, '/root/file', 'first')
        if (isHolding) for (const agent of agents) take(manager, `/root/of-${agent}`, agent)
        const joined = eachUs(agents, (agent) => wait(manager, '/root/file', agent))
        const granted = eachUs(['first', ...agents.slice(0, -1)], (agent) =>
          manager.leases.release('/root/file', agent)
        )
        if (manager.leases.find('/root/file', agents.at(-1)) === undefined)
          throw new Error('the last one was not granted')
        if (round === 0) continue
        join.push(joined)
        grant.push(granted)
      }
      const who = isHolding ? 'holding another lease each' : 'holding nothing'
      return [`${whole(length)}, ${who}`, figure(median(join)), figure(median(grant))]
    })
  )
  printTable('one queue of lease requests', ['waiters', 'join us', 'release + grant us'], rows)
}

function createManager(): LockManager {
  return createLockManager({ limits })
}

function createPaths(count: number, folder = 'src'): string[] {
  // Through a buffer: a string of its own, not one that points to its parts.
  return Array.from({ length: count }, (_, index) => Buffer.from(`/root/${folder}/file-${index}.ts`).toString())
}

function createFacts(paths: readonly string[]): Map<string, Fact> {
  return new Map(paths.map((path, index) => [path, toFact(path, `holder-${index % agentCount}`)]))
}

function toFact(path: string, agentId: string): Fact {
  return { path, agentId, mode: 'exclusive', fencingToken: 1, endsAt: 1 }
}

function toRequestOf(path: string): LockRequest {
  return { key: path, path, mode: 'exclusive' }
}

function holdAll(manager: LockManager, paths: readonly string[]): LockManager {
  for (const [index, path] of paths.entries()) take(manager, path, `holder-${index % agentCount}`)
  return manager
}

function take(manager: LockManager, path: string, agentId: string): void {
  const request = manager.leases.tryRequest(toRequestOf(path), { operation: 'lock_try', agentId, ttlMs })
  if (request?.lease === undefined) throw new Error(`${path} was not free`)
}

/** @returns what its caller keeps of it */
function wait(manager: LockManager, path: string, agentId: string): unknown {
  return manager.leases.request(toRequestOf(path), {
    operation: 'lock_wait',
    agentId,
    ttlMs,
    timeoutMs: ttlMs,
    graceMs: 0
  })
}

function eachUs(paths: readonly string[], once: (path: string, index: number) => void): number {
  const start = performance.now()
  for (const [index, path] of paths.entries()) once(path, index)
  return ((performance.now() - start) * 1000) / paths.length
}

/** What stays after garbage collection of what is made. */
function bytesEach(count: number, make: () => unknown): number {
  if (globalThis.gc === undefined) return NaN
  globalThis.gc()
  const before = process.memoryUsage().heapUsed
  const made = make()
  globalThis.gc()
  const bytes = process.memoryUsage().heapUsed - before
  if (made === undefined) throw new Error('nothing was made')
  return bytes / count
}
