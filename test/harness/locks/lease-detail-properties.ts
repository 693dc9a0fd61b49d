// What every lock manager must hold to where several requests, ends and restarts meet at one lease.
import assert from 'node:assert/strict'
import type { PlaceState } from '../../../src/engine/locks/lock.ts'
import { createFakeClock } from '../../fixtures/fake-clock.ts'
import { createLeaseWorld, errorFrom, leaseFrom, type LeaseWorld } from './lease-world.ts'
import { createLockWorld, settled, type CreateLockManager, type LockProperty } from './lock-world.ts'

export const leaseDetailProperties: readonly LockProperty[] = [
  {
    title:
      'an agent waits for the lease requests ahead of its own, until it has a lease or waits for a shared one there',
    async check(create) {
      /** B waits on a, and for D's lease on b: so D must not come to wait for B. */
      const inCircle = (ahead: (world: LeaseWorld) => void = () => {}) => {
        const world = createLeaseWorld(create)
        world.lease('A', 'a')
        world.lease('D', 'b')
        ahead(world)
        world.sharedLease('B', 'a')
        assert(world.lease('B', 'b').isWaiting)
        return world
      }
      const other = inCircle()
      other.sharedLease('C', 'a')
      assert.equal(errorFrom(other.lease('D', 'a')).code, 'DEADLOCK')
      const afterWrite = inCircle((world) => world.write('D', 'a'))
      assert.equal(errorFrom(afterWrite.lease('D', 'a')).code, 'DEADLOCK', 'a write of its own ahead opens nothing')
      const world = inCircle()
      assert(world.sharedLease('D', 'a').isWaiting, 'shared beside shared')
      assert(world.lease('D', 'a').isWaiting)
      const write = world.write('D', 'a')
      await settled()
      assert.equal(write.error.code, 'DEADLOCK', 'a write waits for them all the same')
      const exclusive = createLeaseWorld(create)
      exclusive.lease('A', 'a')
      exclusive.lease('D', 'b')
      exclusive.sharedLease('B', 'a')
      assert(exclusive.lease('D', 'a').isWaiting)
      assert.equal(errorFrom(exclusive.lease('B', 'b')).code, 'DEADLOCK', 'D waits for an exclusive one alone')
    }
  },
  {
    title: 'whoever waits behind a circle is not refused for it',
    async check(create) {
      const world = createLeaseWorld(create)
      world.sharedLease('A', 'a')
      world.sharedLease('C', 'a')
      world.lease('B', 'a')
      const write = world.write('A', 'a')
      const [bystander, last] = [world.lease('E', 'a'), world.write(undefined, 'a')]
      world.lease('A', 'b')
      world.lease('B', 'b')
      world.locks.leases.release('a', 'A')
      await settled()
      assert.equal(write.error.code, 'DEADLOCK')
      assert.deepEqual([bystander.isWaiting, last.outcome], [true, 'pending'])
    }
  },
  {
    title: 'readers share a path on which a lease has become exclusive, and shared again, or was asked for twice',
    async check(create) {
      for (const undoes of [true, false]) {
        const world = createLeaseWorld(create)
        if (undoes) world.sharedLease('A', 'a')
        const requests = [world.lease('A', 'a'), world.lease('A', 'a')]
        const read = world.read('A', 'a')
        if (undoes) for (const request of requests) request.undo()
        world.locks.leases.release('a', 'A')
        world.read('B', 'a')
        assert.deepEqual(world.holders('a'), ['read of A', 'read of B'])
        await settled()
        read.lock.release()
      }
    }
  },
  {
    title: 'a lease granted to a parked request is unclaimed until its agent asks again and waits for the answer',
    async check(create) {
      const world = createLeaseWorld(create)
      const holder = world.lease('A', 'a')
      const kept = { timeoutMs: 10, graceMs: 1000 }
      world.sharedLease('B', 'a', kept)
      world.lease('B', 'a', kept)
      world.clock.advance(10)
      holder.undo()
      const lease = world.locks.leases.find('a', 'B')
      assert.deepEqual([lease?.mode, lease?.isParked], ['exclusive', true], 'both were parked')
      world.sharedLease('B', 'a')
      assert.equal(lease?.isParked, false)
    }
  },
  {
    title: 'a place without grace ends with its timeout, and nobody is told of it as of a kept one',
    async check(create) {
      const world = createLeaseWorld(create)
      world.lease('A', 'a')
      const told: string[] = []
      world.locks.leases.onChange(({ agentId }) => told.push(agentId))
      const brief = world.lease('B', 'a', { timeoutMs: 10 })
      world.clock.advance(10)
      assert.deepEqual([errorFrom(brief).code, brief.isParked], ['LOCK_TIMEOUT', false])
      world.lease('B', 'a', { timeoutMs: 0 })
      const read = world.read('C', 'a')
      await settled()
      read.lock.release()
      assert.deepEqual(told, [], 'nor of operations')
    }
  },
  {
    title: 'a request that waits, or whose lease has ended, is neither kept nor begun, and its lease stays ended',
    async check(create) {
      const world = createLeaseWorld(create)
      const first = world.lease('A', 'a')
      const waiting = world.lease('B', 'a')
      waiting.keepFor(1000)
      waiting.begin()
      waiting.keepForGrace()
      assert.equal(waiting.key, 'a')
      assert(waiting.isWaiting)
      const shared = world.sharedLease('C', 'c')
      const upgrade = world.lease('C', 'c')
      world.locks.leases.release('c', 'C')
      upgrade.undo()
      shared.undo()
      world.locks.leases.release('a', 'A')
      first.keepFor(500_000)
      first.begin()
      first.keepForGrace()
      world.locks.leases.release('a', 'B')
      world.clock.advance(1_000_000)
      assert.deepEqual(world.ends, [])
      world.assertEmpty()
    }
  },
  {
    title: 'the end of a call shortens no lease that another call of its agent has brought',
    async check(create) {
      const world = createLeaseWorld(create)
      const first = world.lease('A', 'a', { graceMs: 10 })
      const second = world.lease('A', 'a', { ttlMs: 1000, graceMs: 10 })
      second.keepForGrace()
      first.keepForGrace()
      const lease = leaseFrom(first)
      assert.equal(lease.expiresAt, world.clock.now() + 300_000)
      world.clock.advance(299_500)
      second.begin()
      assert.equal(lease.expiresAt, world.clock.now() + 1000, 'two claims: it is prolonged')
    }
  },
  {
    title: 'whoever comes back is told its position at once, and may also come back without asking for it',
    async check(create) {
      const world = createLeaseWorld(create)
      world.lease('A', 'a')
      const told: string[] = []
      const listen = (name: string) => (position: number, total: number) =>
        told.push(`${name}: ${position} of ${total}`)
      const silent = world.lease('B', 'a')
      const heard = world.lease('C', 'a', { onPosition: listen('C') })
      await settled()
      silent.resume({ timeoutMs: 1000, connection: undefined, onPosition: listen('B') })
      await settled()
      heard.resume({ timeoutMs: 1000, connection: undefined })
      world.lease('D', 'a')
      await settled()
      assert.deepEqual(told, ['C: 2 of 2', 'B: 1 of 2', 'B: 1 of 3'])
      heard.resume({ timeoutMs: 1000, connection: undefined, onPosition: listen('C again') })
      await settled()
      assert.deepEqual(told.slice(3), ['C again: 2 of 3'])
      assert(heard.isWaiting)
      const granted = world.lease('E', 'e')
      granted.resume({ timeoutMs: 0, connection: undefined, onPosition: listen('E') })
      await settled()
      assert.equal(told.length, 4, 'a lease has no position')
      assert.throws(() => heard.resume({ timeoutMs: 0, graceMs: -1, connection: undefined }), /^RangeError: graceMs/)
      assert.equal(granted.placeState, undefined)
    }
  },
  {
    title: 'a waiter is told its position when that changes and the total does not',
    async check(create) {
      const world = createLockWorld(create)
      const told: string[] = []
      world.exclusive('holder', 'a')
      const first = world.exclusive('first', 'a')
      world.exclusive('second', 'a', { onPosition: (position, total) => told.push(`${position} of ${total}`) })
      await settled()
      first.controller.abort()
      world.exclusive('third', 'a')
      await settled()
      assert.deepEqual(told, ['2 of 2', '1 of 2'])
    }
  },
  {
    title: 'a place that waits is restored with its timeout and its grace, one that is granted begins then',
    async check(create) {
      const world = createLeaseWorld(create)
      world.lease('A', 'a')
      const place = world.lease('B', 'a', { timeoutMs: 1000, graceMs: 500 }).placeState as PlaceState
      assert.equal(place.keptUntil, world.clock.now() + 1500)
      const restart = (limits = {}) => createLeaseWorld(create, limits)
      const free = restart()
      free.clock.advance(100)
      assert.equal(free.locks.leases.restorePlace(place)?.lease?.acquiredAt, free.clock.now())
      const full = restart({ maxWaitersPerKey: 1 })
      full.lease('A', 'a')
      full.lease('C', 'a')
      assert.equal(full.locks.leases.restorePlace(place), undefined)
      const stopped = restart()
      stopped.lease('A', 'a')
      stopped.locks.close()
      const { leases } = stopped.locks
      assert.equal(leases.restorePlace(place), undefined)
      const state = { ...leaseFrom(world.lease('B', 'b')), agentId: 'B', key: 'b', path: 'b', mode: 'shared' as const }
      const times = { acquiredAt: stopped.clock.now(), expiresAt: stopped.clock.now() + 1000, isParked: false }
      assert.equal(leases.restore({ ...state, ...times }), undefined)
      stopped.locks.leases.release('a', 'A')
      stopped.assertEmpty()
    }
  },
  {
    title: 'a break ends the leases that are meant, and no lease is told to have ended twice',
    async check(create) {
      const world = createLeaseWorld(create)
      for (const agentId of ['A', 'B']) world.sharedLease(agentId, 'a')
      world.locks.leases.break('a', { cause: 'broken', reason: 'test', by: 'C' }, ({ agentId }) => agentId === 'B')
      assert.deepEqual(world.ends, ['B lost a: broken'])
      const ended: string[] = []
      const locks: ReturnType<CreateLockManager> = create({
        clock: createFakeClock(),
        onLeaseEnd({ key, agentId }) {
          ended.push(key)
          for (const other of ['a', 'b']) locks.leases.release(other, agentId)
        }
      })
      const options = { operation: 'lock', agentId: 'A', ttlMs: 1000, timeoutMs: 0, graceMs: 0, connection: 'c' }
      for (const key of ['a', 'b']) locks.leases.request({ key, path: key, mode: 'exclusive' }, options)
      locks.leases.disconnect('c')
      assert.deepEqual(ended, ['a'], 'its listener has released the other')
    }
  },
  {
    title: 'what ends in the same millisecond ends in the order in which it was set, under one timer at a time',
    async check(create) {
      const world = createLeaseWorld(create)
      const keys = Array.from({ length: 9 }, (_, index) => `k${index}`)
      for (const key of keys) world.lease('A', key, { ttlMs: 1000 })
      world.lease('A', 'early', { ttlMs: 500 })
      assert.equal(world.clock.timersArmed, 1)
      world.clock.advance(1000)
      assert.deepEqual(
        world.ends,
        ['early', ...keys].map((key) => `A lost ${key}: expired`)
      )
      assert.equal(world.clock.timersArmed, 0)
    }
  },
  {
    title: 'no timer is set for longer than those of Node take',
    async check(create) {
      const delays: number[] = []
      const fake = createFakeClock()
      const clock = {
        ...fake,
        setTimeout(callback: () => void, ms: number) {
          delays.push(ms)
          return fake.setTimeout(callback, ms)
        }
      }
      const locks = create({ clock })
      locks.tryAcquire([{ key: 'a', path: 'a', mode: 'exclusive' }], { operation: 'long', ttlMs: 2 ** 40 })
      assert.deepEqual(delays, [2 ** 31 - 1])
    }
  },
  {
    title: 'a lock is released at the end of the block that uses it',
    async check(create) {
      const world = createLockWorld(create)
      const attempt = world.exclusive('one', 'a')
      await settled()
      attempt.lock[Symbol.dispose]()
      world.assertEmpty()
    }
  }
]
