// What every lock manager must hold to about waiting for a lease: places kept, limits, positions, words.
import assert from 'node:assert/strict'
import { createLeaseWorld, errorFrom, leaseFrom, type LeaseRequest } from './lease-world.ts'
import { settled, type LockProperty } from './lock-world.ts'

export const leaseWaitingProperties: readonly LockProperty[] = [
  {
    title: 'a request whose timeout ends keeps its place for its grace, and then leaves with LOCK_TIMEOUT',
    async check(create) {
      const world = createLeaseWorld(create)
      const start = world.clock.now()
      world.lease('A', 'a')
      const parked = world.lease('B', 'a', { timeoutMs: 100, graceMs: 50 })
      world.lease('C', 'a')
      world.clock.advance(99)
      assert.deepEqual([parked.isWaiting, parked.isParked], [true, false])
      world.clock.advance(1)
      assert.deepEqual([parked.isWaiting, parked.isParked, parked.error], [true, true, undefined])
      const [waiter] = world.locks.status('a').waiters
      assert.deepEqual([waiter?.isParked, waiter?.timeoutAt, waiter?.queuedAt], [true, start + 150, start])
      world.clock.advance(49)
      assert.deepEqual(world.waiters('a'), ['lease of B', 'lease of C'])
      world.clock.advance(1)
      assert.deepEqual(world.waiters('a'), ['lease of C'])
      assert.equal(errorFrom(parked).code, 'LOCK_TIMEOUT')
      assert.equal(errorFrom(world.lease('D', 'a', { timeoutMs: 0, graceMs: 50 })).code, 'LOCK_TIMEOUT')
    }
  },
  {
    title: 'what is granted while nobody waits for it lasts no longer than the grace, until somebody comes for it',
    async check(create) {
      for (const [graceMs, ttlMs, keptMs] of [
        [50, 1000, 50],
        [1000, 50, 50]
      ] as const) {
        for (const comes of [true, false]) {
          const world = createLeaseWorld(create)
          world.lease('A', 'a')
          const parked = world.lease('B', 'a', { timeoutMs: 100, graceMs, ttlMs })
          world.clock.advance(120)
          world.locks.leases.release('a', 'A')
          const lease = leaseFrom(parked)
          const grantedAt = world.clock.now()
          assert.deepEqual([lease.expiresAt, parked.isParked], [grantedAt + keptMs, true])
          world.clock.advance(keptMs - 1)
          assert.equal(lease.isHeld, true)
          if (comes) parked.resume({ timeoutMs: 100 })
          assert.equal(parked.isParked, !comes)
          assert.equal(lease.expiresAt, grantedAt + (comes ? keptMs - 1 + ttlMs : keptMs))
          world.clock.advance(1)
          assert.equal(lease.isHeld, comes)
          assert.deepEqual(world.ends, comes ? [] : ['B lost a: expired'])
        }
      }
    }
  },
  {
    title: 'an upgrade granted while nobody waits for it lasts its whole time once somebody comes for it',
    async check(create) {
      const world = createLeaseWorld(create)
      const lease = leaseFrom(world.sharedLease('B', 'a', { ttlMs: 200 }))
      world.sharedLease('A', 'a')
      const parked = world.lease('B', 'a', { timeoutMs: 100, graceMs: 500, ttlMs: 1000 })
      world.clock.advance(100)
      world.locks.leases.release('a', 'A')
      assert.equal(leaseFrom(parked), lease)
      assert.deepEqual([lease.mode, lease.expiresAt], ['exclusive', world.clock.now() + 500])
      world.clock.advance(10)
      parked.resume({ timeoutMs: 100 })
      assert.equal(lease.expiresAt, world.clock.now() + 1000)
      parked.resume({ timeoutMs: 100 })
      world.locks.leases.renew('a', 'B', 5000)
      parked.resume({ timeoutMs: 100 })
      assert.equal(lease.expiresAt, world.clock.now() + 5000, 'never shortened')
    }
  },
  {
    title: 'whoever comes back for a kept place waits anew from there, and can go away again',
    async check(create) {
      const world = createLeaseWorld(create)
      world.lease('A', 'a')
      const request = world.lease('B', 'a', { timeoutMs: 100, graceMs: 50 })
      world.lease('C', 'a')
      world.clock.advance(140)
      request.resume({ timeoutMs: 30 })
      assert.equal(request.isParked, false)
      world.clock.advance(29)
      assert.equal(request.isParked, false)
      world.clock.advance(1)
      assert.equal(request.isParked, true)
      world.clock.advance(49)
      request.resume({ timeoutMs: 1000 })
      world.clock.advance(999)
      world.locks.leases.release('a', 'A')
      const lease = leaseFrom(request)
      assert.equal(lease.expiresAt, world.clock.now() + 300_000)
      assert.deepEqual([world.holders('a'), world.waiters('a')], [['lease of B'], ['lease of C']])
    }
  },
  {
    title: 'whoever comes back for a kept place can ask for another grace, and else has the one before',
    async check(create) {
      const world = createLeaseWorld(create)
      world.lease('A', 'a')
      const request = world.lease('B', 'a', { timeoutMs: 100, graceMs: 50 })
      world.clock.advance(100)
      request.resume({ timeoutMs: 10, graceMs: 500 })
      world.clock.advance(509)
      assert.deepEqual([request.isWaiting, request.isParked], [true, true])
      request.resume({ timeoutMs: 10 })
      world.clock.advance(509)
      assert.deepEqual([request.isWaiting, request.isParked], [true, true])
      request.resume({ timeoutMs: 10, graceMs: 0 })
      world.clock.advance(10)
      assert.equal(errorFrom(request).code, 'LOCK_TIMEOUT')
    }
  },
  {
    title:
      'what a request has brought can be kept for its grace alone, until somebody comes for it or it is asked for again',
    async check(create) {
      const world = createLeaseWorld(create)
      const start = world.clock.now()
      const request = world.lease('A', 'a', { graceMs: 50, ttlMs: 1000 })
      request.keepForGrace()
      assert.equal(leaseFrom(request).expiresAt, start + 50)
      request.resume({ timeoutMs: 100 })
      assert.equal(request.lease?.expiresAt, start + 1000)
      const short = world.lease('A', 'b', { graceMs: 50, ttlMs: 20 })
      short.keepForGrace()
      assert.equal(leaseFrom(short).expiresAt, start + 20)
      const again = world.lease('A', 'a', { graceMs: 50, ttlMs: 1000 })
      for (const either of [request, again]) either.keepForGrace()
      assert.equal(again.lease?.expiresAt, start + 1000, 'the agent was told so')
      again.undo()
      request.keepForGrace()
      assert.equal(request.lease?.expiresAt, start + 50)
      world.clock.advance(50)
      assert.deepEqual(world.ends, ['A lost b: expired', 'A lost a: expired'])
      const released = world.lease('A', 'c', { graceMs: 50 })
      world.locks.leases.release('c', 'A')
      released.keepForGrace()
      world.clock.advance(50)
      assert.equal(world.ends.length, 2)
      world.assertEmpty()
    }
  },
  {
    title: 'a lease lasts as long as the call that brings it, and its time begins when its agent is told',
    async check(create) {
      const world = createLeaseWorld(create)
      const start = world.clock.now()
      const request = world.lease('A', 'a', { ttlMs: 100 })
      request.keepFor(50)
      assert.equal(leaseFrom(request).expiresAt, start + 100)
      request.keepFor(1000)
      assert.equal(leaseFrom(request).expiresAt, start + 1000)
      world.clock.advance(500)
      request.begin()
      assert.equal(leaseFrom(request).expiresAt, start + 600)
      world.locks.leases.renew('a', 'A', 5000)
      const again = world.lease('A', 'a', { ttlMs: 100 })
      again.begin()
      assert.equal(leaseFrom(again).expiresAt, start + 5500, 'never shortened')
      world.locks.leases.release('a', 'A')
      for (const late of [request, again]) late.begin()
      assert.equal(again.lease?.isHeld, false)
      world.assertEmpty()
    }
  },
  {
    title: 'a place kept or a lease granted whose time is over by the clock does not come back to life',
    async check(create) {
      const world = createLeaseWorld(create)
      world.lease('A', 'a', { ttlMs: 110 })
      const first = world.lease('B', 'a', { timeoutMs: 100, graceMs: 50 })
      const second = world.lease('C', 'a', { timeoutMs: 100, graceMs: 20 })
      world.clock.advance(110)
      assert.equal(leaseFrom(first).isHeld, true)
      world.clock.stall(50)
      second.resume({ timeoutMs: 1000 })
      assert.equal(errorFrom(second).code, 'LOCK_TIMEOUT')
      first.resume({ timeoutMs: 1000 })
      assert.equal(first.lease?.isHeld, false)
      assert.deepEqual(world.ends, ['A lost a: expired', 'B lost a: expired'])
      world.assertEmpty()
    }
  },
  {
    title: 'everybody who awaits the outcome of a request is told of its grant, its refusal and its parking',
    async check(create) {
      const world = createLeaseWorld(create)
      world.lease('A', 'a')
      const granted = world.lease('B', 'a', { timeoutMs: 100, graceMs: 50 })
      const refused = world.lease('C', 'a', { timeoutMs: 5 })
      const told: string[] = []
      const listen = async (name: string, request: LeaseRequest) => {
        await request.settled()
        told.push(name)
      }
      for (const name of ['first', 'second']) void listen(`${name} of C`, refused)
      for (const name of ['first', 'second']) void listen(`${name} of B`, granted)
      await settled()
      assert.deepEqual(told, [])
      world.clock.advance(5)
      await settled()
      assert.deepEqual(told.splice(0), ['first of C', 'second of C'])
      world.clock.advance(95)
      await settled()
      assert.deepEqual(told.splice(0), ['first of B', 'second of B'])
      granted.resume({ timeoutMs: 100 })
      void listen('again', granted)
      await settled()
      assert.deepEqual(told, [])
      world.locks.leases.release('a', 'A')
      void listen('late', granted)
      await settled()
      assert.deepEqual(new Set(told), new Set(['again', 'late']))
    }
  },
  {
    title: 'a cancelled request leaves its queue at once; once granted it stays granted',
    async check(create) {
      const world = createLeaseWorld(create)
      const holder = world.lease('A', 'a')
      const request = world.lease('B', 'a')
      const behind = world.lease('C', 'a', { timeoutMs: 5, graceMs: 100 })
      holder.cancel()
      assert.equal(leaseFrom(holder).isHeld, true)
      request.cancel('the client is gone')
      assert.deepEqual([errorFrom(request).code, errorFrom(request).cause], ['CANCELLED', 'the client is gone'])
      assert.equal(errorFrom(request).path, 'a.txt')
      world.clock.advance(5)
      behind.cancel()
      assert.deepEqual([behind.isWaiting, world.waiters('a')], [false, []])
      world.clock.advance(100_000)
      assert.equal(errorFrom(behind).code, 'CANCELLED')
    }
  },
  {
    title: 'who waits for a lease is told its position while somebody waits for the answer, and whoever comes back too',
    async check(create) {
      const world = createLeaseWorld(create)
      const told: string[] = []
      const tell = (name: string) => (position: number, total: number) => told.push(`${name} ${position} of ${total}`)
      world.lease('A', 'a')
      const first = world.lease('B', 'a')
      const second = world.lease('C', 'a')
      const request = world.lease('D', 'a', { timeoutMs: 10, graceMs: 100, onPosition: tell('first') })
      await settled()
      first.cancel()
      await settled()
      world.clock.advance(10)
      const late = world.lease('E', 'a')
      await settled()
      request.resume({ timeoutMs: 1000, onPosition: tell('second') })
      late.cancel()
      await settled()
      second.cancel()
      await settled()
      request.resume({ timeoutMs: 1000 })
      world.lease('E', 'a')
      await settled()
      assert.deepEqual(told, ['first 3 of 3', 'first 2 of 2', 'second 2 of 2', 'second 1 of 1'])
    }
  },
  {
    title: 'a position listener that throws fails its own request for a lease and nobody else\u2019s',
    async check(create) {
      const world = createLeaseWorld(create)
      world.lease('A', 'a')
      const fault = new Error('the stream is closed')
      const faulty = world.lease('B', 'a', {
        onPosition: () => {
          throw fault
        }
      })
      let toldPosition = 0
      world.lease('C', 'a', { onPosition: (position) => (toldPosition = position) })
      await settled()
      assert.equal(faulty.error, fault)
      assert.deepEqual([world.waiters('a'), toldPosition], [['lease of C'], 1])
    }
  },
  {
    title: 'an agent at its limit of leases is refused another with OVERLOADED, also one it waited for, but no upgrade',
    async check(create) {
      const world = createLeaseWorld(create, { maxLeasesPerAgent: 2 })
      world.lease('B', 'c')
      const waiting = world.lease('A', 'c')
      const kept = world.sharedLease('A', 'a')
      const shared = world.sharedLease('B', 'a')
      world.lease('A', 'b')
      const refused = [world.lease('A', 'd'), world.lease('A', 'c')]
      const behind = world.lease('C', 'c')
      assert.deepEqual(world.waiters('c'), ['lease of A', 'lease of C'])
      world.locks.leases.release('c', 'B')
      for (const request of [...refused, waiting]) {
        assert.equal(errorFrom(request).code, 'OVERLOADED')
        assert.deepEqual(errorFrom(request).details, { retry_after_seconds: 1, limit: 2 })
        assert.match(errorFrom(request).message, /agent A already holds 2 leases/)
      }
      assert.equal(leaseFrom(behind).isHeld, true)
      assert.deepEqual(world.locks.status('d'), { holders: [], waiters: [], depth: 0 })
      const upgrade = world.lease('A', 'a')
      assert.equal(upgrade.isWaiting, true)
      shared.undo()
      assert.equal(leaseFrom(upgrade), kept.lease)
      leaseFrom(world.lease('A', 'b'))
      world.locks.leases.release('b', 'A')
      leaseFrom(world.lease('A', 'd'))
    }
  },
  {
    title: 'all agents together at the limit of leases are refused another with OVERLOADED, and none that is there',
    async check(create) {
      const world = createLeaseWorld(create, { maxLeases: 2 })
      const first = world.sharedLease('A', 'a')
      leaseFrom(world.sharedLease('B', 'a'))
      const refused = [world.lease('C', 'c'), world.lease('C', 'a')]
      for (const request of refused) {
        assert.equal(errorFrom(request).code, 'OVERLOADED')
        assert.deepEqual(errorFrom(request).details, { retry_after_seconds: 1, limit: 2 })
        assert.match(errorFrom(request).message, /all agents together already hold 2 leases/)
      }
      const upgrade = world.lease('B', 'a')
      assert.deepEqual([upgrade.isWaiting, leaseFrom(world.sharedLease('A', 'a'))], [true, first.lease])
      world.locks.leases.release('a', 'A')
      assert.equal(leaseFrom(upgrade).mode, 'exclusive')
      leaseFrom(world.lease('C', 'c'))
      assert.equal(errorFrom(world.lease('D', 'd')).code, 'OVERLOADED')
    }
  },
  {
    title: 'an agent holds up to 10,000 leases, and those it waits for count as its waiters',
    isLong: true,
    async check(create) {
      const world = createLeaseWorld(create)
      for (let index = 0; index < 10_000; index += 1) leaseFrom(world.lease('A', `k${index}`))
      assert.equal(errorFrom(world.lease('A', 'one more')).code, 'OVERLOADED')
      const small = createLeaseWorld(create, { maxWaitersPerAgent: 2, maxWaitersPerKey: 3 })
      small.lease('B', 'a')
      small.lease('B', 'b')
      small.lease('A', 'a')
      small.write('A', 'b')
      assert.equal(errorFrom(small.lease('A', 'b')).code, 'OVERLOADED')
      small.lease('C', 'a')
      small.lease('D', 'a')
      assert.equal(errorFrom(small.lease('E', 'a')).code, 'OVERLOADED')
      await settled()
    }
  },
  {
    title: 'LOCK_TIMEOUT names the holder of the lease, its note, until when, and how to be the one who holds it',
    async check(create) {
      const world = createLeaseWorld(create)
      const read = world.read('D', 'a')
      world.sharedLease('A', 'a', { note: 'a refactoring', ttlMs: 90_000 })
      world.sharedLease('B', 'a', { ttlMs: 80_000 })
      world.clock.advance(1000)
      const unnamed = world.write(undefined, 'a', { timeoutMs: 0 })
      const timed = world.write('C', 'a', { timeoutMs: 30_000 })
      const own = world.lease('B', 'a', { timeoutMs: 30_000 })
      world.clock.advance(30_000)
      await settled()
      assert.equal(
        timed.error.message,
        'write of C did not get the exclusive lock on a.txt within 30 s. Agent A has leased it with 2 more (shared) since ' +
          '2026-01-01T00:00:00.000Z until 2026-01-01T00:01:30.000Z, 59 s from now, with the note "a refactoring". This call was ' +
          'at position 1 of 2 in the queue. Nothing was changed; try again later, or wait for the lease with lock_wait. If ' +
          'the lease is yours, pass the agent_id that took it: this call came as agent C.'
      )
      const acquired_at = '2026-01-01T00:00:00.000Z'
      const first = {
        operation: 'lease',
        agent_id: 'A',
        mode: 'shared',
        note: 'a refactoring',
        acquired_at,
        expires_at: '2026-01-01T00:01:30.000Z',
        remaining_seconds: 59
      }
      const second = {
        operation: 'lease',
        agent_id: 'B',
        mode: 'shared',
        acquired_at,
        expires_at: '2026-01-01T00:01:21.000Z',
        remaining_seconds: 50
      }
      const { holders, ...numbers } = timed.error.details ?? {}
      assert.deepEqual(numbers, { queue_depth: 2, position: 1, holder_count: 3 })
      assert(Array.isArray(holders))
      assert.deepEqual(holders.slice(0, 2), [first, second], 'before the read, which came before them')
      assert.equal(holders[2]?.operation, 'read of D')
      assert.match(unnamed.error.message, /pass the agent_id that took it: this call came without an agent_id\./)
      const { details, message } = errorFrom(own)
      assert.deepEqual([details?.['holder_count'], details?.['holders']], [1, [first]], 'not its own')
      assert.match(
        message,
        /^lease of B did not get the exclusive lock on a.txt within 30 s. Agent A has leased it \(shared\)/
      )
      read.lock.release()
    }
  },
  {
    title: 'a request for a lease with a duration that is none is a fault of the program',
    async check(create) {
      const world = createLeaseWorld(create)
      assert.throws(() => world.lease('A', 'a', { graceMs: -1 }), /graceMs: expected/)
      assert.throws(() => world.lease('A', 'a', { ttlMs: NaN }), /ttlMs: expected/)
      world.lease('B', 'a')
      assert.throws(() => world.lease('A', 'a').resume({ timeoutMs: NaN }), /timeoutMs: expected/)
      assert.throws(() => createLeaseWorld(create, { maxLeasesPerAgent: 0 }), /limits.maxLeasesPerAgent: expected/)
    }
  }
]
