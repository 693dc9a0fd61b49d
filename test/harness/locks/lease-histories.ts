// Random histories of agents, leases and operations on a few keys, run through the lock manager and through the model side by side:
// after each step both must show the same table, and in the end both must have refused the same requests for the same reasons.
import assert from 'node:assert/strict'
import fc from 'fast-check'
import { isOperationError } from './is-operation-error.ts'
import { LeaseModel } from './lease-model.ts'
import type { ModelRequest } from './lease-rules.ts'
import { blockersIn, doConflict } from './lease-rules.ts'
import { createLeaseWorld, type LeaseRequest, type LeaseWorld } from './lease-world.ts'
import { settled, type Attempt, type CreateLockManager } from './lock-world.ts'

const keys = ['a', 'b', 'c', 'd'] as const

const key = fc.constantFrom(...keys)
const agentId = fc.constantFrom('A', 'B', 'C', 'D')
const mode = fc.constantFrom('shared' as const, 'exclusive' as const)
const ttlMs = fc.constantFrom(30, 1000, 100_000)
const timeoutMs = fc.constantFrom(0, 20, 10_000, 10_000)
/** Picks one of those that there are when its turn comes. */
const pick = fc.nat({ max: 60 })

const step = fc.oneof(
  {
    weight: 9,
    arbitrary: fc.record({
      do: fc.constant('lease' as const),
      agentId,
      key,
      mode,
      timeoutMs,
      ttlMs,
      graceMs: fc.constantFrom(0, 40)
    })
  },
  {
    weight: 6,
    arbitrary: fc.record({
      do: fc.constant('operate' as const),
      agentId: fc.option(agentId, { nil: undefined, freq: 6 }),
      keys: fc.uniqueArray(fc.record({ key, mode }), { minLength: 1, maxLength: 2, selector: ({ key }) => key }),
      timeoutMs,
      ttlMs
    })
  },
  { weight: 4, arbitrary: fc.record({ do: fc.constant('finish' as const), pick }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constant('finish one key' as const), pick, key }) },
  { weight: 3, arbitrary: fc.record({ do: fc.constant('release' as const), agentId, key }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constant('release all' as const), agentId }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constant('renew' as const), agentId, key, ttlMs }) },
  { weight: 2, arbitrary: fc.record({ do: fc.constant('cancel' as const), pick }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constant('undo' as const), pick }) },
  {
    weight: 1,
    arbitrary: fc.record({ do: fc.constant('resume' as const), pick, timeoutMs: fc.constantFrom(20, 10_000) })
  },
  { weight: 1, arbitrary: fc.record({ do: fc.constant('break' as const), key }) },
  { weight: 2, arbitrary: fc.record({ do: fc.constant('advance' as const), ms: fc.constantFrom(1, 10, 30, 100) }) }
)

type Step = typeof step extends fc.Arbitrary<infer Value> ? Value : never

interface Stage {
  readonly world: LeaseWorld
  readonly model: LeaseModel
  readonly operations: Map<ModelRequest, Attempt>
  readonly leases: Map<ModelRequest, LeaseRequest>
}

/** Rejects with fast-check's report, seed and shrunken history included, if the manager and the model disagree. */
export function checkHistories(create: CreateLockManager, parameters: fc.Parameters<unknown>): Promise<void> {
  const steps = fc.array(step, { minLength: 1, maxLength: 30, size: 'max' })
  const leasesBind = fc.nat({ max: 9 }).map((number) => number > 0)
  const property = fc.asyncProperty(steps, leasesBind, async (steps, leasesBindOperations) => {
    const world = createLeaseWorld(create, {}, { leasesBindOperations })
    const model = new LeaseModel(world.clock.now(), leasesBindOperations)
    const stage: Stage = { world, model, operations: new Map(), leases: new Map() }
    for (const step of steps) {
      await take(step, stage)
      assertSame(stage)
    }
    await letAllFinish(stage)
    await settled()
    assertSameRefusals(stage)
    assert.deepEqual(world.ends, model.ends, 'ends told')
    world.clock.advance(1_000_000)
    world.assertEmpty()
  })
  return fc.assert(property, parameters as fc.Parameters<[Step[], boolean]>)
}

async function take(step: Step, stage: Stage): Promise<void> {
  const { world, model, operations, leases } = stage
  const { locks, clock } = world
  const name = `x${model.requests.length}`
  switch (step.do) {
    case 'lease': {
      const { key, mode, do: _, ...options } = step
      const request = locks.leases.request({ key, path: key, mode }, { operation: name, ...options })
      model.ask({ name, isLease: true, keys: [{ key, mode }], ...options })
      leases.set(last(model), request)
      return
    }
    case 'operate': {
      const { keys, do: _, ...options } = step
      const attempt = world.ask(
        name,
        keys.map(({ key, mode }) => ({ key, path: key, mode })),
        options
      )
      model.ask({ name, isLease: false, keys, graceMs: 0, ...options })
      operations.set(last(model), attempt)
      return
    }
    case 'finish': {
      const request = pickFrom(operations.keys(), isHeld, step.pick)
      return request && finish(request, stage)
    }
    case 'finish one key': {
      const request = pickFrom(operations.keys(), isHeld, step.pick)
      if (request?.token === undefined) return
      const isThere = locks.release(step.key, request.token)
      assert.equal(isThere, model.lines.get(step.key)?.holders.some((place) => place.request === request) ?? false)
      if (isThere) model.releaseKey(request, step.key)
      return
    }
    case 'release': {
      const lease = model.leaseOf(step.key, step.agentId)
      assert.equal(locks.leases.release(step.key, step.agentId), lease !== undefined)
      return lease && model.release(lease)
    }
    case 'release all': {
      const held = model.leasesOf(step.agentId)
      assert.equal(locks.leases.releaseAll(step.agentId), held.length)
      for (const lease of held) model.release(lease)
      return
    }
    case 'renew': {
      const lease = model.leaseOf(step.key, step.agentId)
      assert.equal(locks.leases.renew(step.key, step.agentId, step.ttlMs) !== undefined, lease !== undefined)
      return lease && model.renew(lease, step.ttlMs)
    }
    case 'cancel': {
      const request = pickFrom(model.requests, ({ state }) => state === 'waiting', step.pick)
      if (request === undefined) return
      operations.get(request)?.controller.abort()
      leases.get(request)?.cancel()
      return model.cancel(request)
    }
    case 'undo': {
      const request = pickFrom(leases.keys(), () => true, step.pick)
      if (request === undefined) return
      leases.get(request)?.undo()
      return model.undo(request)
    }
    case 'resume': {
      const request = pickFrom(leases.keys(), ({ isParked }) => isParked, step.pick)
      if (request === undefined) return
      leases.get(request)?.resume({ timeoutMs: step.timeoutMs })
      return model.resume(request, step.timeoutMs)
    }
    case 'break': {
      locks.leases.break(step.key, { cause: 'broken', reason: 'it is in the way', by: undefined })
      return model.breakLeases(step.key)
    }
    case 'advance': {
      clock.advance(step.ms)
      return model.advance(step.ms)
    }
  }
}

