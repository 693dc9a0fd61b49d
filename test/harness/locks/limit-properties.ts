// What every lock manager must hold to about what it refuses: limits, stopping, faults of the program.
import assert from 'node:assert/strict'
import { createLockWorld, settled, type LockProperty } from './lock-world.ts'

export const limitProperties: readonly LockProperty[] = [
  {
    title: 'a queue at its limit refuses the next waiter with OVERLOADED, and has room again when one leaves',
    async check(create) {
      const world = createLockWorld(create, { maxWaitersPerKey: 2 })
      world.exclusive('holder', 'a')
      const [first, , third] = ['w1', 'w2', 'w3'].map((name) => world.exclusive(name, 'a'))
      assert.deepEqual(world.waiters('a'), ['w1', 'w2'])
      await settled()
      assert.equal(third?.error.code, 'OVERLOADED')
      assert.deepEqual(third?.error.details, { retry_after_seconds: 1, limit: 2 })
      first?.controller.abort()
      world.exclusive('w4', 'a')
      assert.deepEqual(world.waiters('a'), ['w2', 'w4'])
      await settled()
    }
  },
  {
    title: 'one agent at its limit is refused with OVERLOADED, others are not, and every way out counts back',
    async check(create) {
      const world = createLockWorld(create, { maxWaitersPerAgent: 3 })
      const agentId = 'agent-1'
      world.exclusive('stays', 'b', { ttlMs: 1_000_000 })
      for (let round = 0; round < 3; round += 1) {
        const holder = world.exclusive('holder', 'a')
        const granted = world.exclusive('granted', 'a', { agentId })
        const aborted = world.exclusive('aborted', 'b', { agentId })
        world.exclusive('timed', 'b', { agentId, timeoutMs: 5 })
        const refused = world.exclusive('refused', 'b', { agentId })
        const others = [world.exclusive('anonymous', 'b'), world.exclusive('another', 'b', { agentId: 'agent-2' })]
        assert.deepEqual(world.waiters('b'), ['aborted', 'timed', 'anonymous', 'another'], `round ${round}`)
        await settled()
        assert.equal(refused.error.code, 'OVERLOADED')
        assert.deepEqual(refused.error.details, { retry_after_seconds: 1, limit: 3 })
        for (const { controller } of [aborted, ...others]) controller.abort()
        world.clock.advance(5)
        holder.lock.release()
        await settled()
        granted.lock.release()
      }
    }
  },
  {
    title: 'the limits are 1000 waiters for one key and 1000 for one agent',
    isLong: true,
    async check(create) {
      const world = createLockWorld(create)
      for (const key of ['a', 'b']) world.exclusive('holder', key)
      for (let index = 0; index < 1001; index += 1) world.exclusive('w', 'a')
      for (let index = 0; index < 1001; index += 1) world.exclusive('w', 'b', { agentId: index < 999 ? 'x' : 'y' })
      for (let index = 0; index < 2; index += 1) world.exclusive('w', 'c d', { agentId: 'x' })
      assert.equal(world.locks.status('a').depth, 1000)
      assert.equal(world.locks.status('b').depth, 1000)
      assert.deepEqual([world.holders('c'), world.waiters('c')], [['w'], ['w']])
      world.exclusive('one more', 'c', { agentId: 'x' })
      assert.deepEqual(world.waiters('c'), ['w'])
      await settled()
    }
  },
  {
    title:
      'a stopping manager fails the waiting and the coming with OVERLOADED, and what is held stays until its release',
    async check(create) {
      const world = createLockWorld(create)
      const held = world.exclusive('held', 'b')
      const both = world.exclusive('both', 'a b')
      const behind = world.exclusive('behind', 'a')
      let isIdle = false
      const idle = world.locks.idle().then(() => (isIdle = true))
      world.locks.close('the server is stopping')
      const coming = world.exclusive('coming', 'c')
      assert.deepEqual([world.holders('a'), world.holders('b'), world.holders('c')], [[], ['held'], []])
      await settled()
      for (const { error } of [both, behind, coming]) {
        assert.equal(error.code, 'OVERLOADED')
        assert.equal(error.details?.['retry_after_seconds'], 5)
        assert.match(error.message, /the server is stopping/)
      }
      held.lock.assertHeld()
      assert.equal(isIdle, false)
      held.lock.release()
      await settled()
      assert.equal(isIdle, true)
      await idle
      world.assertEmpty()
    }
  },
  {
    title: 'a manager is idle at once when nothing is held, and again after each use',
    async check(create) {
      const world = createLockWorld(create)
      let idles = 0
      for (let round = 1; round <= 2; round += 1) {
        void world.locks.idle().then(() => (idles += 1))
        await settled()
        assert.equal(idles, 2 * round - 1)
        const attempt = world.shared('reader', 'a')
        void world.locks.idle().then(() => (idles += 1))
        await settled()
        assert.equal(idles, 2 * round - 1)
        attempt.lock.release()
        await settled()
        assert.equal(idles, 2 * round)
      }
    }
  },
  {
    title: 'faults of the program are named: no request, a negative or missing duration, a limit that is none',
    async check(create) {
      const { locks } = createLockWorld(create)
      const options = { operation: 'async_read', timeoutMs: 0, ttlMs: 1000 }
      const request = { key: 'a', path: 'a', mode: 'shared' } as const
      await assert.rejects(locks.acquire([], options), /requests: expected at least one/)
      await assert.rejects(locks.acquire(request, { ...options, timeoutMs: -1 }), /timeoutMs: expected .* got -1/)
      await assert.rejects(locks.acquire(request, { ...options, ttlMs: NaN }), /ttlMs: expected .* got NaN/)
      for (const value of [0, 1.5, NaN]) {
        assert.throws(() => createLockWorld(create, { maxWaitersPerKey: value }), /limits.maxWaitersPerKey: expected/)
      }
    }
  }
]
