// What every lock manager must hold to when leases and kept places of an earlier process are put back into its table, and when it tells of
// changes that a later process must know.
import assert from 'node:assert/strict'
import type { Lease, LeaseState, LeaseWaitOptions, PlaceState } from '../../../src/engine/locks/lock.ts'
import type { LockManagerOptions } from '../../../src/engine/locks/lock-manager.ts'
import { createFakeClock } from '../../fixtures/fake-clock.ts'
import { leaseFrom } from './lease-world.ts'
import type { CreateLockManager, LockProperty } from './lock-world.ts'

const minuteMs = 60_000

/** Two managers on one clock: what the first has given, the second gets. */
function twoProcesses(create: CreateLockManager, options: Omit<LockManagerOptions, 'clock'> = {}) {
  const clock = createFakeClock()
  const ends: string[] = []
  const onLeaseEnd: LockManagerOptions['onLeaseEnd'] = ({ agentId }, { cause }) => void ends.push(`${agentId} ${cause}`)
  const make = () => create({ clock, onLeaseEnd, ...options })
  const [before, after] = [make(), make()]
  const ask = (manager: typeof before, agentId: string, choices: Partial<LeaseWaitOptions & { mode: 'shared' }> = {}) =>
    manager.leases.request(
      { key: 'f', path: '/f', mode: choices.mode ?? 'exclusive' },
      { operation: 'lock_wait', agentId, ttlMs: 5 * minuteMs, timeoutMs: 1000, graceMs: minuteMs, ...choices }
    )
  const write = (agentId: string) =>
    after.tryAcquire([{ key: 'f', path: '/f', mode: 'exclusive' }], { operation: 'write', agentId, ttlMs: minuteMs })
  return { clock, before, after, ask, write, ends }
}

/** Plain, as it comes from a journal. */
function stateOf(lease: Lease): LeaseState {
  const { key, path, agentId, mode, operation, note, fencingToken, ttlMs, graceMs } = lease
  const { acquiredAt, expiresAt, isParked } = lease
  return { key, path, agentId, mode, operation, note, fencingToken, ttlMs, graceMs, acquiredAt, expiresAt, isParked }
}

