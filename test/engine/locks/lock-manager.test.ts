import assert from 'node:assert/strict'
import t from 'tap'
import { systemClock } from '../../../src/engine/locks/clock.ts'
import { createLockManager } from '../../../src/engine/locks/lock-manager.ts'
import { lockChecks } from '../../harness/locks/lock-checks.ts'

for (const { title, check } of lockChecks) {
  t.test(title, async (t) => {
    await check(createLockManager)
    t.pass('it holds')
  })
}

t.test('a manager without options runs on the system clock', async (t) => {
  // The timers of the manager keep no process alive, so something else has to while this test waits for one.
  const keepAlive = setInterval(() => undefined, 1000)
  t.teardown(() => clearInterval(keepAlive))
  const locks = createLockManager()
  const request = { key: 'a', path: 'a', mode: 'exclusive' } as const
  const lock = await locks.acquire(request, { operation: 'first', timeoutMs: 0, ttlMs: 600_000 })
  await t.rejects(locks.acquire(request, { operation: 'second', timeoutMs: 5, ttlMs: 20 }), { code: 'LOCK_TIMEOUT' })
  lock.release()
  const brief = await locks.acquire(request, { operation: 'third', timeoutMs: 0, ttlMs: 20 })
  const next = await locks.acquire(request, { operation: 'fourth', timeoutMs: 600_000, ttlMs: 600_000 })
  t.throws(() => brief.assertHeld(), { code: 'LEASE_LOST' })
  next.release()
  await locks.idle()
})

t.test('the system clock tells the time, and its timers keep no process alive', async (t) => {
  const before = Date.now()
  const now = systemClock.now()
  // As far as the wall clock has not been corrected since the start of this process.
  t.ok(before - 1000 <= now && now <= Date.now() + 1000)
  const timer = systemClock.setTimeout(() => t.fail('it was cleared'), 0)
  assert(timer instanceof Object && 'hasRef' in timer && typeof timer.hasRef === 'function')
  t.equal(timer.hasRef(), false)
  systemClock.clear(timer)
})
