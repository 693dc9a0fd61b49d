// What every lock manager must hold to about leases in the line: whom they keep out, who passes whom.
import assert from 'node:assert/strict'
import { createLeaseWorld, errorFrom, leaseFrom, type LeaseWorld } from './lease-world.ts'
import { settled, type LockProperty } from './lock-world.ts'

const modes = ['shared', 'exclusive'] as const

/** Each brings the lease of A on a to its end. */
const endings: Record<string, (world: LeaseWorld) => unknown> = {
  release: ({ locks }) => locks.leases.release('a', 'A'),
  'release of all': ({ locks }) => locks.leases.releaseAll('A'),
  'release by token': ({ locks }) => locks.release('a', locks.leases.find('a', 'A')?.fencingToken ?? 0),
  expiry: ({ clock }) => clock.advance(1000),
  break: ({ locks }) => locks.leases.break('a', { cause: 'broken', reason: 'it is in the way', by: 'operator' }),
  disconnect: ({ locks }) => locks.leases.disconnect('session')
}

export const leaseProperties: readonly LockProperty[] = [
  {
    title: 'a free path is leased in the same turn, and the status shows by whom, until when and what for',
    async check(create) {
      const world = createLeaseWorld(create)
      const start = world.clock.now()
      const request = world.lease('A', 'a', { timeoutMs: 0, ttlMs: 1000, note: 'a refactoring', connection: 'session' })
      const { key, path, agentId, mode, note, connection, fencingToken, expiresAt, isHeld } = leaseFrom(request)
      assert.deepEqual(
        { key, path, agentId, mode, note, connection, expiresAt, isHeld },
        {
          key: 'a',
          path: 'a.txt',
          agentId: 'A',
          mode: 'exclusive',
          note: 'a refactoring',
          connection: 'session',
          expiresAt: start + 1000,
          isHeld: true
        }
      )
      assert.deepEqual(world.locks.status('a').holders, [
        {
          isLease: true,
          mode: 'exclusive',
          operation: 'lease of A',
          agentId: 'A',
          acquiredAt: start,
          expiresAt: start + 1000,
          fencingToken,
          waitsFor: undefined,
          note: 'a refactoring'
        }
      ])
      assert.deepEqual(world.locks.summary(), { paths: 1, shared: 0, exclusive: 1, leases: 1, waiting: 0 })
      assert.equal(world.locks.leases.find('a', 'A'), request.lease)
      assert.equal(world.locks.leases.find('a', 'B'), undefined)
      assert.equal(world.locks.leases.find('a', undefined), undefined)
      assert.deepEqual([request.isWaiting, request.isParked, request.error], [false, false, undefined])
    }
  },
  {
    title: 'a lease, shared or exclusive, keeps the writes of all others out; reads and its own agent pass',
    async check(create) {
      for (const mode of modes) {
        const world = createLeaseWorld(create)
        world.lease('A', 'a', { mode })
        world.write('B', 'a')
        world.write(undefined, 'a')
        world.read('B', 'a')
        world.read(undefined, 'a')
        assert.deepEqual(world.holders('a'), ['lease of A', 'read of B', 'read'], mode)
        assert.deepEqual(world.waiters('a'), ['write of B', 'write'], mode)
        const own = createLeaseWorld(create)
        own.lease('A', 'a', { mode })
        own.write('A', 'a')
        assert.deepEqual(own.holders('a'), ['lease of A', 'write of A'], mode)
        await settled()
      }
    }
  },
  {
    title: 'leases of two agents exclude each other unless both are shared',
    async check(create) {
      for (const held of modes) {
        for (const asked of modes) {
          const world = createLeaseWorld(create)
          world.lease('A', 'a', { mode: held })
          const request = world.lease('B', 'a', { mode: asked })
          assert.equal(request.isWaiting, held === 'exclusive' || asked === 'exclusive', `${held}, then ${asked}`)
        }
      }
    }
  },
  {
    title: 'a write under way keeps the leases of others waiting, not one of its own agent; a read keeps none',
    async check(create) {
      for (const mode of modes) {
        const world = createLeaseWorld(create)
        world.write('A', 'a')
        assert.equal(world.lease('B', 'a', { mode }).isWaiting, true, mode)
        const own = createLeaseWorld(create)
        own.write('A', 'a')
        leaseFrom(own.lease('A', 'a', { mode }))
        const unnamed = createLeaseWorld(create)
        unnamed.write(undefined, 'a')
        assert.equal(unnamed.lease('B', 'a', { mode }).isWaiting, true, 'of nobody in particular')
        const read = createLeaseWorld(create)
        read.read('A', 'a')
        leaseFrom(read.lease('B', 'a', { mode }))
        await settled()
      }
    }
  },
  {
    title: 'however a lease ends, those whom it kept waiting are granted in their order',
    async check(create) {
      for (const [how, end] of Object.entries(endings)) {
        const world = createLeaseWorld(create)
        world.lease('A', 'a', { ttlMs: 1000, connection: 'session' })
        const writes = [world.write('B', 'a'), world.write(undefined, 'a')]
        const lease = world.lease('C', 'a')
        world.write('D', 'a')
        world.clock.advance(999)
        world.locks.leases.renew('a', 'A', 1000)
        world.clock.advance(999)
        assert.deepEqual(world.holders('a'), ['lease of A'], how)
        end(world)
        assert.deepEqual(world.holders('a'), ['write of B'], how)
        await settled()
        writes[0]?.lock.release()
        assert.deepEqual(world.holders('a'), ['write'], how)
        await settled()
        writes[1]?.lock.release()
        assert.deepEqual([world.holders('a'), world.waiters('a')], [['lease of C'], ['write of D']], how)
        assert.equal(leaseFrom(lease).isHeld, true)
      }
    }
  },
  {
    title: 'who waits for a lease is waited for by later leases and writes of others, and by no read',
    async check(create) {
      const world = createLeaseWorld(create)
      const write = world.write('A', 'a')
      const first = world.sharedLease('B', 'a')
      const second = world.lease('C', 'a')
      world.sharedLease('D', 'a')
      world.write('E', 'a')
      await settled()
      write.lock.release()
      assert.deepEqual(world.holders('a'), ['lease of B'])
      assert.deepEqual(world.waiters('a'), ['lease of C', 'lease of D', 'write of E'])
      const read = world.read('F', 'a')
      await settled()
      read.lock.assertHeld()
      second.cancel()
      assert.equal(errorFrom(second).code, 'CANCELLED')
      assert.deepEqual(world.holders('a'), ['lease of B', 'read of F', 'lease of D'])
      leaseFrom(first)
    }
  },
  {
    title: 'a read passes the writes that a lease keeps from running, and once it has ended no other',
    async check(create) {
      const world = createLeaseWorld(create)
      world.lease('A', 'a')
      const kept = world.write('B', 'a')
      const passing = world.read('C', 'a')
      assert.deepEqual(world.waiters('a'), ['write of B'])
      world.locks.leases.release('a', 'A')
      world.read('D', 'a')
      assert.deepEqual([world.holders('a'), world.waiters('a')], [['read of C'], ['write of B', 'read of D']])
      await settled()
      passing.lock.release()
      assert.deepEqual(world.holders('a'), ['write of B'])
      await settled()
      kept.lock.release()
      assert.deepEqual(world.holders('a'), ['read of D'])
      const both = createLeaseWorld(create)
      for (const agentId of ['A', 'B']) both.sharedLease(agentId, 'a')
      both.write('A', 'a')
      both.read('C', 'a')
      assert.deepEqual(
        [both.holders('a'), both.waiters('a')],
        [['lease of A', 'lease of B', 'read of C'], ['write of A']]
      )
      await settled()
    }
  },
  {
    title: 'no operation passes one that merely waits for another operation, lease or no lease',
    async check(create) {
      const world = createLeaseWorld(create)
      world.lease('A', 'a')
      world.read('B', 'a')
      world.write('A', 'a')
      world.read('C', 'a')
      world.read('A', 'a')
      assert.deepEqual(world.waiters('a'), ['write of A', 'read of C', 'read of A'])
      await settled()
    }
  },
  {
    title: 'a shared lease waits behind the write that another shared lease keeps from running',
    async check(create) {
      const world = createLeaseWorld(create)
      world.sharedLease('A', 'a')
      const write = world.write('B', 'a')
      const shared = world.sharedLease('C', 'a')
      assert.deepEqual(world.waiters('a'), ['write of B', 'lease of C'])
      world.locks.leases.release('a', 'A')
      assert.deepEqual(world.holders('a'), ['write of B'])
      await settled()
      write.lock.release()
      assert.equal(leaseFrom(shared).isHeld, true)
    }
  },
  {
    title: 'an operation is not kept back by the lease that another has asked for after its agent had one',
    async check(create) {
      const world = createLeaseWorld(create)
      const read = world.read('D', 'a')
      world.sharedLease('A', 'a')
      world.lease('B', 'a')
      world.write('A', 'a')
      world.read('C', 'a')
      assert.deepEqual(world.waiters('a'), ['lease of B', 'write of A', 'read of C'])
      await settled()
      read.lock.release()
      assert.deepEqual(world.holders('a'), ['lease of A', 'write of A'])
    }
  },
  {
    title: 'an operation passes no other for the sake of a lease that is asked for behind it',
    async check(create) {
      const world = createLeaseWorld(create)
      const read = world.read('D', 'a')
      const write = world.write('B', 'a')
      world.lease('A', 'a')
      world.read('C', 'a')
      assert.deepEqual(world.waiters('a'), ['write of B', 'lease of A', 'read of C'])
      await settled()
      read.lock.release()
      assert.deepEqual(world.holders('a'), ['write of B'])
      await settled()
      write.lock.release()
      assert.deepEqual(world.holders('a'), ['lease of A', 'read of C'])
    }
  },
  {
    title: 'the operations of who holds a lease pass those who wait for one; those of others do not',
    async check(create) {
      const world = createLeaseWorld(create)
      world.sharedLease('A', 'a')
      world.lease('B', 'a')
      const own = world.write('A', 'a')
      const other = world.write('C', 'a')
      assert.deepEqual(world.holders('a'), ['lease of A', 'write of A'])
      await settled()
      own.lock.release()
      world.locks.leases.release('a', 'A')
      assert.deepEqual([world.holders('a'), world.waiters('a')], [['lease of B'], ['write of C']])
      assert.equal(other.outcome, 'pending')
    }
  },
  {
    title: 'a lease that ends does not interrupt the operation that it covers; the lease of another waits for it',
    async check(create) {
      for (const [how, end] of Object.entries(endings)) {
        const world = createLeaseWorld(create)
        const request = world.lease('A', 'a', { connection: 'session' })
        const write = world.write('A', 'a')
        const next = world.lease('B', 'a')
        world.locks.leases.renew('a', 'A', 1000)
        await settled()
        end(world)
        assert.equal(leaseFrom(request).isHeld, false, how)
        write.lock.assertHeld()
        assert.deepEqual([world.holders('a'), world.waiters('a')], [['write of A'], ['lease of B']], how)
        write.lock.release()
        assert.equal(leaseFrom(next).isHeld, true, how)
      }
    }
  },
  {
    title: 'leases that bind no operation keep each other out, and nothing else',
    async check(create) {
      const world = createLeaseWorld(create, {}, { leasesBindOperations: false })
      world.lease('A', 'a')
      world.lease('B', 'a')
      const write = world.write('C', 'a')
      world.read('D', 'a')
      assert.deepEqual(world.holders('a'), ['lease of A', 'write of C'])
      assert.deepEqual(world.waiters('a'), ['lease of B', 'read of D'])
      world.locks.leases.release('a', 'A')
      assert.deepEqual([world.holders('a'), world.waiters('a')], [['write of C', 'lease of B'], ['read of D']])
      await settled()
      write.lock.release()
      assert.deepEqual([world.holders('a'), world.waiters('a')], [['lease of B', 'read of D'], []])
    }
  },
  {
    title: 'trying a lease takes what is free or held already, and otherwise changes nothing',
    async check(create) {
      const { locks } = createLeaseWorld(create)
      const options = (agentId: string) => ({ operation: 'lock_try', agentId, ttlMs: 1000 })
      const request = (mode: 'shared' | 'exclusive') => ({ key: 'a', path: 'a.txt', mode })
      assert.equal(locks.leases.isFree(request('exclusive'), options('A')), true)
      assert.equal(locks.summary().paths, 0)
      const first = locks.leases.tryRequest(request('exclusive'), options('A'))
      assert.equal(locks.leases.tryRequest(request('shared'), options('B')), undefined)
      assert.equal(locks.leases.isFree(request('shared'), options('B')), false)
      for (const mode of modes) {
        assert.equal(locks.leases.isFree(request(mode), options('A')), true)
        assert.equal(locks.leases.tryRequest(request(mode), options('A'))?.lease, leaseFrom(first))
      }
      assert.deepEqual(locks.summary(), { paths: 1, shared: 0, exclusive: 1, leases: 1, waiting: 0 })
    }
  }
]
