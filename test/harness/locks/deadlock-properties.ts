// What every lock manager must hold to about waiting in a circle: found at once, named truly, and never where there is none.
import assert from 'node:assert/strict'
import { createLeaseWorld, errorFrom, leaseFrom } from './lease-world.ts'
import { settled, type LockProperty } from './lock-world.ts'

export const deadlockProperties: readonly LockProperty[] = [
  {
    title:
      'of two agents that wait for each other\u2019s leases the second is refused with the circle, and keeps its leases',
    async check(create) {
      const world = createLeaseWorld(create)
      const [first, second] = [world.lease('A', 'a'), world.lease('B', 'b')]
      const waiting = world.lease('A', 'b')
      const refused = world.lease('B', 'a')
      assertCycle(refused, 'B -> a.txt -> A -> b.txt -> B')
      const { message, path, details } = errorFrom(refused)
      assert.equal(path, 'a.txt')
      assert.equal(
        message,
        'lease of B would wait for ever: B -> a.txt -> A -> b.txt -> B. Nothing was changed, and the leases held stay; ' +
          'release one that another waits for (lock_release), then try again.'
      )
      assert.deepEqual(details?.['waits'], [
        { agent_id: 'B', waits_for: 'a.txt' },
        { agent_id: 'A', waits_for: 'b.txt' }
      ])
      assert.deepEqual([leaseFrom(first).isHeld, leaseFrom(second).isHeld, waiting.isWaiting], [true, true, true])
      world.locks.leases.release('b', 'B')
      assert.equal(leaseFrom(waiting).isHeld, true)
      assert.equal(world.lease('B', 'a').isWaiting, true)
    }
  },
  {
    title: 'a circle of three agents is found where it closes, and the shortest one is named',
    async check(create) {
      const world = createLeaseWorld(create)
      world.lease('A', 'a')
      world.lease('B', 'b')
      world.lease('C', 'c')
      world.lease('A', 'b')
      world.lease('B', 'c')
      assertCycle(world.lease('C', 'a'), 'C -> a.txt -> A -> b.txt -> B -> c.txt -> C')
      for (const order of ['AB', 'BA']) {
        const longer = createLeaseWorld(create)
        longer.lease('C', 'c')
        longer.lease('D', 'd')
        for (const agentId of order) longer.sharedLease(agentId, 'a')
        longer.lease('A', 'd')
        for (const agentId of ['B', 'D']) longer.lease(agentId, 'c')
        assertCycle(longer.lease('C', 'a'), 'C -> a.txt -> B -> c.txt -> C')
      }
    }
  },
  {
    title: 'a write waits for a lease as another lease does, and its agent with it',
    async check(create) {
      const world = createLeaseWorld(create)
      world.lease('A', 'a')
      world.lease('B', 'b')
      const write = world.write('A', 'b')
      assertCycle(world.lease('B', 'a'), 'B -> a.txt -> A -> b.txt -> B')
      const other = createLeaseWorld(create)
      other.lease('A', 'a')
      other.lease('B', 'b')
      const waiting = other.lease('B', 'a')
      const refused = other.write('A', 'b')
      await settled()
      assertCycle(refused, 'A -> b.txt -> B -> a.txt -> A')
      assert.equal(waiting.isWaiting, true)
      assert.deepEqual(other.waiters('b'), [])
      write.controller.abort()
      await settled()
    }
  },
  {
    title: 'two writers with a shared lease each on one path wait for each other',
    async check(create) {
      const world = createLeaseWorld(create)
      world.sharedLease('A', 'a')
      world.sharedLease('B', 'a')
      world.write('A', 'a')
      const refused = world.write('B', 'a')
      await settled()
      assertCycle(refused, 'B -> a.txt -> A -> a.txt -> B')
      assert.deepEqual(world.waiters('a'), ['write of A'])
    }
  },
  {
    title: 'a circle through an operation with two paths is found, whoever closes it, also amid a promotion',
    async check(create) {
      const closedByLease = createLeaseWorld(create)
      closedByLease.lease('A', 'b')
      closedByLease.write(undefined, 'a b')
      assert.equal(closedByLease.lease('B', 'b').isWaiting, true)
      assertCycle(closedByLease.lease('A', 'a'), 'A -> a.txt -> write without agent_id -> b.txt -> A')
      const closedByOperation = createLeaseWorld(create)
      closedByOperation.lease('A', 'b')
      closedByOperation.lease('B', 'a')
      const operation = closedByOperation.write('C', 'a b')
      const waiting = closedByOperation.lease('A', 'a')
      const behind = closedByOperation.write('B', 'c')
      closedByOperation.locks.leases.release('a', 'B')
      await settled()
      assertCycle(operation, 'C -> b.txt -> A -> a.txt -> C')
      assert.equal(leaseFrom(waiting).isHeld, true, 'what the refused one held goes to the next')
      assert.deepEqual(closedByOperation.waiters('b'), [])
      behind.lock.release()
    }
  },
  {
    title: 'all that an agent asks for in one turn counts as its waits, and only what closes a circle is refused',
    async check(create) {
      const world = createLeaseWorld(create)
      world.lease('B', 'b')
      world.lease('C', 'c')
      world.lease('A', 'a')
      const group = ['b', 'c', 'd'].map((key) => world.lease('A', key))
      assertCycle(world.lease('C', 'a'), 'C -> a.txt -> A -> c.txt -> C')
      assertCycle(world.lease('B', 'd'), 'B -> d.txt -> A -> b.txt -> B')
      leaseFrom(world.lease('B', 'e'))
      assert.deepEqual(
        group.map(({ isWaiting }) => isWaiting),
        [true, true, false]
      )
    }
  },
  {
    title: 'of two upgrades on one path the second is refused, and the first is granted when the other lease ends',
    async check(create) {
      const world = createLeaseWorld(create)
      world.sharedLease('A', 'a')
      const other = world.sharedLease('B', 'a')
      const first = world.lease('A', 'a')
      assertCycle(world.lease('B', 'a'), 'B -> a.txt -> A -> a.txt -> B')
      assert.equal(leaseFrom(other).isHeld, true)
      world.locks.leases.release('a', 'B')
      assert.equal(leaseFrom(first).mode, 'exclusive')
    }
  },
  {
    title: 'a parked request still waits, and still can be the one that another waits for in a circle',
    async check(create) {
      const world = createLeaseWorld(create)
      world.lease('A', 'a')
      world.lease('B', 'b')
      const parked = world.lease('A', 'b', { timeoutMs: 10, graceMs: 100 })
      world.clock.advance(10)
      assert.equal(parked.isParked, true)
      assertCycle(world.lease('B', 'a'), 'B -> a.txt -> A -> b.txt -> B')
      world.clock.advance(100)
      assert.equal(world.lease('B', 'a').isWaiting, true)
    }
  },
  {
    title: 'who waits behind a waiter waits for all that the waiter waits for',
    async check(create) {
      const world = createLeaseWorld(create)
      world.sharedLease('A', 'a')
      world.lease('B', 'a')
      world.sharedLease('C', 'c')
      world.lease('A', 'c')
      assertCycle(world.sharedLease('C', 'a'), 'C -> a.txt -> B -> a.txt -> A -> c.txt -> C')
    }
  },
  {
    title: 'a circle that closes although nobody comes, since one who was passed is granted, is found in that turn',
    async check(create) {
      const world = createLeaseWorld(create)
      world.sharedLease('A', 'a')
      world.read('D', 'a')
      const passed = world.lease('C', 'a')
      const shared = world.sharedLease('B', 'a')
      const operation = world.write('A', 'a')
      world.lease('A', 'b')
      world.lease('B', 'b')
      assert.deepEqual(world.waiters('a'), ['lease of C', 'lease of B', 'write of A'])
      passed.cancel()
      await settled()
      assert.equal(leaseFrom(shared).isHeld, true)
      assertCycle(operation, 'A -> a.txt -> B -> b.txt -> A')
    }
  },
  {
    title: 'a circle that closes since an upgrade is granted at once is found at once',
    async check(create) {
      const world = createLeaseWorld(create)
      world.sharedLease('A', 'a')
      const write = world.write('A', 'a')
      world.lease('B', 'b')
      const waiting = world.sharedLease('B', 'a')
      world.lease('A', 'b')
      assert.equal(waiting.isWaiting, true)
      const upgrade = world.lease('A', 'a')
      assert.equal(leaseFrom(upgrade).mode, 'exclusive')
      assertCycle(waiting, 'B -> a.txt -> A -> b.txt -> B')
      await settled()
      write.lock.release()
    }
  },
  {
    title: 'a circle that closes since a lease ends that let its agent pass is found in that turn',
    async check(create) {
      const world = createLeaseWorld(create)
      world.sharedLease('A', 'a')
      world.sharedLease('C', 'a')
      world.lease('B', 'a')
      const write = world.write('A', 'a')
      world.lease('A', 'b')
      assert.equal(world.lease('B', 'b').isWaiting, true)
      world.locks.leases.release('a', 'A')
      await settled()
      assertCycle(write, 'A -> a.txt -> B -> b.txt -> A')
    }
  },
  {
    title: 'many ways from each agent to the next make the search for a circle no longer',
    async check(create) {
      const world = createLeaseWorld(create)
      const count = 24
      for (let index = 0; index < count; index += 1)
        for (const way of ['x', 'y']) leaseFrom(world.lease(`A${index}`, `${way}${index}`))
      for (let index = 1; index < count; index += 1)
        for (const way of ['x', 'y']) assert.equal(world.lease(`A${index - 1}`, `${way}${index}`).isWaiting, true)
      world.lease('B', 'b')
      assert.equal(world.lease('B', 'x0').isWaiting, true)
      assert.equal(world.lease(`A${count - 1}`, 'c').isWaiting, false)
      assert.equal(errorFrom(world.lease(`A${count - 1}`, 'b')).code, 'DEADLOCK')
    }
  },
  {
    title: 'of several circles that close at once each is broken',
    async check(create) {
      const world = createLeaseWorld(create)
      world.sharedLease('A', 'a')
      world.sharedLease('C', 'a')
      world.lease('B', 'a')
      const write = world.write('A', 'a')
      const upgrade = world.lease('A', 'a')
      world.lease('A', 'b')
      assert.equal(world.lease('B', 'b').isWaiting, true)
      world.locks.leases.release('a', 'A')
      await settled()
      for (const refused of [write, upgrade]) assertCycle(refused, 'A -> a.txt -> B -> b.txt -> A')
      assert.deepEqual(world.waiters('a'), ['lease of B'])
    }
  },
  {
    title: 'a circle of agents that only wait is found, where one asks for two paths',
    async check(create) {
      const world = createLeaseWorld(create)
      const writes = ['a', 'b'].map((key) => world.write('D', key))
      const first = world.lease('A', 'a')
      world.lease('B', 'b')
      assert.equal(world.lease('B', 'a').isWaiting, true)
      assertCycle(world.lease('A', 'b'), 'A -> b.txt -> B -> a.txt -> A')
      await settled()
      for (const write of writes) write.lock.release()
      assert.equal(leaseFrom(first).isHeld, true)
    }
  },
  {
    title: 'a lease to come is no way past those who hold the path already',
    async check(create) {
      const world = createLeaseWorld(create)
      world.sharedLease('B', 'a')
      const write = world.write('B', 'a')
      world.lease('A', 'b')
      world.lease('B', 'b')
      const shared = world.sharedLease('A', 'a')
      assertCycle(world.lease('A', 'a'), 'A -> a.txt -> B -> b.txt -> A')
      await settled()
      write.lock.release()
      leaseFrom(shared)
    }
  },
  {
    title: 'a circle that closes since a request leaves whose lease would have opened it is found in that turn',
    async check(create) {
      for (const isHeld of [true, false]) {
        const world = createLeaseWorld(create)
        world.sharedLease('C', 'a')
        if (!isHeld) world.lease('D', 'b')
        const leaving = world.lease('A', 'a')
        world.lease('B', 'a')
        const write = world.write('A', 'a')
        assert.equal(world.lease('A', 'b').isWaiting, !isHeld)
        assert.equal(world.lease('B', 'b').isWaiting, true)
        leaving.cancel()
        await settled()
        assertCycle(write, 'A -> a.txt -> B -> b.txt -> A')
      }
    }
  },
  {
    title: 'an operation that runs waits for nobody, whatever else its agent waits for',
    async check(create) {
      const world = createLeaseWorld(create)
      const write = world.write('B', 'a')
      world.lease('B', 'c')
      world.lease('A', 'b')
      const first = world.lease('A', 'a')
      const second = world.lease('B', 'b')
      assert.deepEqual([first.isWaiting, second.isWaiting], [true, true])
      await settled()
      write.lock.release()
      assert.equal(leaseFrom(first).isHeld, true)
    }
  },
  {
    title: 'who asks for a lease and then writes is not in his own way, and writes as soon as he has it',
    async check(create) {
      for (const isBehindWrite of [true, false]) {
        const world = createLeaseWorld(create)
        const running = isBehindWrite ? world.write('B', 'a') : undefined
        if (!isBehindWrite) world.lease('B', 'a')
        const lease = world.lease('A', 'a')
        const between = world.write('C', 'a')
        const write = world.write('A', 'a')
        await settled()
        assert.deepEqual([lease.error, write.outcome], [undefined, 'pending'])
        running?.lock.release()
        world.locks.leases.release('a', 'B')
        assert.deepEqual(world.holders('a'), ['lease of A', 'write of A'])
        await settled()
        write.lock.release()
        assert.equal(between.outcome, 'pending')
        world.locks.leases.release('a', 'A')
        assert.deepEqual(world.holders('a'), ['write of C'])
        await settled()
      }
    }
  },
  {
    title: 'who asks again for what he waits for is not in his own way',
    async check(create) {
      const world = createLeaseWorld(create)
      world.lease('B', 'a')
      const first = world.lease('A', 'a', { timeoutMs: 10, graceMs: 1000 })
      world.write('C', 'a')
      world.lease('C', 'a')
      world.clock.advance(10)
      const again = world.lease('A', 'a')
      const write = world.write('A', 'a')
      assert.deepEqual([again.error, world.locks.status('a').depth], [undefined, 5])
      world.locks.leases.release('a', 'B')
      assert.equal(leaseFrom(again), leaseFrom(first))
      assert.deepEqual(world.holders('a'), ['lease of A', 'write of A'])
      await settled()
      write.lock.assertHeld()
    }
  },
  {
    title: 'who waits for a shared lease and then for an exclusive one is not in his own way',
    async check(create) {
      const world = createLeaseWorld(create)
      const write = world.write(undefined, 'a')
      const shared = world.sharedLease('A', 'a')
      world.lease('B', 'a')
      world.sharedLease('C', 'a')
      const exclusive = world.lease('A', 'a')
      assert.equal(exclusive.error, undefined)
      await settled()
      write.lock.release()
      assert.equal(leaseFrom(exclusive), leaseFrom(shared))
      assert.deepEqual([world.holders('a'), world.waiters('a')], [['lease of A'], ['lease of B', 'lease of C']])
    }
  },
  {
    title: 'a way that a coming lease opens counts for those in between as well',
    async check(create) {
      for (const asksToo of [false, true]) {
        const world = createLeaseWorld(create)
        world.lease('C', 'c')
        world.lease('B', 'b')
        const write = world.write('D', 'a')
        for (const key of ['a', 'c']) world.lease('A', key)
        if (asksToo) world.lease('E', 'a')
        world.write('E', 'a')
        const read = world.read('B', 'a')
        const waiting = world.lease('C', 'b')
        assert.equal(waiting.isWaiting, true)
        await settled()
        write.lock.release()
        await settled()
        read.lock.release()
        world.locks.leases.releaseAll('B')
        assert.equal(leaseFrom(waiting).isHeld, true)
      }
    }
  },
  {
    title: 'who asks for an exclusive lease and then for a shared one waits for no shared one of another',
    async check(create) {
      const world = createLeaseWorld(create)
      world.sharedLease('C', 'c')
      world.lease('B', 'a')
      const write = world.write('C', 'a')
      const other = world.sharedLease('A', 'a')
      const exclusive = world.lease('C', 'a')
      const shared = world.sharedLease('C', 'a')
      const waiting = world.lease('A', 'c')
      assert.equal(waiting.isWaiting, true)
      world.locks.leases.release('a', 'B')
      assert.equal(leaseFrom(exclusive), leaseFrom(shared))
      await settled()
      write.lock.release()
      world.locks.leases.releaseAll('C')
      assert.deepEqual([leaseFrom(other).isHeld, leaseFrom(waiting).isHeld], [true, true])
    }
  },
  {
    title: 'an operation does not wait for one that a lease will keep from running before its turn',
    async check(create) {
      const world = createLeaseWorld(create)
      const write = world.write('D', 'a')
      world.lease('C', 'c')
      const group = ['a', 'c'].map((key) => world.lease('A', key))
      const kept = world.write('B', 'a')
      const read = world.read('C', 'a')
      await settled()
      assert.deepEqual(world.waiters('a'), ['lease of A', 'write of B', 'read of C'])
      write.lock.release()
      await settled()
      read.lock.assertHeld()
      assert.equal(group[0]?.lease?.isHeld, true)
      world.locks.leases.release('c', 'C')
      assert.deepEqual([world.locks.leases.releaseAll('A'), kept.outcome], [2, 'pending'])
      read.lock.release()
      assert.deepEqual(world.holders('a'), ['write of B'])
    }
  },
  {
    title: 'who stands between those of a circle does not leave for it, whatever leases he has that nobody waits for',
    async check(create) {
      const world = createLeaseWorld(create)
      for (const key of ['d', 'e', 'f', 'g']) world.lease('X', key)
      world.sharedLease('A', 'a')
      world.sharedLease('C', 'a')
      world.lease('B', 'a')
      const between = world.write('X', 'a')
      world.lease('Y', 'a')
      const write = world.write('A', 'a')
      world.lease('A', 'b')
      world.lease('B', 'b')
      world.locks.leases.release('a', 'A')
      await settled()
      assertCycle(write, 'A -> a.txt -> B -> b.txt -> A')
      assert.equal(between.outcome, 'pending')
    }
  }
]

function assertCycle({ error }: { readonly error: unknown }, cycle: string): void {
  const { code, details } = errorFrom({ error })
  assert.equal(code, 'DEADLOCK')
  assert.equal(details?.['cycle'], cycle)
}
