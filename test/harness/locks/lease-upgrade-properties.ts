// What every lock manager must hold to about leases made stronger, and requests undone.
import assert from 'node:assert/strict'
import type { Lease } from '../../../src/engine/locks/lock.ts'
import { createLeaseWorld, errorFrom, leaseFrom } from './lease-world.ts'
import { settled, type LockProperty } from './lock-world.ts'

export const leaseUpgradeProperties: readonly LockProperty[] = [
  {
    title: 'a shared lease that is the only one becomes exclusive where it stands, and keeps its token',
    async check(create) {
      const world = createLeaseWorld(create)
      const lease = leaseFrom(world.sharedLease('A', 'a'))
      const { fencingToken } = lease
      world.read('B', 'a')
      world.write('A', 'a')
      assert.equal(leaseFrom(world.lease('A', 'a')), lease)
      assert.deepEqual([lease.mode, lease.fencingToken], ['exclusive', fencingToken])
      assert.deepEqual(world.locks.summary(), { paths: 1, shared: 1, exclusive: 1, leases: 1, waiting: 1 })
      assert.equal(leaseFrom(world.sharedLease('A', 'a')).mode, 'exclusive')
      assert.equal(world.sharedLease('B', 'a').isWaiting, true)
      world.locks.leases.release('a', 'A')
      assert.deepEqual(world.locks.summary(), { paths: 1, shared: 1, exclusive: 0, leases: 0, waiting: 2 })
      world.sharedLease('A', 'b')
      world.lease('A', 'b')
      world.read('B', 'b')
      world.locks.leases.release('b', 'A')
      world.read('C', 'b')
      assert.deepEqual(world.holders('b'), ['read of B', 'read of C'], 'nothing of it is left')
      await settled()
    }
  },
  {
    title: 'an upgrade waits for the other shared leases only, and goes before everybody who waits',
    async check(create) {
      const world = createLeaseWorld(create)
      const lease = leaseFrom(world.sharedLease('A', 'a'))
      world.sharedLease('B', 'a', { ttlMs: 10 })
      world.sharedLease('C', 'a', { ttlMs: 20 })
      world.lease('D', 'a')
      world.write('E', 'a')
      const { fencingToken } = lease
      const upgrade = world.lease('A', 'a')
      world.sharedLease('F', 'a')
      world.clock.advance(10)
      assert.deepEqual([upgrade.isWaiting, lease.mode], [true, 'shared'])
      world.clock.advance(10)
      assert.equal(leaseFrom(upgrade), lease)
      assert.deepEqual([lease.mode, lease.fencingToken], ['exclusive', fencingToken])
      assert.deepEqual(world.holders('a'), ['lease of A'])
      assert.deepEqual(world.waiters('a'), ['lease of D', 'write of E', 'lease of F'])
      await settled()
    }
  },
  {
    title: 'an upgrade waits for the write that its own lease does not keep out',
    async check(create) {
      const world = createLeaseWorld(create)
      const write = world.write('B', 'a')
      world.sharedLease('B', 'a')
      const waiting = world.sharedLease('A', 'a')
      const upgrade = world.lease('A', 'a')
      assert.deepEqual(world.waiters('a'), ['lease of A', 'lease of A'])
      await settled()
      write.lock.release()
      assert.deepEqual([leaseFrom(waiting).mode, upgrade.isWaiting], ['shared', true])
      world.locks.leases.release('a', 'B')
      assert.equal(leaseFrom(upgrade), waiting.lease)
      assert.equal(waiting.lease?.mode, 'exclusive')
    }
  },
  {
    title: 'an exclusive lease waited for becomes an upgrade when its agent is granted a shared one at once',
    async check(create) {
      const world = createLeaseWorld(create)
      const write = world.write('A', 'a')
      const other = world.sharedLease('B', 'a')
      const waiting = world.lease('A', 'a')
      assert.equal(waiting.isWaiting, true)
      const shared = world.sharedLease('A', 'a')
      assert.equal(leaseFrom(shared), leaseFrom(waiting))
      assert.equal(leaseFrom(shared).mode, 'exclusive')
      await settled()
      write.lock.release()
      assert.equal(other.isWaiting, true)
    }
  },
  {
    title: 'an upgrade whose lease ends meanwhile brings a new lease with a new token',
    async check(create) {
      const world = createLeaseWorld(create)
      const former = leaseFrom(world.sharedLease('A', 'a', { ttlMs: 10 }))
      world.sharedLease('B', 'a')
      const upgrade = world.lease('A', 'a', { ttlMs: 50 })
      world.lease('C', 'a', { ttlMs: 50 })
      world.clock.advance(10)
      assert.deepEqual([former.isHeld, upgrade.isWaiting], [false, true])
      world.locks.leases.release('a', 'B')
      const lease = leaseFrom(upgrade)
      assert.notEqual(lease, former)
      assert(lease.fencingToken > former.fencingToken)
      upgrade.undo()
      assert.deepEqual([world.holders('a'), world.waiters('a')], [['lease of C'], []])
    }
  },
  {
    title: 'undoing a request gives a new lease back, makes an upgraded one shared again, and leaves a queue',
    async check(create) {
      const world = createLeaseWorld(create)
      const fresh = world.lease('A', 'a')
      const waiting = world.lease('B', 'a')
      const behind = world.lease('C', 'a')
      waiting.undo('not all could be had')
      assert.equal(errorFrom(waiting).code, 'CANCELLED')
      assert.equal(errorFrom(waiting).cause, 'not all could be had')
      assert.deepEqual(world.waiters('a'), ['lease of C'])
      fresh.undo()
      fresh.undo()
      assert.equal(leaseFrom(behind).isHeld, true)
      const shared = leaseFrom(world.sharedLease('A', 'b'))
      const upgrade = world.lease('A', 'b')
      const other = world.sharedLease('B', 'b')
      assert.deepEqual([shared.mode, other.isWaiting], ['exclusive', true])
      upgrade.undo()
      assert.deepEqual([shared.mode, shared.isHeld], ['shared', true])
      assert.equal(leaseFrom(other).isHeld, true)
      upgrade.undo()
      assert.equal(shared.isHeld, true)
      assert.deepEqual(world.ends, [])
    }
  },
  {
    title: 'undoing a request leaves a lease that its agent had before, or has asked for since',
    async check(create) {
      for (const mode of ['shared', 'exclusive'] as const) {
        const world = createLeaseWorld(create)
        const lease = leaseFrom(world.lease('A', 'a', { mode }))
        world.lease('A', 'a', { mode: 'shared' }).undo()
        assert.deepEqual([lease.isHeld, lease.mode], [true, mode], `${mode}, before`)
        const parked = world.lease('A', 'b', { mode })
        assert.equal(leaseFrom(world.lease('A', 'b', { mode })), parked.lease)
        parked.undo()
        parked.undo()
        assert.deepEqual([parked.lease?.isHeld, parked.lease?.mode], [true, mode], `${mode}, since`)
        const weaker = world.sharedLease('A', 'c')
        world.lease('A', 'c', { mode })
        weaker.undo()
        assert.deepEqual([weaker.lease?.isHeld, weaker.lease?.mode], [true, mode], `${mode}, since a shared one`)
      }
    }
  },
  {
    title: 'undoing a request takes back what it said of a lease, unless the agent has said something else since',
    async check(create) {
      const world = createLeaseWorld(create)
      const saysOf = ({ note, connection }: Lease) => [note, connection]
      const lease = leaseFrom(world.lease('A', 'a', { ttlMs: 1000, note: 'first', connection: 'one' }))
      world.lease('A', 'a', { ttlMs: 50, note: 'second', connection: 'two' }).undo()
      assert.deepEqual(saysOf(lease), ['first', 'one'])
      const requests = ['two', 'three', 'four'].map((connection) =>
        world.lease('A', 'a', { note: connection, connection })
      )
      requests[0]?.undo()
      assert.deepEqual(saysOf(lease), ['four', 'four'])
      requests[2]?.undo()
      assert.deepEqual(saysOf(lease), ['three', 'three'])
      world.clock.advance(10)
      world.locks.leases.renew('a', 'A', 1000)
      assert.equal(lease.expiresAt, world.clock.now() + 1000)
    }
  },
  {
    title: 'of two requests that waited together, undoing the stronger leaves the weaker one its lease',
    async check(create) {
      const world = createLeaseWorld(create)
      world.lease('B', 'a')
      const shared = world.sharedLease('A', 'a')
      const exclusive = world.lease('A', 'a')
      world.locks.leases.release('a', 'B')
      assert.equal(leaseFrom(shared), exclusive.lease)
      assert.equal(leaseFrom(shared).mode, 'exclusive')
      exclusive.undo()
      assert.deepEqual([shared.lease?.isHeld, shared.lease?.mode], [true, 'shared'])
      shared.undo()
      assert.equal(shared.lease?.isHeld, false)
      world.assertEmpty()
    }
  },
  {
    title: 'undoing a request whose lease has ended does not touch the lease that came after',
    async check(create) {
      const world = createLeaseWorld(create)
      world.sharedLease('A', 'a')
      const upgrade = world.lease('A', 'a')
      world.locks.leases.release('a', 'A')
      const next = leaseFrom(world.lease('A', 'a'))
      upgrade.undo()
      assert.deepEqual([next.isHeld, next.mode], [true, 'exclusive'])
    }
  }
]
