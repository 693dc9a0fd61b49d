// What every lock manager must hold to about TTLs, fencing tokens and deadlines.
import assert from 'node:assert/strict'
import { isOperationError } from './is-operation-error.ts'
import { createLockWorld, settled, type LockProperty } from './lock-world.ts'

const leaseLost = { name: 'OperationError', code: 'LEASE_LOST' }

export const ttlProperties: readonly LockProperty[] = [
  {
    title:
      'at the end of its TTL a lock is taken away, its signal aborts and the next waiter runs, all at that millisecond',
    async check(create) {
      const world = createLockWorld(create)
      const slow = world.exclusive('slow', 'a b', { ttlMs: 1000 })
      await settled()
      const { lock } = slow
      const { signal } = lock
      world.exclusive('next', 'a', { ttlMs: 500 })
      world.clock.advance(999)
      lock.assertHeld()
      assert.equal(signal.aborted, false)
      assert.deepEqual(world.holders('a'), ['slow'])
      world.clock.advance(1)
      assert.deepEqual([world.holders('a'), world.holders('b')], [['next'], []])
      assert(signal.aborted && isOperationError(signal.reason))
      assert.equal(signal.reason.code, 'LEASE_LOST')
      assert.throws(() => lock.assertHeld(), leaseLost)
      lock.release()
      assert.deepEqual(world.holders('a'), ['next'])
      world.clock.advance(499)
      assert.deepEqual(world.holders('a'), ['next'], 'the TTL counts from the grant, not from the queueing')
      world.clock.advance(1)
      world.assertEmpty()
    }
  },
  {
    title: 'a lock whose TTL is over by the clock is lost, even if the event loop was too busy for the timer',
    async check(create) {
      const world = createLockWorld(create)
      const slow = world.exclusive('slow', 'a', { ttlMs: 1000 })
      const other = world.exclusive('other', 'b', { ttlMs: 1000 })
      await settled()
      world.exclusive('next', 'a', { timeoutMs: 2000 })
      world.clock.stall(1000)
      const { signal } = slow.lock
      let sawOther = true
      signal.addEventListener('abort', () => {
        try {
          other.lock.assertHeld()
        } catch {
          sawOther = false
        }
      })
      assert.throws(() => slow.lock.assertHeld(), leaseLost)
      assert.equal(signal.aborted, true)
      assert.equal(sawOther, false, 'nor does a listener of the signal find another lock alive that is over')
      assert.deepEqual(world.holders('a'), ['next'])
      world.clock.stall(60_000)
      const newcomer = world.exclusive('newcomer', 'a', { timeoutMs: 0 })
      await settled()
      newcomer.lock.assertHeld()
    }
  },
  {
    title: 'a signal asked for only after the TTL is aborted already',
    async check(create) {
      const world = createLockWorld(create)
      const slow = world.exclusive('slow', 'a', { ttlMs: 10 })
      await settled()
      world.clock.advance(10)
      slow.lock.release()
      assert.equal(slow.lock.signal.aborted, true, 'a release that comes too late does not hide it')
    }
  },
  {
    title: 'whatever the order of many ends and releases, each end comes at its own millisecond',
    isLong: true,
    async check(create) {
      const world = createLockWorld(create)
      const start = world.clock.now()
      let scramble = 1
      const attempts = Array.from({ length: 1000 }, (_, index) => {
        scramble = (scramble * 48_271) % 2_147_483_647
        const ttlMs = (scramble % 400) + 1
        return { ttlMs, attempt: world.exclusive(`x${index}`, `k${index}`, { ttlMs }) }
      })
      await settled()
      const ended: number[] = []
      const expected: number[] = []
      for (const [index, { ttlMs, attempt }] of attempts.entries()) {
        if (index % 3 === 0) attempt.lock.release()
        else {
          expected.push(ttlMs)
          attempt.lock.signal.addEventListener('abort', () => ended.push(world.clock.now() - start))
        }
      }
      world.clock.advance(400)
      assert.deepEqual(
        ended,
        expected.toSorted((one, other) => one - other)
      )
      world.assertEmpty()
    }
  },
  {
    title: 'the usual grant sets no timer of its own',
    isLong: true,
    async check(create) {
      const world = createLockWorld(create)
      for (let round = 0; round < 1000; round += 1) {
        const attempt = world.exclusive('quick', 'a')
        await settled()
        attempt.lock.release()
        world.clock.advance(1)
      }
      assert.equal(world.clock.timersSet, 1)
      world.clock.advance(60_000)
      assert.equal(world.clock.timersSet, 1, 'an idle manager sets none either')
    }
  },
  {
    title: 'fencing tokens grow with every grant, whatever the key and the mode',
    async check(create) {
      const world = createLockWorld(create)
      const tokens: number[] = []
      for (const [index, keys] of ['a', 'b', 'a c', 'b', 'a'].entries()) {
        const attempt = index % 2 === 0 ? world.exclusive('x', keys) : world.shared('s', keys)
        const next = world.exclusive('next', keys)
        await settled()
        tokens.push(attempt.lock.fencingToken)
        attempt.lock.release()
        await settled()
        tokens.push(next.lock.fencingToken)
        next.lock.release()
      }
      for (const [index, token] of tokens.slice(1).entries())
        assert(token > (tokens[index] ?? Infinity), tokens.join(' '))
    }
  }
]
