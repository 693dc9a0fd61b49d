// What every lock manager must hold to about its queues: exclusion, order, promotion, several keys.
import assert from 'node:assert/strict'
import { createFakeClock } from '../../fixtures/fake-clock.ts'
import { createLockWorld, settled, toRequests, type LockProperty, type LockWorld } from './lock-world.ts'

export const queueProperties: readonly LockProperty[] = [
  {
    title: 'a free lock is granted in the same turn, also with timeout 0',
    async check(create) {
      const world = createLockWorld(create)
      const first = world.exclusive('first', 'a', { timeoutMs: 0 })
      assert.deepEqual(world.holders('a'), ['first'])
      const two = world.shared('two', 'b c', { timeoutMs: 0 })
      assert.deepEqual(world.holders('c'), ['two'])
      await settled()
      first.lock.release()
      two.lock.release()
      world.assertEmpty()
    }
  },
  {
    title: 'a writer holds alone; readers hold together',
    async check(create) {
      for (const [held, asked, both] of [
        ['exclusive', 'exclusive', false],
        ['exclusive', 'shared', false],
        ['shared', 'exclusive', false],
        ['shared', 'shared', true]
      ] as const) {
        const world = createLockWorld(create)
        world[held]('first', 'a')
        world[asked]('second', 'a')
        assert.deepEqual(world.holders('a'), both ? ['first', 'second'] : ['first'], `${held}, then ${asked}`)
        const third = world.exclusive('third', 'b')
        assert.deepEqual(world.holders('b'), ['third'], 'one path does not block another')
        await settled()
        third.lock.release()
      }
    }
  },
  {
    title: 'a reader waits behind a queued writer, although only readers hold',
    async check(create) {
      const world = createLockWorld(create)
      const reader = world.shared('reader', 'a')
      const writer = world.exclusive('writer', 'a')
      world.shared('late reader', 'a')
      await settled()
      assert.deepEqual(world.holders('a'), ['reader'])
      reader.lock.release()
      assert.deepEqual(world.holders('a'), ['writer'])
      await settled()
      writer.lock.release()
      assert.deepEqual(world.holders('a'), ['late reader'])
    }
  },
  {
    title: 'grants follow the order of arrival, adjacent readers together',
    async check(create) {
      const world = createLockWorld(create)
      const first = world.exclusive('w0', 'a')
      const queued = ['w1', 'r1', 'r2', 'w2', 'w3', 'r3', 'r4', 'w4'].map((name) =>
        name.startsWith('r') ? world.shared(name, 'a') : world.exclusive(name, 'a')
      )
      await settled()
      first.lock.release()
      const rounds: string[][] = []
      for (let held = world.holders('a'); held.length > 0; held = world.holders('a')) {
        rounds.push(held)
        await settled()
        for (const attempt of queued) if (held.includes(attempt.name)) attempt.lock.release()
      }
      assert.deepEqual(rounds, [['w1'], ['r1', 'r2'], ['w2'], ['w3'], ['r3', 'r4'], ['w4']])
      world.assertEmpty()
    }
  },
  {
    title: 'a writer behind two readers waits for both',
    async check(create) {
      const world = createLockWorld(create)
      const readers = [world.shared('r1', 'a'), world.shared('r2', 'a')]
      world.exclusive('w', 'a')
      await settled()
      readers[1]?.lock.release()
      assert.deepEqual(world.holders('a'), ['r1'])
      readers[0]?.lock.release()
      assert.deepEqual(world.holders('a'), ['w'])
    }
  },
  {
    title: 'when a queued writer leaves, the readers behind it run at once',
    async check(create) {
      const leave = {
        cancel: (world: LockWorld) => world.exclusive('writer', 'a').controller,
        timeout: (world: LockWorld) => void world.exclusive('writer', 'a', { timeoutMs: 10 })
      }
      for (const [how, queueWriter] of Object.entries(leave)) {
        const world = createLockWorld(create)
        world.shared('holder', 'a')
        const controller = queueWriter(world)
        world.shared('r1', 'a')
        world.shared('r2', 'a')
        assert.deepEqual(world.waiters('a'), ['writer', 'r1', 'r2'])
        if (controller === undefined) world.clock.advance(10)
        else controller.abort()
        assert.deepEqual(world.holders('a'), ['holder', 'r1', 'r2'], how)
        assert.deepEqual(world.waiters('a'), [])
        await settled()
      }
    }
  },
  {
    title: 'whoever leaves from the middle or the end of the queue leaves the others in their order',
    async check(create) {
      const world = createLockWorld(create)
      world.exclusive('holder', 'a', { ttlMs: 10 })
      const [, second, third, , last] = ['w1', 'w2', 'w3', 'w4', 'w5'].map((name) => world.exclusive(name, 'a'))
      for (const gone of [second, third, last]) gone?.controller.abort()
      world.exclusive('w6', 'a')
      assert.deepEqual(world.waiters('a'), ['w1', 'w4', 'w6'])
      await settled()
      assert.equal(third?.error.code, 'CANCELLED')
      world.clock.advance(10)
      assert.deepEqual(world.holders('a'), ['w1'])
      assert.deepEqual(world.waiters('a'), ['w4', 'w6'])
    }
  },
  {
    title: 'several keys are taken in canonical order, so that a to b and b to a do not block each other',
    async check(create) {
      const world = createLockWorld(create)
      const holder = world.exclusive('holder', 'a')
      const there = world.exclusive('there', 'a b')
      const back = world.exclusive('back', 'b a')
      await settled()
      assert.deepEqual(world.waiters('a'), ['there', 'back'])
      assert.deepEqual(world.waiters('b'), [])
      holder.lock.release()
      assert.deepEqual([world.holders('a'), world.holders('b')], [['there'], ['there']])
      await settled()
      assert.deepEqual(there.lock.keys, ['a', 'b'])
      there.lock.release()
      assert.deepEqual([world.holders('a'), world.holders('b')], [['back'], ['back']])
      await settled()
      back.lock.release()
      world.assertEmpty()
    }
  },
  {
    title: 'one key asked for twice is one lock, and exclusive wins',
    async check(create) {
      for (const modes of [
        ['shared', 'exclusive'],
        ['exclusive', 'shared']
      ] as const) {
        const world = createLockWorld(create)
        const attempt = world.ask(
          'both',
          modes.flatMap((mode) => toRequests('a', mode))
        )
        await settled()
        assert.deepEqual(attempt.lock.keys, ['a'])
        assert.equal(world.locks.status('a').holders[0]?.mode, 'exclusive')
        attempt.lock.release()
        world.assertEmpty()
      }
    }
  },
  {
    title: 'of several keys all are held or none: a failure at the second releases the first',
    async check(create) {
      const world = createLockWorld(create, { maxWaitersPerKey: 2 })
      world.exclusive('holder', 'b', { ttlMs: Infinity })
      const timed = world.exclusive('timed', 'a b', { timeoutMs: 10 })
      assert.deepEqual([world.holders('a'), world.waiters('b')], [['timed'], ['timed']])
      world.clock.advance(10)
      assert.deepEqual([world.holders('a'), world.waiters('b')], [[], []])
      const aborted = world.exclusive('aborted', 'a b')
      const behind = world.exclusive('behind', 'a')
      aborted.controller.abort()
      assert.deepEqual(world.holders('a'), ['behind'])
      await settled()
      behind.lock.release()
      const impatient = world.exclusive('impatient', 'a b', { timeoutMs: 0 })
      world.exclusive('w1', 'b')
      world.exclusive('w2', 'b')
      const refused = world.exclusive('refused', 'a b')
      assert.deepEqual(world.holders('a'), [])
      await settled()
      const codes = [timed, aborted, impatient, refused].map(({ error }) => error.code)
      assert.deepEqual(codes, ['LOCK_TIMEOUT', 'CANCELLED', 'LOCK_TIMEOUT', 'OVERLOADED'])
    }
  },
  {
    title: 'one timeout counts over all keys, also for time spent waiting at the first',
    async check(create) {
      const world = createLockWorld(create)
      const first = world.exclusive('first', 'a')
      world.exclusive('second', 'b')
      const both = world.exclusive('both', 'a b', { timeoutMs: 100 })
      await settled()
      world.clock.advance(60)
      first.lock.release()
      assert.deepEqual([world.holders('a'), world.waiters('b')], [['both'], ['both']])
      world.clock.advance(39)
      assert.deepEqual(world.waiters('b'), ['both'])
      world.clock.advance(1)
      assert.deepEqual([world.holders('a'), world.waiters('b')], [[], []])
      await settled()
      assert.equal(both.error.code, 'LOCK_TIMEOUT')
    }
  },
  {
    title: 'a grant that fails on its last key amid a promotion leaves the next one of the queue its keys',
    async check(create) {
      const world = createLockWorld(create)
      world.exclusive('blocker', 'c')
      const holder = world.exclusive('holder', 'a b')
      // Its timeout is over when it is granted a and b, so at c it fails, and gives a and b back in the same turn.
      const tooLate = world.exclusive('too late', 'a b c', { timeoutMs: 10 })
      const next = world.exclusive('next', 'a b')
      await settled()
      world.clock.stall(10)
      holder.lock.release()
      assert.deepEqual([world.holders('a'), world.holders('b')], [['next'], ['next']])
      world.exclusive('rival', 'b')
      assert.deepEqual([world.holders('b'), world.waiters('b')], [['next'], ['rival']])
      await settled()
      assert.equal(tooLate.error.code, 'LOCK_TIMEOUT')
      next.lock.assertHeld()
    }
  },
  {
    title: 'thousands that fail on their last key amid one promotion do not exhaust the stack',
    isLong: true,
    async check(create) {
      const world = createLockWorld(create, { maxWaitersPerKey: 5000 })
      world.exclusive('blocker', 'b')
      const holder = world.exclusive('holder', 'a')
      for (let index = 0; index < 5000; index += 1) world.exclusive('too late', 'a b', { timeoutMs: 10 })
      await settled()
      world.clock.stall(10)
      holder.lock.release()
      assert.deepEqual(world.locks.status('a'), { holders: [], waiters: [], depth: 0 })
      await settled()
    }
  },
  {
    title: 'trying takes what is free, in one turn, and otherwise changes nothing',
    async check(create) {
      const manager = create({ clock: createFakeClock() })
      const options = { operation: 'try', ttlMs: 1000 }
      const request = (key: string, mode: 'shared' | 'exclusive') => ({ key, path: key, mode })
      const reader = manager.tryAcquire([request('a', 'shared')], options)
      assert(reader)
      assert.equal(manager.status('a').holders.length, 1)
      assert.equal(manager.tryAcquire([request('b', 'exclusive'), request('a', 'exclusive')], options), undefined)
      assert.deepEqual(manager.summary(), { paths: 1, shared: 1, exclusive: 0, leases: 0, waiting: 0 }, 'b is not held')
      const waiting = manager.acquire([request('a', 'exclusive')], { ...options, timeoutMs: 1000 })
      assert.equal(manager.tryAcquire([request('a', 'shared')], options), undefined, 'no overtaking')
      reader.release()
      ;(await waiting).release()
      manager.close()
      assert.equal(
        manager.tryAcquire([request('a', 'shared')], options),
        undefined,
        'nothing is granted while stopping'
      )
      assert.equal(manager.summary().paths, 0)
    }
  }
]
