// Random actors on a few keys, their steps interleaved by fast-check's scheduler, every step checked by the observer.
import assert from 'node:assert/strict'
import { once } from 'node:events'
import { Worker } from 'node:worker_threads'
import fc from 'fast-check'
import { installed } from '../../../src/support/installation.ts'
import type { Lock } from '../../../src/engine/locks/lock.ts'
import { createLockWorld, settled, type CreateLockManager, type LockWorld } from './lock-world.ts'
import { createTableObserver, type TableObserver } from './table-observer.ts'

const keys = ['a', 'b', 'c'] as const

const actorPlan = fc.record({
  requests: fc.uniqueArray(
    fc.record({ key: fc.constantFrom(...keys), mode: fc.constantFrom('shared' as const, 'exclusive' as const) }),
    { minLength: 1, maxLength: 2, selector: ({ key }) => key }
  ),
  timeoutMs: fc.constantFrom(0, 10, 30, 1000),
  ttlMs: fc.constantFrom(10, 30, 1000),
  aborts: fc.boolean(),
  end: fc.constantFrom('release' as const, 'twice' as const, 'by token' as const, 'never' as const)
})

const passage = fc.record({ ms: fc.constantFrom(1, 10, 30), stalls: fc.boolean() })

type ValueOf<Of> = Of extends fc.Arbitrary<infer Value> ? Value : never

interface Stage {
  readonly world: LockWorld
  readonly observer: TableObserver
  readonly scheduler: fc.Scheduler
}

interface Actor extends Stage, ValueOf<typeof actorPlan> {
  readonly name: string
}

/** An actor whose acquire was granted. */
interface Holder extends Actor {
  readonly lock: Lock
  readonly askedAt: number
}

/** Rejects with fast-check's report, seed and shrunken schedule included, if some schedule breaks an invariant. */
export function checkSchedules(create: CreateLockManager, parameters: fc.Parameters<unknown>): Promise<void> {
  const actors = fc.array(actorPlan, { minLength: 2, maxLength: 6 })
  const passages = fc.array(passage, { maxLength: 4 })
  const property = fc.asyncProperty(fc.scheduler(), actors, passages, async (scheduler, actors, passages) => {
    const world = createLockWorld(create, { maxWaitersPerKey: 3 })
    const stage = { world, scheduler, observer: createTableObserver(world) }
    const runs = [
      ...actors.map((plan, index) => act({ ...stage, ...plan, name: `x${index}` })),
      ...passages.map((passage) => pass(passage, stage))
    ]
    await finish(runs, stage)
  })
  return fc.assert(property, parameters)
}

/** Either check in a thread of its own, where tap's async hooks do not make every promise four times as dear. */
export async function checkInThread(
  check: 'schedules' | 'histories',
  managerUrl: URL,
  parameters: fc.Parameters<unknown>
): Promise<void> {
  const worker = new Worker(installed(`dist/suites/harness/locks/${check}-thread.js`), {
    workerData: { managerUrl: managerUrl.href, parameters },
    execArgv: []
  })
  // The 'error' event, with the report as its message, makes once() reject.
  const [exitCode] = await once(worker, 'exit')
  assert.equal(exitCode, 0)
}

/** Lets the time pass until nobody waits, then looks whether everybody came to an end and nothing is left. */
async function finish(runs: readonly Promise<void>[], { world, observer, scheduler }: Stage): Promise<void> {
  let finished = 0
  const faults: unknown[] = []
  for (const run of runs) {
    run.then(
      () => (finished += 1),
      (fault: unknown) => faults.push(fault)
    )
  }
  for (let round = 0; round < 4; round += 1) {
    await scheduler.waitIdle()
    if (faults.length > 0) throw faults[0]
    observer.step(() => world.clock.advance(10_000))
  }
  await settled()
  assert.equal(finished, runs.length, 'an acquire never settled')
  world.assertEmpty()
}

async function pass({ ms, stalls }: ValueOf<typeof passage>, { world, observer, scheduler }: Stage): Promise<void> {
  await scheduler.schedule(Promise.resolve(), `${stalls ? 'stall' : 'advance'} ${ms}`)
  observer.step(() => (stalls ? world.clock.stall(ms) : world.clock.advance(ms)))
}

async function act(actor: Actor): Promise<void> {
  const { name, requests, timeoutMs, ttlMs, aborts, world, observer, scheduler } = actor
  await scheduler.schedule(Promise.resolve(), `${name} starts`)
  observer.expect(name, requests.map(({ key }) => key).toSorted())
  const askedAt = world.clock.now()
  const attempt = observer.step(() => {
    const paths = requests.map(({ key, mode }) => ({ key, mode, path: key }))
    return world.ask(name, paths, { timeoutMs, ttlMs })
  })
  const abort = async () => {
    await scheduler.schedule(Promise.resolve(), `${name} aborts`)
    const isWaiting = keys.some((key) => world.waiters(key).includes(name))
    const heldKeys = keysHeldBy(actor)
    observer.step(() => attempt.controller.abort())
    if (isWaiting) assertGone(actor)
    else assert.deepEqual(keysHeldBy(actor), heldKeys, `${name} was cancelled after its grant`)
  }
  const outcome = attempt.promise.then(
    (lock) => holdAndEnd({ ...actor, lock, askedAt }),
    () => assertGone(actor)
  )
  await Promise.all([outcome, aborts && abort()])
}

async function holdAndEnd(holder: Holder): Promise<void> {
  const { name, lock, askedAt, ttlMs, end, world, observer, scheduler } = holder
  const { signal } = lock
  const releaseByToken = (key: string) => observer.step(() => world.locks.release(key, lock.fencingToken))
  for (const moment of ['wakes', 'works']) {
    await scheduler.schedule(Promise.resolve(), `${name} ${moment}`)
    const held = observer.step(() => isHeld(lock))
    assert.equal(signal.aborted, !held)
    if (!held) {
      assert(world.clock.now() >= askedAt + ttlMs, `${name} lost its lock too early`)
      return assertGone(holder)
    }
    for (const key of keys) {
      if (lock.keys.includes(key)) assert(world.holders(key).includes(name), `${name} believes it holds ${key}`)
      else assert(!releaseByToken(key), 'a wrong release was accepted')
    }
  }
  if (end === 'never') return
  if (end === 'by token') {
    observer.excuse(name)
    for (const key of lock.keys) assert(releaseByToken(key), 'a right release was refused')
    for (const key of lock.keys) assert(!releaseByToken(key), 'a second release was accepted')
  }
  observer.step(() => lock.release())
  assertGone(holder)
  if (end !== 'twice') return
  await scheduler.schedule(Promise.resolve(), `${name} releases again`)
  observer.step(() => lock.release())
  assert(!signal.aborted, 'a released lock expired')
}

function keysHeldBy({ name, world }: Pick<Actor, 'name' | 'world'>): string[] {
  return keys.filter((key) => world.holders(key).includes(name))
}

function isHeld(lock: Lock): boolean {
  try {
    lock.assertHeld()
    return true
  } catch {
    return false
  }
}

function assertGone({ name, world }: Pick<Actor, 'name' | 'world'>): void {
  for (const [key, , { holders, waiters }] of world.locks.entries()) {
    const isThere = [...holders, ...waiters].some(({ operation }) => operation === name)
    assert(!isThere, `${name} is over, yet stands in the queue of ${key}`)
  }
}
