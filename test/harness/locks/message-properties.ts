// What every lock manager must say when it refuses a request or a lock is lost: what happened, where, and what to do next.
import assert from 'node:assert/strict'
import { systemClock } from '../../../src/engine/locks/clock.ts'
import type { OperationError } from '../../../src/errors.ts'
import { isOperationError } from './is-operation-error.ts'
import { createLeaseWorld, errorFrom } from './lease-world.ts'
import { createLockWorld, settled, type Attempt, type LockProperty } from './lock-world.ts'

const limits = { maxWaitersPerKey: 1, maxWaitersPerAgent: 1, maxLeasesPerAgent: 1, maxLeases: 2 }

async function said(attempt: Attempt) {
  await settled()
  return attempt.error.message
}

export const messageProperties: readonly LockProperty[] = [
  {
    title: 'LOCK_TIMEOUT says whether the call waited, where it would have been in the queue, and who holds the lock',
    async check(create) {
      const world = createLockWorld(create)
      const atOnce = { timeoutMs: 0 }
      world.shared('reader', 'a')
      const brief = (name: string) => said(world.exclusive(name, 'a', atOnce))
      const since = '2026-01-01T00:00:00.000Z'
      const advice = 'Nothing was changed; try again, with a longer timeout if the file is busy.'
      assert.equal(
        await brief('w1'),
        `w1 did not get the exclusive lock on a.txt at once (timeout 0). reader (shared) has held it since ${since}. ` +
          `This call was at position 1 of 1 in the queue. ${advice}`
      )
      world.shared('both', 'a b')
      world.exclusive('holder of c', 'c')
      const half = world.exclusive('half', 'b c', { agentId: 'A' })
      world.exclusive('waiter', 'a')
      assert.equal(
        await said(world.shared('late', 'a', atOnce)),
        `late did not get the shared lock on a.txt at once (timeout 0). reader and 1 more (shared) has held it since ${since}. ` +
          `This call was at position 2 of 2 in the queue. ${advice}`,
        'a waiter that it must not overtake is no holder'
      )
      assert.equal(half.outcome, 'pending')
    }
  },
  {
    title: 'LOCK_TIMEOUT says what the holder itself waits for',
    async check(create) {
      const world = createLockWorld(create)
      world.exclusive('other', 'b')
      world.exclusive('half', 'a b', { agentId: 'A' })
      const message = await said(world.exclusive('late', 'a', { timeoutMs: 0 }))
      assert.match(message, /half of agent A \(exclusive\) has held it since \S+, and itself waits for b\.txt\. This/)
    }
  },
  {
    title: 'LOCK_TIMEOUT says until when a lease without a note lasts',
    async check(create) {
      const world = createLeaseWorld(create)
      world.lease('A', 'a')
      const message = await said(world.write('B', 'a', { timeoutMs: 0 }))
      assert.match(message, /Agent A has leased it \(exclusive\) since \S+ until \S+, 300 s from now\. This call/)
    }
  },
  {
    title: 'names that are more than one plain word are quoted, also those that look like words of the server',
    async check(create) {
      const world = createLeaseWorld(create)
      const [one, other] = ['a b without agent_id', 'x without agent_id b']
      world.lease(one, 'a')
      world.lease(other, 'b')
      assert.match(await said(world.write('C', 'a', { timeoutMs: 0 })), /Agent "a b without agent_id" has leased it/)
      assert(world.lease(one, 'b').isWaiting)
      const { message } = errorFrom(world.lease(other, 'a'))
      assert(message.includes(`"${other}" -> a.txt -> "${one}" -> b.txt -> "${other}"`), message)
    }
  },
  {
    title: 'CANCELLED and OVERLOADED say what was refused, the limit, and when to try again',
    async check(create) {
      const world = createLeaseWorld(create, limits)
      world.write('A', 'a')
      const first = world.write('B', 'a')
      const [atKey, atAgent] = [world.write('C', 'a'), (world.write('A', 'b'), world.write('B', 'b'))]
      assert.equal(
        await said(atKey),
        'write of C was refused: 1 calls already wait for the lock on a.txt, which is the limit. Nothing was changed; try again in 1 s.'
      )
      assert.deepEqual(atKey.error.details, { retry_after_seconds: 1, limit: 1 })
      assert.equal(
        await said(atAgent),
        'write of B of b.txt was refused: 1 calls of agent B already wait for locks, which is the limit. ' +
          'Nothing was changed; let some of them finish, then try again.'
      )
      first.controller.abort(new Error('gone'))
      assert.equal(
        await said(first),
        'write of B was cancelled before it got the lock on a.txt. Nothing was changed; call again if it is still wanted.'
      )
      assert.match(String(first.error.cause), /gone/)
      world.lease('C', 'c')
      assert.equal(
        errorFrom(world.lease('C', 'd')).message,
        'lease of C of d.txt was refused: agent C already holds 1 leases, which is the limit (locks.max_leases_per_agent). ' +
          'Release what is no longer needed (lock_release), then try again.'
      )
      world.lease('D', 'd')
      assert.equal(
        errorFrom(world.lease('E', 'e')).message,
        'lease of E of e.txt was refused: all agents together already hold 2 leases, which is the limit (locks.max_leases). ' +
          'Try again when some have ended.'
      )
      const parted = world.lease('E', 'd', { connection: 'c' })
      world.locks.leases.cancelRequests('c')
      assert.equal(errorFrom(parted).code, 'OVERLOADED')
      world.locks.leases.release('c', 'C')
      const waiting = world.lease('E', 'd', { connection: 'c' })
      world.locks.leases.cancelRequests('c')
      assert.equal(errorFrom(waiting).cause, 'its connection has ended')
    }
  },
  {
    title: 'LEASE_LOST says whether the lock expired or was released, on which paths, and that nothing was written',
    async check(create) {
      const world = createLockWorld(create)
      const expired = world.exclusive('one', 'a b', { ttlMs: 1500 })
      const released = world.exclusive('two', 'c')
      await settled()
      world.clock.advance(1500)
      released.lock.release()
      const [atEnd, atRelease] = [lossOf(expired), lossOf(released)]
      assert.equal(
        atEnd.message,
        'one lost its lock on a.txt, b.txt: it ended at 2026-01-01T00:00:01.500Z, 1.5 s after the grant, before the change ' +
          'was made. Nothing was written; read the file again, then repeat the call.'
      )
      assert.deepEqual(atEnd.details, { fencing_token: 1, expired_at: '2026-01-01T00:00:01.500Z' })
      assert.equal(
        atRelease.message,
        'two no longer holds its lock on c.txt: it was released before the change was made. ' +
          'Nothing was written; read the file again, then repeat the call.'
      )
      assert.deepEqual(atRelease.details, { fencing_token: 2 })
    }
  },
  {
    title: 'times in messages follow a wall clock that is set, once it is off by more than a second',
    async check(create) {
      const world = createLockWorld(create)
      const wallClock = Date.now
      const shownWith = async (offsetMs: number) => {
        Date.now = () => systemClock.now() + offsetMs
        try {
          const lock = world.exclusive('lock', 'a', { ttlMs: 0 })
          await settled()
          world.clock.advance(1)
          const [, shown] = /ended at (\S+),/.exec(lossOf(lock).message) ?? []
          return Date.parse(String(shown)) - (world.clock.now() - 1)
        } finally {
          Date.now = wallClock
        }
      }
      const hourMs = 3_600_000
      for (const offsetMs of [hourMs, hourMs + 900, -hourMs, 0]) {
        const expected = offsetMs === hourMs + 900 ? hourMs : offsetMs
        const shown = await shownWith(offsetMs)
        assert(Math.abs(shown - expected) < 100, `${shown} for ${offsetMs}`)
      }
    }
  },
  {
    title: 'a manager that stops says why, by the first reason it was given',
    async check(create) {
      const world = createLockWorld(create)
      world.exclusive('holder', 'a')
      const waiting = world.exclusive('waiting', 'a')
      world.locks.close()
      world.locks.close('another reason')
      assert.match(await said(waiting), /: the server is stopping\. Nothing/)
      assert.match(await said(world.exclusive('late', 'b')), /: the server is stopping\. Nothing/)
    }
  }
]

/** What it fails with when it is asked whether it is held. */
function lossOf({ lock }: Attempt): OperationError {
  try {
    lock.assertHeld()
  } catch (error) {
    if (isOperationError(error)) return error
  }
  throw new Error('it is held')
}
