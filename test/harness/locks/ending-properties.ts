// What every lock manager must hold to about ends: timeout, cancellation, release, and several of them at one moment.
import assert from 'node:assert/strict'
import { getEventListeners } from 'node:events'
import { createLockWorld, settled, type CreateLockManager, type LockProperty } from './lock-world.ts'

const leaseLost = { name: 'OperationError', code: 'LEASE_LOST' }

export const endingProperties: readonly LockProperty[] = [
  {
    title: 'a waiter that times out or is cancelled at the very moment of the grant never leaves the lock held',
    isLong: true,
    async check(create) {
      for (const order of ordersOf(['release', 'abort', 'time out'] as const)) {
        for (let gaps = 0; gaps < 4 ** 3; gaps += 1) await checkGrantRace(create, order, gaps)
      }
    }
  },
  {
    title: 'a waiter times out at its very millisecond, and only if it still waits',
    async check(create) {
      const world = createLockWorld(create)
      const holder = world.exclusive('holder', 'a')
      const timed = world.exclusive('timed', 'a', { timeoutMs: 100 })
      const granted = world.exclusive('granted', 'a', { timeoutMs: 200 })
      world.clock.advance(99)
      assert.deepEqual(world.waiters('a'), ['timed', 'granted'])
      world.clock.advance(1)
      assert.deepEqual(world.waiters('a'), ['granted'])
      await settled()
      assert.equal(timed.error.code, 'LOCK_TIMEOUT')
      holder.lock.release()
      world.clock.advance(1000)
      await settled()
      assert.deepEqual(world.holders('a'), ['granted'])
      granted.lock.assertHeld()
      granted.lock.release()
      world.assertEmpty()
    }
  },
  {
    title: 'with timeout 0 a lock that is not free is refused at once',
    async check(create) {
      const world = createLockWorld(create)
      world.shared('reader', 'a')
      const writer = world.exclusive('writer', 'a', { timeoutMs: 0 })
      assert.deepEqual(world.waiters('a'), [])
      await settled()
      assert.equal(writer.error.code, 'LOCK_TIMEOUT')
    }
  },
  {
    title: 'an acquire whose signal is aborted beforehand is cancelled, free lock or not',
    async check(create) {
      const world = createLockWorld(create)
      const attempt = world.exclusive('late', 'a', { signal: AbortSignal.abort() })
      await settled()
      assert.equal(attempt.error.code, 'CANCELLED')
      world.assertEmpty()
    }
  },
  {
    title: 'no listener stays on the caller\u2019s signal after a grant, a timeout or a cancellation',
    async check(create) {
      const world = createLockWorld(create)
      const holder = world.exclusive('holder', 'a')
      const attempts = [
        world.exclusive('granted', 'a'),
        world.exclusive('timed', 'a', { timeoutMs: 5 }),
        world.exclusive('cancelled', 'a')
      ]
      await settled()
      world.clock.advance(5)
      attempts[2]?.controller.abort()
      holder.lock.release()
      await settled()
      assert.deepEqual(
        attempts.map(({ outcome }) => outcome),
        ['granted', 'failed', 'failed']
      )
      for (const { controller } of [holder, ...attempts]) {
        assert.equal(getEventListeners(controller.signal, 'abort').length, 0)
      }
    }
  },
  {
    title: 'releasing twice is harmless: the lock of the next holder stays',
    async check(create) {
      const world = createLockWorld(create)
      const first = world.exclusive('first', 'a')
      world.exclusive('second', 'a')
      world.exclusive('third', 'a')
      await settled()
      first.lock.release()
      first.lock.release()
      first.lock[Symbol.dispose]()
      assert.deepEqual(world.holders('a'), ['second'])
      assert.throws(() => first.lock.assertHeld(), leaseLost)
      assert.equal(first.lock.signal.aborted, false, 'a release is no loss')
    }
  },
  {
    title: 'a release with the wrong token or the wrong key is refused and changes nothing',
    async check(create) {
      const world = createLockWorld(create)
      const first = world.exclusive('first', 'a')
      const other = world.exclusive('other', 'b')
      world.exclusive('waiter', 'a')
      await settled()
      const { fencingToken } = first.lock
      assert.equal(world.locks.release('a', other.lock.fencingToken), false)
      assert.equal(world.locks.release('a', fencingToken + 100), false)
      assert.equal(world.locks.release('b', fencingToken), false)
      assert.equal(world.locks.release('nowhere', fencingToken), false)
      assert.deepEqual([world.holders('a'), world.waiters('a'), world.holders('b')], [['first'], ['waiter'], ['other']])
      first.lock.assertHeld()
      assert.equal(world.locks.release('a', fencingToken), true)
      assert.equal(world.locks.release('a', fencingToken), false, 'the second time')
      assert.deepEqual(world.holders('a'), ['waiter'])
      assert.throws(() => first.lock.assertHeld(), leaseLost)
    }
  },
  {
    title: 'one key of several can be released by token; the lock no longer counts as held, the other key stays',
    async check(create) {
      const world = createLockWorld(create)
      const both = world.exclusive('both', 'a b')
      world.exclusive('waiter', 'a')
      await settled()
      assert.equal(world.locks.release('a', both.lock.fencingToken), true)
      assert.deepEqual([world.holders('a'), world.holders('b')], [['waiter'], ['both']])
      assert.throws(() => both.lock.assertHeld(), leaseLost)
      assert.equal(world.locks.release('b', both.lock.fencingToken), true)
      world.clock.advance(60_000)
      assert.equal(both.lock.signal.aborted, false, 'fully released, it cannot expire')
      await settled()
      world.assertEmpty()
    }
  }
]

type RaceEvent = 'release' | 'abort' | 'time out'

/** The events in this order, with 0 to 3 microtasks (two bits of `gaps` each) before each of them. */
async function checkGrantRace(create: CreateLockManager, order: readonly RaceEvent[], gaps: number): Promise<void> {
  const world = createLockWorld(create)
  const holder = world.exclusive('holder', 'a')
  await settled()
  const waiter = world.exclusive('waiter', 'a', { timeoutMs: 10 })
  const next = world.exclusive('next', 'a')
  const events = {
    release: () => holder.lock.release(),
    abort: () => waiter.controller.abort(),
    'time out': () => world.clock.advance(10)
  }
  for (const [index, event] of order.entries()) {
    for (let gap = (gaps >> (2 * index)) & 3; gap > 0; gap -= 1) await Promise.resolve()
    events[event]()
  }
  await settled()
  const race = `${order.join(', ')} with gaps ${gaps}`
  assert.equal(waiter.outcome, order[0] === 'release' ? 'granted' : 'failed', race)
  if (waiter.outcome === 'granted') {
    assert.deepEqual(world.holders('a'), ['waiter'], race)
    waiter.lock.assertHeld()
    waiter.lock.release()
  }
  assert.deepEqual([world.holders('a'), world.waiters('a')], [['next'], []], race)
  await settled()
  next.lock.release()
  world.assertEmpty()
}

function ordersOf<Item>(items: readonly Item[]): Item[][] {
  if (items.length === 0) return [[]]
  return items.flatMap((item) => ordersOf(items.filter((other) => other !== item)).map((rest) => [item, ...rest]))
}
