// What becomes of the files that one lock_wait asks for, by a clock that the test turns.
import t from 'tap'
import { createLockManager } from '../../src/engine/locks/lock-manager.ts'
import { LeaseGroup } from '../../src/engine/leases/lease-group.ts'
import { createLostLeases } from '../../src/engine/leases/lost-leases.ts'
import { createFakeClock } from '../fixtures/fake-clock.ts'

const file = { filepath: 'a.ts', path: '/root/a.ts', key: '/root/a.ts' }

const cases = [
  { allOrNothing: false, isOneTurn: true },
  { allOrNothing: true, isOneTurn: true },
  { allOrNothing: false, isOneTurn: false },
  { allOrNothing: true, isOneTurn: false }
]

for (const { allOrNothing, isOneTurn } of cases) {
  const when = isOneTurn ? 'in the turn of the cut' : 'while the answer is made'
  t.test(`what is granted ${when} lasts as long as was asked for, with all_or_nothing ${allOrNothing}`, async (t) => {
    const clock = createFakeClock()
    const locks = createLockManager({ clock })
    const lease = { operation: 'lock_try', agentId: 'holder', ttlMs: 1600 }
    locks.leases.tryRequest({ key: file.key, path: file.path, mode: 'exclusive' }, lease)
    const options = {
      operation: 'lock_wait',
      agentId: 'next',
      ttlMs: 10_000,
      mode: 'exclusive',
      allOrNothing
    } as const
    const group = new LeaseGroup([file], options, { locks, lostLeases: createLostLeases(0) })
    const { signal } = new AbortController()
    const waiting = group.wait({
      timeoutMs: 1500,
      graceMs: 300,
      connection: undefined,
      signal,
      progress: undefined,
      onWaited: () => {}
    })
    // Late by so much that the cut and the end of the other lease come in one turn of the event loop.
    if (isOneTurn) clock.stall(1700)
    clock.advance(isOneTurn ? 0 : 1550)
    await waiting
    t.equal(group.isParked, !isOneTurn)
    if (!isOneTurn) clock.stall(150)
    const [result] = group.conclude()
    t.equal(group.isParked, false, 'no place is kept')
    t.match(result, { acquired: true, expires_at: new Date(clock.now() + 10_000).toISOString() })
    t.equal(locks.leases.find(file.key, 'next')?.expiresAt, clock.now() + 10_000)
  })
}
