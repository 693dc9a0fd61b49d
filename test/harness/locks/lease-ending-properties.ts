// What every lock manager must hold to about how long a lease lasts, and who is told of its end.
import assert from 'node:assert/strict'
import { createLeaseWorld, errorFrom, leaseFrom } from './lease-world.ts'
import { settled, type LockProperty } from './lock-world.ts'

export const leaseEndingProperties: readonly LockProperty[] = [
  {
    title: 'the end of a lease is told once and with its cause, unless its agent released it',
    async check(create) {
      const world = createLeaseWorld(create)
      for (const key of ['a', 'b', 'c', 'd', 'e', 'f']) world.lease('A', key, { ttlMs: key === 'f' ? 10 : 1000 })
      world.lease('A', 'g', { connection: 'session' })
      world.locks.leases.release('a', 'A')
      world.locks.release('b', world.locks.leases.find('b', 'A')?.fencingToken ?? 0)
      world.lease('A', 'h').undo()
      assert.deepEqual(world.ends, [])
      const [broken] = world.locks.leases.break('c', { cause: 'broken', reason: 'it is in the way', by: undefined })
      assert.equal(broken?.isHeld, false)
      assert.deepEqual(world.locks.leases.break('c', { cause: 'expired' }), [])
      world.locks.leases.disconnect('session')
      world.locks.leases.disconnect('session')
      world.clock.advance(10)
      assert.deepEqual(world.ends.splice(0), ['A lost c: broken', 'A lost g: disconnected', 'A lost f: expired'])
      assert.equal(world.locks.leases.releaseAll('A'), 2)
      assert.equal(world.locks.leases.releaseAll('A'), 0)
      world.clock.advance(1_000_000)
      assert.deepEqual(world.ends, [])
      world.assertEmpty()
    }
  },
  {
    title: 'a lease ends at its very millisecond, for whoever looks, also where the timer comes late',
    async check(create) {
      const world = createLeaseWorld(create)
      const lease = leaseFrom(world.lease('A', 'a', { ttlMs: 1000 }))
      world.clock.advance(999)
      assert.equal(lease.isHeld, true)
      world.clock.advance(1)
      assert.deepEqual([lease.isHeld, world.ends], [false, ['A lost a: expired']])
      for (const look of [
        () => world.locks.leases.find('a', 'A'),
        () => world.locks.leases.renew('a', 'A'),
        () => world.locks.leases.release('a', 'A') || undefined,
        () => world.locks.leases.releaseAll('A') || undefined,
        () => world.locks.leases.break('a', { cause: 'disconnected' })[0],
        () => world.locks.leases.disconnect('session') || undefined,
        () => world.lease('B', 'a', { timeoutMs: 0 }).error
      ]) {
        world.ends.splice(0)
        world.lease('A', 'a', { ttlMs: 1000, connection: 'session' })
        world.clock.stall(1000)
        assert.equal(look(), undefined, String(look))
        assert.deepEqual(world.ends, ['A lost a: expired'], String(look))
        world.locks.leases.releaseAll('B')
      }
      world.lease('A', 'a', { ttlMs: 1000 })
      world.clock.stall(1000)
      const request = { key: 'a', path: 'a.txt', mode: 'exclusive' } as const
      assert.equal(world.locks.leases.isFree(request, { operation: 'lock_try', agentId: 'B', ttlMs: 1 }), true)
    }
  },
  {
    title: 'a lease lasts anew from each operation of its agent on the path, also one that has to wait',
    async check(create) {
      const world = createLeaseWorld(create)
      const lease = leaseFrom(world.lease('A', 'a', { ttlMs: 1000 }))
      const other = leaseFrom(world.lease('A', 'b', { ttlMs: 900_000 }))
      const start = world.clock.now()
      world.clock.advance(100)
      for (const ignored of [world.read('B', 'a'), world.read('A', 'c'), world.write('B', 'a')])
        ignored.controller.abort()
      assert.equal(lease.expiresAt, start + 1000)
      world.read('A', 'a')
      assert.equal(lease.expiresAt, start + 1100)
      world.clock.advance(100)
      world.write('A', 'a')
      assert.deepEqual(world.waiters('a'), ['write of A'])
      assert.equal(lease.expiresAt, start + 1200)
      world.clock.advance(100)
      const lock = world.locks.tryAcquire([{ key: 'b', path: 'b', mode: 'shared' }], {
        operation: 'read of A',
        agentId: 'A',
        ttlMs: 10
      })
      assert(lock)
      assert.equal(other.expiresAt, start + 900_300)
      world.clock.advance(899)
      assert.equal(lease.isHeld, true)
      world.clock.advance(1)
      assert.equal(lease.isHeld, false)
      await settled()
    }
  },
  {
    title: 'asking again renews a lease without shortening it, and keeps its token and its note',
    async check(create) {
      const world = createLeaseWorld(create)
      const first = world.lease('A', 'a', { ttlMs: 1000, note: 'a refactoring', connection: 'first' })
      const lease = leaseFrom(first)
      const { fencingToken } = lease
      const start = world.clock.now()
      world.clock.advance(10)
      assert.equal(leaseFrom(world.lease('A', 'a', { ttlMs: 500, connection: 'second' })), lease)
      assert.deepEqual([lease.expiresAt, lease.connection], [start + 1010, 'second'])
      world.clock.advance(690)
      world.read('A', 'a')
      assert.equal(lease.expiresAt, start + 1200, 'each use extends it by what was asked for last')
      assert.equal(leaseFrom(world.lease('A', 'a', { ttlMs: 2000 })), lease)
      assert.equal(lease.expiresAt, start + 2700)
      assert.deepEqual([lease.note, lease.fencingToken], ['a refactoring', fencingToken])
      world.lease('A', 'a', { note: 'tests' })
      assert.equal(lease.note, 'tests')
      assert.equal(world.locks.summary().leases, 1)
      await settled()
    }
  },
  {
    title: 'renewing sets how long a lease lasts, for now and for each use after, and brings none back',
    async check(create) {
      const world = createLeaseWorld(create)
      const lease = leaseFrom(world.lease('A', 'a', { ttlMs: 1000 }))
      world.clock.advance(10)
      const now = world.clock.now()
      assert.equal(world.locks.leases.renew('a', 'A'), lease)
      assert.equal(lease.expiresAt, now + 1000)
      world.locks.leases.renew('a', 'A', 100)
      assert.equal(lease.expiresAt, now + 100)
      world.clock.advance(50)
      world.read('A', 'a').controller.abort()
      assert.equal(lease.expiresAt, now + 150)
      assert.equal(world.locks.leases.renew('a', 'B', 5000), undefined)
      world.clock.advance(100)
      assert.equal(lease.isHeld, false)
      assert.equal(world.locks.leases.renew('a', 'A', 5000), undefined)
      assert.equal(world.locks.leases.release('a', 'A'), false)
      await settled()
    }
  },
  {
    title: 'a release of all, a disconnect and a break end what they name, and nothing else',
    async check(create) {
      const world = createLeaseWorld(create)
      world.sharedLease('A', 'a', { connection: 'first' })
      world.sharedLease('B', 'a', { connection: 'second' })
      world.lease('A', 'b', { connection: 'second' })
      world.lease('C', 'c')
      world.write('C', 'c')
      const leases = () => ['a', 'b', 'c'].map((key) => world.holders(key))
      assert.equal(world.locks.leases.disconnect('first'), 1)
      assert.deepEqual(leases(), [['lease of B'], ['lease of A'], ['lease of C', 'write of C']])
      assert.equal(world.locks.leases.releaseAll('A'), 1)
      assert.deepEqual(leases(), [['lease of B'], [], ['lease of C', 'write of C']])
      const ended = world.locks.leases.break('c', { cause: 'broken', reason: 'it is in the way', by: 'operator' })
      assert.deepEqual(
        ended.map(({ agentId }) => agentId),
        ['C']
      )
      assert.deepEqual(leases(), [['lease of B'], [], ['write of C']])
      await settled()
    }
  },
  {
    title: 'with a connection the requests for leases end that were made over it, parked or not',
    async check(create) {
      const world = createLeaseWorld(create)
      world.lease('A', 'a')
      const requests = ['first', 'second'].map((connection) => world.lease('B', 'a', { connection, graceMs: 100 }))
      const write = world.write('B', 'a')
      assert.equal(world.locks.leases.disconnect('first'), 0)
      assert.deepEqual(
        requests.map(({ isWaiting }) => isWaiting),
        [false, true]
      )
      assert.equal(errorFrom(requests[0] ?? assert.fail()).code, 'CANCELLED')
      world.clock.advance(30_000)
      assert.equal(requests[1]?.isParked, true)
      world.locks.leases.disconnect('second')
      assert.deepEqual([requests[1]?.isWaiting, world.waiters('a')], [false, []])
      await settled()
      assert.equal(write.error.code, 'LOCK_TIMEOUT')
    }
  },
  {
    title: 'the token of a lease is larger than any before, and a lease that ended gives the next one another',
    async check(create) {
      const world = createLeaseWorld(create)
      const tokens: number[] = []
      for (let round = 0; round < 3; round += 1) {
        const write = world.write('A', 'b')
        const request = world.lease('A', 'a')
        const next = world.lease('B', 'a')
        await settled()
        tokens.push(write.lock.fencingToken, leaseFrom(request).fencingToken)
        write.lock.release()
        world.locks.leases.release('a', 'A')
        tokens.push(leaseFrom(next).fencingToken)
        world.locks.leases.release('a', 'B')
      }
      assert.deepEqual(
        tokens,
        tokens.toSorted((one, other) => one - other)
      )
      assert.equal(new Set(tokens).size, tokens.length)
    }
  },
  {
    title: 'where no token can be promised a lease is refused, and the next in line runs',
    async check(create) {
      const fault = new Error('the disk is full')
      let isFull = false
      let last = 0
      const next = () => (last += 1)
      const nextForLease = () => {
        if (isFull) throw fault
        return next()
      }
      const world = createLeaseWorld(create, {}, { tokens: { next, nextForLease } })
      const write = world.write('A', 'a')
      const waiting = world.lease('B', 'a')
      world.write('C', 'a')
      await settled()
      isFull = true
      write.lock.release()
      assert.equal(waiting.error, fault)
      assert.deepEqual([world.holders('a'), world.waiters('a')], [['write of C'], []])
      assert.equal(world.lease('D', 'd').error, fault)
      assert.deepEqual(world.holders('d'), [])
      isFull = false
      const { fencingToken } = leaseFrom(world.lease('D', 'd'))
      assert.equal(fencingToken, last)
      isFull = true
      leaseFrom(world.lease('D', 'd'))
      await settled()
    }
  },
  {
    title: 'a stopping manager refuses the leases waited for and those to come, and leaves what is held until its end',
    async check(create) {
      const world = createLeaseWorld(create)
      const held = leaseFrom(world.sharedLease('A', 'a'))
      const other = leaseFrom(world.sharedLease('B', 'a', { ttlMs: 10 }))
      const waiting = world.lease('C', 'a')
      const upgrade = world.lease('A', 'a')
      world.locks.close('the server is stopping')
      const coming = world.lease('A', 'b')
      let settledRequests = 0
      for (const request of [waiting, upgrade, coming]) {
        assert.equal(errorFrom(request).code, 'OVERLOADED')
        assert.equal(request.isWaiting, false)
        void request.settled().then(() => (settledRequests += 1))
      }
      await settled()
      assert.equal(settledRequests, 3)
      world.clock.advance(10)
      assert.deepEqual([held.isHeld, held.mode, other.isHeld], [true, 'shared', false])
      assert.deepEqual(world.ends, ['B lost a: expired'])
      world.locks.leases.release('a', 'A')
      await world.locks.idle()
      world.assertEmpty()
    }
  },
  {
    title: 'agents that hold and wait for nothing leave nothing behind, however it ended',
    async check(create) {
      const world = createLeaseWorld(create, { maxWaitersPerAgent: 2, maxLeasesPerAgent: 2 })
      for (let round = 0; round < 3; round += 1) {
        const first = world.lease('A', 'a', { ttlMs: 10 })
        const timed = world.lease('B', 'a', { timeoutMs: 5 })
        const parked = world.lease('B', 'a', { timeoutMs: 5, graceMs: 3 })
        world.clock.advance(8)
        const cancelled = world.lease('B', 'a')
        cancelled.cancel()
        const deadlocked = [
          world.sharedLease('B', 'b'),
          world.sharedLease('A', 'b'),
          world.lease('A', 'b', { timeoutMs: 1 })
        ]
        deadlocked.push(world.lease('B', 'b'))
        world.clock.advance(2)
        world.locks.leases.break('b', { cause: 'broken', reason: 'it is in the way', by: undefined })
        leaseFrom(first)
        const codes = [timed, parked, cancelled, deadlocked[2] ?? first, deadlocked[3] ?? first].map(
          (request) => errorFrom(request).code
        )
        assert.deepEqual(codes, ['LOCK_TIMEOUT', 'LOCK_TIMEOUT', 'CANCELLED', 'LOCK_TIMEOUT', 'DEADLOCK'])
        world.assertEmpty()
      }
    }
  }
]