/** Without any time passing: operations end, agents that wait for nothing let go of their leases, until all are served. */
async function letAllFinish(stage: Stage): Promise<void> {
  const { world, model, operations } = stage
  for (;;) {
    const running = [...operations.keys()].filter(isHeld)
    for (const request of running) {
      await finish(request, stage)
      assertSame(stage)
    }
    if (running.length > 0) continue
    const isWaiting = (agentId: string | undefined) =>
      model.requests.some((request) => request.agentId === agentId && request.state === 'waiting')
    const lease = model.requests.find((request) => request.state === 'held' && !isWaiting(request.agentId))
    if (lease?.agentId === undefined) break
    world.locks.leases.releaseAll(lease.agentId)
    for (const held of model.leasesOf(lease.agentId)) model.release(held)
    assertSame(stage)
  }
  assert.deepEqual(tableOf(world), [], 'somebody waits in a circle that nobody was told of')
}

async function finish(
  request: ModelRequest,
  { operations, model }: Pick<Stage, 'operations' | 'model'>
): Promise<void> {
  const attempt = operations.get(request)
  await Promise.race([attempt?.promise, settled()])
  attempt?.lock.release()
  model.release(request)
}

function assertSame({ world, model }: Stage): void {
  assert.deepEqual(tableOf(world), tableOfModel(model))
  for (const [, line] of model.lines) {
    for (const [index, holder] of line.holders.entries())
      for (const other of line.holders.slice(index + 1))
        assert(!doConflict(model, holder, other), 'two hold that conflict')
    for (const waiter of line.waiters)
      assert(blockersIn(model, line, waiter).length > 0, 'somebody waits who could be granted')
  }
}

function assertSameRefusals({ operations, leases }: Stage): void {
  for (const [request, attempt] of operations)
    assertRefused(request, attempt.outcome === 'failed' ? attempt.error : undefined)
  for (const [request, { error, lease }] of leases) {
    assertRefused(request, error)
    assert.equal(lease?.fencingToken, request.lease?.token)
  }
}

function assertRefused({ name, code, circle }: ModelRequest, error: unknown): void {
  const refusal = isOperationError(error) ? error : undefined
  assert.equal(refusal?.code, code, `${name}: ${String(error)}`)
  if (refusal?.code !== 'DEADLOCK' || circle === undefined) return
  const cycle = String(refusal.details?.['cycle'])
  const parts = cycle.split(' -> ')
  assert.equal(parts.length, 2 * circle.shortest + 1, `${cycle}: there is a shorter one`)
  for (let at = 0; at + 2 < parts.length; at += 2) {
    const edge = parts.slice(at, at + 3).join(' -> ')
    assert(circle.edges.has(edge), `${cycle}: nobody waits as in ${edge}`)
  }
}

function tableOf({ locks }: LeaseWorld): unknown[] {
  const entries = [...locks.entries()].sort(([one], [other]) => (one < other ? -1 : 1))
  return entries.map(([key, , { holders, waiters }]) => ({
    key,
    holders: holders.map(({ operation, mode, fencingToken, expiresAt }) => [operation, mode, fencingToken, expiresAt]),
    waiters: waiters.map(({ operation, mode, isParked, timeoutAt }) => [operation, mode, isParked, timeoutAt])
  }))
}

function tableOfModel({ lines }: LeaseModel): unknown[] {
  const used = [...lines].filter(([, { holders, waiters }]) => holders.length + waiters.length > 0)
  return used
    .sort(([one], [other]) => (one < other ? -1 : 1))
    .map(([key, { holders, waiters }]) => ({
      key,
      holders: holders.map(({ request: { name, token, endsAt }, mode }) => [
        name,
        mode,
        token,
        token === undefined ? undefined : endsAt
      ]),
      waiters: waiters.map(({ request: { name, isParked, timeoutAt }, mode }) => [name, mode, isParked, timeoutAt])
    }))
}

function isHeld({ state, isLease }: ModelRequest): boolean {
  return state === 'held' && !isLease
}

function pickFrom(
  requests: Iterable<ModelRequest>,
  isWanted: (request: ModelRequest) => boolean,
  pick: number
): ModelRequest | undefined {
  const wanted = [...requests].filter(isWanted)
  return wanted[pick % wanted.length]
}

function last({ requests }: LeaseModel): ModelRequest {
  const request = requests.at(-1)
  assert(request)
  return request
}
