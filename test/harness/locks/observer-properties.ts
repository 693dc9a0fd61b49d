// What every lock manager must hold to when it tells an observer of releases and positions.
import assert from 'node:assert/strict'
import type { LockObserver } from '../../../src/engine/locks/observer.ts'
import { createLeaseWorld, leaseFrom, type LeaseWorld } from './lease-world.ts'
import { settled, type LockProperty } from './lock-world.ts'

/** @returns what has been told since it was last asked, once all of it has been told, and the end of the telling */
function observe({ locks }: LeaseWorld) {
  const told: string[] = []
  const observer: LockObserver = {
    onRelease: ({ path, agentId = 'nobody', isLease, mode, cause, fencingToken = 'none', isParked, waiting }) =>
      told.push(
        `${agentId} ${cause} ${path}: ${mode} ${isLease ? 'lease' : 'lock'} ${fencingToken}${isParked ? ', parked' : ''}, ${waiting} waiting`
      ),
    onPosition: ({ path, agentId = 'nobody', operation, position, depth }) =>
      told.push(`${agentId} (${operation}) ${path}: ${position} of ${depth}`)
  }
  const end = locks.observe(observer)
  const said = async () => {
    await settled()
    return told.splice(0)
  }
  return { told, said, end }
}

export const observerProperties: readonly LockProperty[] = [
  {
    title: 'an observer is told of each release, after the turn in which it happens, with its cause and who waited',
    async check(create) {
      const world = createLeaseWorld(create)
      const { told, said } = observe(world)
      const read = world.read(undefined, 'a b')
      const write = world.write('B', 'b a', { ttlMs: 1000 })
      await said()
      read.lock.release()
      assert.deepEqual(told, [])
      assert.deepEqual(await said(), [
        'nobody released a.txt: shared lock 1, 1 waiting',
        'nobody released b.txt: shared lock 1, 0 waiting'
      ])
      world.locks.release('a', write.lock.fencingToken)
      assert.deepEqual(await said(), ['B released a.txt: exclusive lock 2, 0 waiting'])
      world.clock.advance(1000)
      assert.deepEqual(await said(), ['B expired b.txt: exclusive lock 2, 0 waiting'])
      const half = world.write('C', 'c', { ttlMs: 2000 })
      world.write('D', 'b c', { timeoutMs: 1000 })
      await said()
      world.clock.advance(1000)
      assert.deepEqual(await said(), ['D released b.txt: exclusive lock none, 0 waiting'])
      half.lock.release()
      world.locks.release('c', 99)
      assert.deepEqual(await said(), ['C released c.txt: exclusive lock 3, 0 waiting'])
    }
  },
  {
    title: 'an observer is told how a lease has ended, and whether its agent knew of it',
    async check(create) {
      const world = createLeaseWorld(create)
      const { said } = observe(world)
      const lease = leaseFrom(world.lease('A', 'a', { connection: 'c' }))
      world.lease('B', 'a', { timeoutMs: 1000, graceMs: 5000 })
      world.clock.advance(1000)
      await said()
      world.locks.leases.disconnect('c')
      assert.deepEqual(await said(), [`A disconnected a.txt: exclusive lease ${lease.fencingToken}, 1 waiting`])
      world.clock.advance(5000)
      assert.deepEqual(await said(), ['B expired a.txt: exclusive lease 2, parked, 0 waiting'])
      world.sharedLease('A', 'a')
      world.locks.leases.break('a', { cause: 'broken', reason: 'test', by: 'C' })
      assert.deepEqual(await said(), ['A broken a.txt: shared lease 3, 0 waiting'])
    }
  },
  {
    title: 'an observer is told where a waiter stands, for the first hundred each time that changes',
    async check(create) {
      const world = createLeaseWorld(create)
      const { said } = observe(world)
      const holder = world.write('A', 'a')
      assert.deepEqual(await said(), [])
      const waiters = Array.from({ length: 103 }, (_, index) => world.write('B', 'a', { operation: `w${index + 1}` }))
      const joined = waiters.map((_, index) => `B (w${index + 1}) a.txt: ${index + 1} of 103`)
      assert.deepEqual(await said(), joined)
      waiters[50]?.controller.abort()
      await waiters[50]?.promise.catch(() => {})
      const moved = Array.from({ length: 50 }, (_, index) => `B (w${index + 52}) a.txt: ${index + 51} of 102`)
      assert.deepEqual(await said(), moved, 'those ahead stay where they are')
      world.read('C', 'b')
      world.write('C', 'b')
      holder.lock.release()
      const first = (await said()).filter((line) => !line.includes('released'))
      assert.equal(first.length, 101)
      assert(first.includes('C (write of C) b.txt: 1 of 1'))
      assert(first.includes('B (w2) a.txt: 1 of 101'))
      assert(first.includes('B (w102) a.txt: 100 of 101'))
    }
  },
  {
    title: 'an observer that is removed or replaced is told nothing more',
    async check(create) {
      const world = createLeaseWorld(create)
      const first = observe(world)
      const second = observe(world)
      first.end()
      world.write('A', 'a')
      world.write('B', 'a')
      assert.deepEqual([await first.said(), await second.said()], [[], ['B (write of B) a.txt: 1 of 1']])
      world.write('C', 'a')
      second.end()
      assert.deepEqual(await second.said(), [])
      world.write('D', 'a')
      const third = observe(world)
      world.write('E', 'a')
      observe(world)
      assert.deepEqual(await third.said(), [])
    }
  }
]