export const leaseRestoringProperties: readonly LockProperty[] = [
  {
    title: 'a restored lease is the lease it was, keeps others out, and ends when it would have ended',
    async check(create) {
      const { clock, before, after, ask, write, ends } = twoProcesses(create)
      const { lease } = ask(before, 'A', { note: 'mine', connection: 'c1' })
      clock.advance(4 * minuteMs)
      assert(after.leases.restore(stateOf(lease as Lease)))
      const fields = ['agentId', 'mode', 'note', 'fencingToken', 'ttlMs', 'acquiredAt', 'expiresAt'] as const
      const restored = after.leases.find('f', 'A') as Lease
      for (const field of fields) assert.equal(restored[field], lease?.[field], field)
      assert.equal(restored.connection, undefined)
      assert.equal(after.leases.disconnect('c1'), 0)
      assert.equal(write('B'), undefined)
      write('A')?.release()
      assert.equal(after.summary().leases, 1)
      clock.advance(5 * minuteMs - 1)
      assert(restored.isHeld, 'the write of its agent has renewed it')
      clock.advance(1)
      assert(!restored.isHeld)
      assert.deepEqual(ends, ['A expired', 'A expired'], 'in both managers')
    }
  },
  {
    title: 'a lease that has expired, that somebody else has by now, or that is one too many is not restored',
    async check(create) {
      const { clock, before, after, ask } = twoProcesses(create, { limits: { maxLeases: 1 } })
      const { lease } = ask(before, 'A')
      const state = stateOf(lease as Lease)
      const other = ask(after, 'B', { timeoutMs: 0, graceMs: 0 })
      assert.equal(after.leases.restore(state), undefined)
      assert.equal(after.leases.restore({ ...state, key: 'g' }), undefined, 'one too many')
      assert(after.leases.release('f', 'B'))
      assert.equal(after.leases.restore({ ...state, expiresAt: clock.now() }), undefined)
      assert(after.leases.restore(state))
      assert.equal(after.leases.restore({ ...state, fencingToken: 99 }), undefined, 'its agent has it already')
      assert.equal(after.leases.find('f', 'A')?.fencingToken, state.fencingToken)
      assert(other.lease)
      assert.equal(after.summary().waiting, 0)
    }
  },
  {
    title: 'restored places are granted in their order, each kept as long as it was said',
    async check(create) {
      const { clock, before, after, ask } = twoProcesses(create)
      const held = ask(before, 'A')
      const [first, second, third] = ['B', 'C', 'D'].map((agentId) => ask(before, agentId))
      clock.advance(1000)
      assert(third?.isParked)
      after.leases.restore(stateOf(held.lease as Lease))
      const places = [first, second, third].map((request) =>
        after.leases.restorePlace(request?.placeState as PlaceState)
      )
      assert.deepEqual(
        after.status('f').waiters.map(({ agentId, isParked, queuedAt }) => [agentId, isParked, queuedAt]),
        before.status('f').waiters.map(({ agentId, isParked, queuedAt }) => [agentId, isParked, queuedAt])
      )
      places[1]?.cancel()
      after.leases.release('f', 'A')
      assert(places[0]?.lease?.isParked)
      clock.advance(minuteMs - 1)
      assert(places[2]?.isWaiting)
      places[2]?.resume({ timeoutMs: 10 * minuteMs, connection: 'c2' })
      clock.advance(1)
      assert(!places[0]?.lease?.isHeld, 'nobody has come for it')
      const { isHeld, isParked, connection } = leaseFrom(places[2])
      assert.deepEqual({ isHeld, isParked, connection }, { isHeld: true, isParked: false, connection: 'c2' })
      assert.equal(
        after.leases.restorePlace({ ...(third?.placeState as PlaceState), keptUntil: clock.now() }),
        undefined
      )
    }
  },
  {
    title: 'where the clock was set back, what is restored lasts no longer than it was given',
    async check(create) {
      const dayMs = 24 * 60 * minuteMs
      const { clock, before, after, ask } = twoProcesses(create)
      const { lease } = ask(before, 'A')
      const place = ask(before, 'B')
      clock.advance(1000)
      const state = stateOf(lease as Lease)
      const acquiredAt = state.acquiredAt + dayMs
      after.leases.restore({ ...state, acquiredAt, expiresAt: state.expiresAt + dayMs })
      const restored = after.leases.find('f', 'A') as Lease
      assert.equal(restored.acquiredAt, clock.now())
      assert.equal(restored.expiresAt, clock.now() + 5 * minuteMs)
      const { queuedAt, keptUntil, ...others } = place.placeState as PlaceState
      const waiting = after.leases.restorePlace({ ...others, queuedAt: queuedAt + dayMs, keptUntil: keptUntil + dayMs })
      assert.deepEqual(
        after.status('f').waiters.map(({ agentId, queuedAt }) => [agentId, queuedAt]),
        [['B', clock.now()]]
      )
      clock.advance(keptUntil - queuedAt)
      assert(!waiting?.isWaiting)
    }
  },
  {
    title: 'whoever listens is told of each change of a lease, once it is made, and of places that are given up',
    async check(create) {
      const { clock, before, ask } = twoProcesses(create)
      const told: string[] = []
      const end = before.leases.onChange(({ agentId, isHeld, mode, expiresAt, fencingToken }) =>
        told.push(
          `${agentId} ${fencingToken ?? 'none'} ${isHeld ? mode : 'gone'} ${(expiresAt - clock.now()) / minuteMs}`
        )
      )
      const said = () => told.splice(0)
      ask(before, 'A', { mode: 'shared' })
      assert.deepEqual(said(), ['A 1 shared 5'])
      const exclusive = ask(before, 'A')
      assert.equal(said().at(-1), 'A 1 exclusive 5')
      exclusive.undo()
      assert.equal(said().at(-1), 'A 1 shared 5')
      clock.advance(minuteMs)
      before.leases.renew('f', 'A')
      assert.deepEqual(said(), ['A 1 shared 5'])
      ask(before, 'B')
      clock.advance(1000)
      assert.deepEqual(said(), [])
      clock.advance(minuteMs)
      assert.match(said().join(), /^B none gone/)
      clock.advance(5 * minuteMs)
      assert.deepEqual(said(), ['A 1 gone 0'])
      ask(before, 'C')
      before.leases.release('f', 'C')
      assert.deepEqual(said(), ['C 2 exclusive 5', 'C 2 gone 5'])
      end()
      ask(before, 'D')
      assert.deepEqual(said(), [])
    }
  }
]
