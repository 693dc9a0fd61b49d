// What every lock manager must hold to about what it keeps and tells: memory, status, messages, positions.
import assert from 'node:assert/strict'
import { createLockWorld, settled, type LockProperty } from './lock-world.ts'

export const tableProperties: readonly LockProperty[] = [
  {
    title: 'a path with no holder and no waiter costs no memory',
    async check(create) {
      const world = createLockWorld(create)
      const held = world.shared('held', 'a b')
      world.exclusive('expires', 'c', { ttlMs: 5 })
      world.exclusive('refused', 'a', { timeoutMs: 0 })
      world.exclusive('times out', 'b', { timeoutMs: 5 })
      const cancelled = world.exclusive('cancelled', 'a')
      assert.equal(world.locks.summary().paths, 3)
      assert.deepEqual(world.locks.status('never asked for'), { holders: [], waiters: [], depth: 0 })
      await settled()
      cancelled.controller.abort()
      world.clock.advance(5)
      assert.deepEqual(
        [...world.locks.entries()].map(([key]) => key),
        ['a', 'b']
      )
      held.lock.release()
      await settled()
      world.assertEmpty()
    }
  },
  {
    title: 'status shows holders, waiters with both their times, and the depth; the summary counts them',
    async check(create) {
      const world = createLockWorld(create)
      const start = world.clock.now()
      const reader = world.shared('async_read', 'a', { agentId: 'agent-1', ttlMs: 40_000 })
      world.clock.advance(5)
      world.exclusive('async_rename', 'a b', { agentId: 'agent-2', timeoutMs: 1000 })
      await settled()
      const { fencingToken } = reader.lock
      const isLease = false
      const note = undefined
      const holder = { isLease, operation: 'async_read', agentId: 'agent-1', mode: 'shared', waitsFor: undefined, note }
      const waiter = {
        isLease,
        operation: 'async_rename',
        agentId: 'agent-2',
        mode: 'exclusive',
        isParked: false,
        note
      }
      const status = {
        holders: [{ ...holder, acquiredAt: start, expiresAt: start + 40_000, fencingToken }],
        waiters: [{ ...waiter, queuedAt: start + 5, timeoutAt: start + 1005 }],
        depth: 1
      }
      assert.deepEqual(world.locks.status('a'), status)
      assert.deepEqual([...world.locks.entries()], [['a', 'a.txt', status]])
      assert.deepEqual(world.locks.summary(), { paths: 1, shared: 1, exclusive: 0, leases: 0, waiting: 1 })
    }
  },
  {
    title: 'a holder that still waits for another key has no token and no end yet, and says what it waits for',
    async check(create) {
      const world = createLockWorld(create)
      world.exclusive('holder', 'b')
      world.exclusive('both', 'a b')
      const { expiresAt, fencingToken, waitsFor } = world.locks.status('a').holders[0] ?? {}
      assert.deepEqual(
        { expiresAt, fencingToken, waitsFor },
        { expiresAt: undefined, fencingToken: undefined, waitsFor: 'b.txt' }
      )
      assert.deepEqual(world.locks.summary(), { paths: 2, shared: 0, exclusive: 2, leases: 0, waiting: 1 })
    }
  },
  {
    title: 'LOCK_TIMEOUT says which path, who holds it since when, the place in the queue and what to do',
    async check(create) {
      const world = createLockWorld(create)
      world.shared('async_read', 'a', { agentId: 'agent-1', ttlMs: 90_000 })
      for (let reader = 2; reader <= 12; reader += 1) world.shared('async_read', 'a')
      world.clock.advance(1000)
      world.exclusive('async_append', 'a', { timeoutMs: 60_000 })
      const timed = world.exclusive('async_update', 'a', { timeoutMs: 30_000 })
      world.exclusive('async_delete', 'a', { timeoutMs: 60_000 })
      world.clock.advance(30_000)
      await settled()
      const { code, message, path, details } = timed.error
      assert.equal(code, 'LOCK_TIMEOUT')
      assert.equal(path, 'a.txt')
      assert.equal(
        message,
        'async_update did not get the exclusive lock on a.txt within 30 s. async_read of agent agent-1 and 11 more (shared) ' +
          'has held it since 2026-01-01T00:00:00.000Z. This call was at position 2 of 3 in the queue. Nothing was changed; ' +
          'try again, with a longer timeout if the file is busy.'
      )
      const { holders, ...numbers } = details ?? {}
      assert.deepEqual(numbers, { queue_depth: 3, position: 2, holder_count: 12 })
      assert(Array.isArray(holders))
      assert.equal(holders.length, 10, 'a thousand readers are not listed')
      assert.deepEqual(holders[0], {
        operation: 'async_read',
        agent_id: 'agent-1',
        mode: 'shared',
        acquired_at: '2026-01-01T00:00:00.000Z',
        expires_at: '2026-01-01T00:01:30.000Z'
      })
    }
  },
  {
    title: 'a waiter that asks is told its position and the total after queueing and after each change',
    async check(create) {
      const world = createLockWorld(create)
      const told: string[] = []
      const onPosition = (position: number, total: number) => told.push(`${position} of ${total}`)
      const holder = world.exclusive('holder', 'a')
      const first = world.exclusive('first', 'a')
      const second = world.exclusive('second', 'a')
      world.exclusive('asks', 'a', { onPosition })
      await settled()
      const last = world.exclusive('last', 'a')
      await settled()
      second.controller.abort()
      await settled()
      last.controller.abort()
      await settled()
      holder.lock.release()
      await settled()
      world.exclusive('comes and goes', 'a').controller.abort()
      await settled()
      assert.deepEqual(told, ['3 of 3', '3 of 4', '2 of 3', '2 of 2', '1 of 1'])
      first.lock.release()
      world.exclusive('after', 'a')
      await settled()
      assert.deepEqual(world.holders('a'), ['asks'])
      assert.equal(told.length, 5, 'a change after the grant is not told')
    }
  },
  {
    title: 'nobody is told a position after the grant, a timeout or a cancellation, not even from the same turn',
    async check(create) {
      const world = createLockWorld(create)
      const holder = world.exclusive('holder', 'a')
      await settled()
      const told: string[] = []
      const tells = (name: string) => ({ onPosition: () => told.push(name), timeoutMs: 10 })
      const granted = world.exclusive('granted', 'a', tells('granted'))
      const aborted = world.exclusive('aborted', 'a', tells('aborted'))
      world.exclusive('timed', 'a', tells('timed'))
      holder.lock.release()
      aborted.controller.abort()
      world.clock.advance(10)
      await settled()
      world.exclusive('later', 'a')
      await settled()
      granted.lock.release()
      await settled()
      assert.deepEqual(told, [])
    }
  },
  {
    title: 'a position listener that throws fails its own acquire and nobody else\u2019s',
    async check(create) {
      const world = createLockWorld(create)
      world.exclusive('holder', 'a')
      const fault = new Error('the stream is closed')
      const faulty = world.exclusive('faulty', 'a', {
        onPosition: () => {
          throw fault
        }
      })
      let toldPosition = 0
      world.exclusive('sound', 'a', { onPosition: (position) => (toldPosition = position) })
      await settled()
      assert.equal(faulty.outcome, 'failed')
      await assert.rejects(faulty.promise, fault)
      assert.deepEqual(world.waiters('a'), ['sound'])
      assert.equal(toldPosition, 1)
    }
  }
]
