// Leases and kept places of an earlier process, put back into the table of a new one.
import t from 'tap'
import type { Lease, LeaseState, LeaseWaitOptions, PlaceState } from '../../../src/engine/locks/lock.ts'
import { createLockManager, type LockManagerOptions } from '../../../src/engine/locks/lock-manager.ts'
import { createFakeClock } from '../../fixtures/fake-clock.ts'

const minuteMs = 60_000

/** Two managers on one clock: what the first has given, the second gets. */
function twoProcesses(options: Omit<LockManagerOptions, 'clock'> = {}) {
  const clock = createFakeClock()
  const ends: string[] = []
  const onLeaseEnd: LockManagerOptions['onLeaseEnd'] = ({ agentId }, { cause }) => void ends.push(`${agentId} ${cause}`)
  const make = () => createLockManager({ clock, onLeaseEnd, ...options })
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

t.test('a restored lease is the lease it was, keeps others out, and ends when it would have ended', (t) => {
  const { clock, before, after, ask, write, ends } = twoProcesses()
  const { lease } = ask(before, 'A', { note: 'mine', connection: 'c1' })
  clock.advance(4 * minuteMs)
  t.ok(after.leases.restore(stateOf(lease as Lease)))
  const fields = ['agentId', 'mode', 'note', 'fencingToken', 'ttlMs', 'acquiredAt', 'expiresAt'] as const
  const restored = after.leases.find('f', 'A') as Lease
  for (const field of fields) t.equal(restored[field], lease?.[field], field)
  t.equal(restored.connection, undefined)
  t.equal(after.leases.disconnect('c1'), 0)
  t.equal(write('B'), undefined)
  write('A')?.release()
  t.equal(after.summary().leases, 1)
  clock.advance(5 * minuteMs - 1)
  t.ok(restored.isHeld, 'the write of its agent has renewed it')
  clock.advance(1)
  t.notOk(restored.isHeld)
  t.strictSame(ends, ['A expired', 'A expired'], 'in both managers')
  t.end()
})

t.test('a lease that has expired, that somebody else has by now, or that is one too many is not restored', (t) => {
  const { clock, before, after, ask } = twoProcesses({ limits: { maxLeases: 1 } })
  const { lease } = ask(before, 'A')
  const state = stateOf(lease as Lease)
  const other = ask(after, 'B', { timeoutMs: 0, graceMs: 0 })
  t.equal(after.leases.restore(state), undefined)
  t.equal(after.leases.restore({ ...state, key: 'g' }), undefined, 'one too many')
  t.ok(after.leases.release('f', 'B'))
  t.equal(after.leases.restore({ ...state, expiresAt: clock.now() }), undefined)
  t.ok(after.leases.restore(state))
  t.equal(after.leases.restore({ ...state, fencingToken: 99 }), undefined, 'its agent has it already')
  t.equal(after.leases.find('f', 'A')?.fencingToken, state.fencingToken)
  t.ok(other.lease)
  t.equal(after.summary().waiting, 0)
  t.end()
})

t.test('restored places are granted in their order, each kept as long as it was said', (t) => {
  const { clock, before, after, ask } = twoProcesses()
  const held = ask(before, 'A')
  const [first, second, third] = ['B', 'C', 'D'].map((agentId) => ask(before, agentId))
  clock.advance(1000)
  t.ok(third?.isParked)
  after.leases.restore(stateOf(held.lease as Lease))
  const places = [first, second, third].map((request) => after.leases.restorePlace(request?.placeState as PlaceState))
  t.strictSame(
    after.status('f').waiters.map(({ agentId, isParked, queuedAt }) => [agentId, isParked, queuedAt]),
    before.status('f').waiters.map(({ agentId, isParked, queuedAt }) => [agentId, isParked, queuedAt])
  )
  places[1]?.cancel()
  after.leases.release('f', 'A')
  t.ok(places[0]?.lease?.isParked)
  clock.advance(minuteMs - 1)
  t.ok(places[2]?.isWaiting)
  places[2]?.resume({ timeoutMs: 10 * minuteMs, connection: 'c2' })
  clock.advance(1)
  t.notOk(places[0]?.lease?.isHeld, 'nobody has come for it')
  t.match(places[2], { lease: { isHeld: true, isParked: false, connection: 'c2' } })
  t.equal(after.leases.restorePlace({ ...(third?.placeState as PlaceState), keptUntil: clock.now() }), undefined)
  t.end()
})

t.test('where the clock was set back, what is restored lasts no longer than it was given', (t) => {
  const dayMs = 24 * 60 * minuteMs
  const { clock, before, after, ask } = twoProcesses()
  const { lease } = ask(before, 'A')
  const place = ask(before, 'B')
  clock.advance(1000)
  const state = stateOf(lease as Lease)
  const acquiredAt = state.acquiredAt + dayMs
  after.leases.restore({ ...state, acquiredAt, expiresAt: state.expiresAt + dayMs })
  const restored = after.leases.find('f', 'A') as Lease
  t.match(restored, { acquiredAt: clock.now(), expiresAt: clock.now() + 5 * minuteMs })
  const { queuedAt, keptUntil, ...others } = place.placeState as PlaceState
  const waiting = after.leases.restorePlace({ ...others, queuedAt: queuedAt + dayMs, keptUntil: keptUntil + dayMs })
  t.match(after.status('f').waiters, [{ agentId: 'B', queuedAt: clock.now() }])
  clock.advance(keptUntil - queuedAt)
  t.notOk(waiting?.isWaiting)
  t.end()
})

t.test('whoever listens is told of each change of a lease, once it is made, and of places that are given up', (t) => {
  const { clock, before, ask } = twoProcesses()
  const told: string[] = []
  const end = before.leases.onChange(({ agentId, isHeld, mode, expiresAt, fencingToken }) =>
    told.push(`${agentId} ${fencingToken ?? 'none'} ${isHeld ? mode : 'gone'} ${(expiresAt - clock.now()) / minuteMs}`)
  )
  const said = () => told.splice(0)
  ask(before, 'A', { mode: 'shared' })
  t.strictSame(said(), ['A 1 shared 5'])
  const exclusive = ask(before, 'A')
  t.match(said().at(-1), 'A 1 exclusive 5')
  exclusive.undo()
  t.match(said().at(-1), 'A 1 shared 5')
  clock.advance(minuteMs)
  before.leases.renew('f', 'A')
  t.strictSame(said(), ['A 1 shared 5'])
  ask(before, 'B')
  clock.advance(1000)
  t.strictSame(said(), [])
  clock.advance(minuteMs)
  t.match(said(), ['B none gone'])
  clock.advance(5 * minuteMs)
  t.strictSame(said(), ['A 1 gone 0'])
  ask(before, 'C')
  before.leases.release('f', 'C')
  t.match(said(), ['C 2 exclusive 5', 'C 2 gone 5'])
  end()
  ask(before, 'D')
  t.strictSame(said(), [])
  t.end()
})
