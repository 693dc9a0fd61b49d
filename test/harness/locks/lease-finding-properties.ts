// What every lock manager must hold to when it is asked which leases there are: by key, name, agent or connection.
import assert from 'node:assert/strict'
import type { Lease } from '../../../src/engine/locks/lock.ts'
import { createLeaseWorld, leaseFrom, type LeaseWorld } from './lease-world.ts'
import type { LockProperty } from './lock-world.ts'

/** Exclusive, and under a name that differs from the key. */
function leaseUnder({ locks }: LeaseWorld, agentId: string, key: string, name: string) {
  const options = { operation: 'lock_try', agentId, ttlMs: 300_000, timeoutMs: 0, graceMs: 0 }
  return locks.leases.request({ key, path: key, mode: 'exclusive', name }, options)
}

const toNames = (leases: Iterable<Lease>) => Array.from(leases, ({ agentId, key }) => `${agentId} ${key}`)

export const leaseFindingProperties: readonly LockProperty[] = [
  {
    title: 'leases are found by their keys and by the names under which they were asked for, as long as they are held',
    async check(create) {
      const world = createLeaseWorld(create)
      const { leases } = world.locks
      for (const agentId of ['A', 'B']) world.sharedLease(agentId, 'a')
      leaseUnder(world, 'A', 'b', 'alias')
      leaseUnder(world, 'B', 'c', 'alias')
      const find = (agentId: string | undefined, ...names: string[]) => toNames(leases.finder(agentId)(new Set(names)))
      assert.deepEqual(find(undefined, 'a'), ['A a', 'B a'])
      assert.deepEqual(find('B', 'a'), ['B a'])
      assert.deepEqual(find(undefined, 'alias'), ['A b', 'B c'])
      assert.deepEqual(find('B', 'alias'), ['B c'])
      assert.deepEqual(find(undefined, 'b', 'alias', 'a'), ['A b', 'B c', 'A a', 'B a'], 'each once')
      assert.deepEqual(find(undefined, 'no such'), [])
      assert.deepEqual(find('C', 'a'), [])
      const finder = leases.finder()
      leases.release('b', 'A')
      assert.deepEqual(toNames(finder(new Set(['alias']))), ['B c'])
      world.clock.stall(300_000)
      assert.deepEqual(find(undefined, 'a', 'alias'), [])
    }
  },
  {
    title: 'a lease keeps the four latest names under which its agent has asked for it',
    async check(create) {
      const world = createLeaseWorld(create)
      const lease = leaseFrom(leaseUnder(world, 'A', 'a', 'n1'))
      assert.deepEqual(lease.names, ['n1'])
      const { names } = lease
      leaseUnder(world, 'A', 'a', 'n1')
      assert.equal(lease.names, names, 'nothing new')
      for (const name of ['n2', 'n3', 'n2', 'n4']) leaseUnder(world, 'A', 'a', name)
      assert.deepEqual(lease.names, ['n1', 'n2', 'n3', 'n4'])
      leaseUnder(world, 'A', 'a', 'n5')
      assert.deepEqual(lease.names, ['n2', 'n3', 'n4', 'n5'])
      const restored = createLeaseWorld(create).locks.leases
      assert.deepEqual(restored.restore(stateOf(lease))?.lease?.names, ['n2', 'n3', 'n4', 'n5'])
      const nameless = restored.restore({ ...stateOf(lease), agentId: 'B', key: 'b', names: undefined })
      assert.deepEqual(nameless?.lease?.names, [])
      assert.deepEqual(world.locks.leases.request(targetOf('b'), optionsOf('B')).lease?.names, [])
    }
  },
  {
    title: 'all leases that are held, and the connections with which leases end, can be asked for',
    async check(create) {
      const world = createLeaseWorld(create)
      const { leases } = world.locks
      world.lease('A', 'a', { connection: 'c1', ttlMs: 1000 })
      world.lease('B', 'b', { connection: 'c2' })
      world.lease('C', 'c')
      world.lease('B', 'a', { connection: 'c3' })
      assert.deepEqual(toNames(leases.all()), ['A a', 'B b', 'C c'])
      assert.deepEqual(leases.connections(), new Set(['c1', 'c2']))
      assert.deepEqual(
        ['c1', 'c2', 'c3'].map((connection) => leases.hasConnection(connection)),
        [true, true, false],
        'a request that waits has no lease'
      )
      world.clock.stall(1000)
      assert(!leases.hasConnection('c1'))
      assert.deepEqual(
        [toNames(leases.all()).toSorted(), leases.connections()],
        [['B a', 'B b', 'C c'], new Set(['c2', 'c3'])]
      )
    }
  },
  {
    title: 'each question ends what is over by the clock first',
    async check(create) {
      const ask: ((world: LeaseWorld) => unknown)[] = [
        ({ locks }) => [...locks.leases.all()],
        ({ locks }) => [...locks.leases.connections()],
        ({ locks }) => locks.leases.hasConnection('c') || [],
        ({ locks }) => locks.leases.finder('A')(new Set(['a'])),
        ({ locks }) => locks.leases.break('a', { cause: 'broken', reason: 'test', by: undefined }),
        ({ locks }) => Array.from({ length: locks.leases.disconnect('c') }),
        ({ locks }) => Array.from({ length: locks.leases.releaseAll('A') }),
        ({ locks }) => (locks.leases.find('a', 'A') === undefined ? [] : ['found']),
        ({ locks }) => (locks.leases.cancelRequests('none'), [...locks.entries()])
      ]
      for (const question of ask) {
        const world = createLeaseWorld(create)
        world.lease('A', 'a', { connection: 'c' })
        world.clock.stall(300_000)
        assert.deepEqual(question(world), [], String(question))
        assert.deepEqual(world.ends, ['A lost a: expired'])
      }
    }
  },
  {
    title: 'a request says whether it has joined a lease that its agent had',
    async check(create) {
      const world = createLeaseWorld(create)
      const first = world.lease('A', 'a')
      const waiting = world.lease('B', 'a')
      assert.deepEqual(
        [first.hasJoinedLease, world.lease('A', 'a').hasJoinedLease, waiting.hasJoinedLease],
        [false, true, false]
      )
    }
  },
  {
    title: 'the paths held or waited for are listed with the number of their waiters',
    async check(create) {
      const world = createLeaseWorld(create)
      world.read('A', 'a b')
      world.write('B', 'a')
      assert.deepEqual(
        [...world.locks.paths()],
        [
          ['a', 'a.txt', 1],
          ['b', 'b.txt', 0]
        ]
      )
    }
  }
]

const targetOf = (key: string) => ({ key, path: key, mode: 'exclusive' as const })
const optionsOf = (agentId: string) => ({ operation: 'lock_try', agentId, ttlMs: 1000, timeoutMs: 0, graceMs: 0 })

/** Plain, as it comes from a journal. */
function stateOf(lease: Lease) {
  const { key, path, names, agentId, mode, operation, note, fencingToken, ttlMs, graceMs } = lease
  const { acquiredAt, expiresAt, isParked } = lease
  return {
    key,
    path,
    names,
    agentId,
    mode,
    operation,
    note,
    fencingToken,
    ttlMs,
    graceMs,
    acquiredAt,
    expiresAt,
    isParked
  }
}
