// Compares the lock table before and after each step with what a fair shared/exclusive queue may do. Together: exclusion
// (nobody beside a writer), order (nobody overtakes), and progress (nobody waits who could be granted).
import assert from 'node:assert/strict'
import type { KeyStatus } from '../../../src/engine/locks/lock.ts'
import type { LockWorld } from './lock-world.ts'

type Table = ReadonlyMap<string, KeyStatus>

export interface TableObserver {
  /** Runs a step and checks what it did to the table. */
  step<Result>(act: () => Result): Result
  /** The keys that this operation asks for, in canonical order. */
  expect(operation: string, keys: readonly string[]): void
  /** The operation may hold some of its keys only, since it releases them one by one. */
  excuse(operation: string): void
}

/** Operations must have unique names. */
export function createTableObserver(world: LockWorld): TableObserver {
  const keysOf = new Map<string, readonly string[]>()
  const excused = new Set<string>()
  let before: Table = new Map()
  let lastToken = 0

  return {
    step(act) {
      const result = act()
      const after: Table = new Map([...world.locks.entries()].map(([key, , status]) => [key, status]))
      for (const status of after.values()) assertSound(status, world)
      for (const [key, status] of after) if (before.has(key)) assertNobodyOvertook(before.get(key), status)
      for (const [operation, keys] of keysOf) if (!excused.has(operation)) assertAllOrNone(operation, keys, after)
      lastToken = assertTokensGrew(before, after, lastToken)
      before = after
      return result
    },
    expect: (operation, keys) => void keysOf.set(operation, keys),
    excuse: (operation) => void excused.add(operation)
  }
}

function assertSound({ holders, waiters, depth }: KeyStatus, { clock }: LockWorld): void {
  assert(holders.length > 0, 'a key without a holder stays in the table')
  assert.equal(depth, waiters.length)
  const isExclusive = holders.some(({ mode }) => mode === 'exclusive')
  if (isExclusive) assert.equal(holders.length, 1, 'somebody holds beside a writer')
  if (waiters[0]?.mode === 'shared') assert(isExclusive, 'the first waiter, a reader, could be granted')
  if (clock.isLate) return
  const now = clock.now()
  for (const { operation, expiresAt = Infinity } of holders) assert(expiresAt > now, `${operation} outlived its TTL`)
  for (const { operation, timeoutAt } of waiters) assert(timeoutAt > now, `${operation} outwaited its timeout`)
}

function assertNobodyOvertook(before: KeyStatus | undefined, after: KeyStatus): void {
  const queued = namesOf(before?.waiters)
  const held = namesOf(before?.holders)
  const waiting = namesOf(after.waiters)
  const stayed = queued.filter((name) => waiting.includes(name))
  assert.deepEqual(waiting.slice(0, stayed.length), stayed, 'the queue changed its order')
  for (const granted of namesOf(after.holders).filter((name) => !held.includes(name))) {
    const ahead = queued.includes(granted) ? queued.slice(0, queued.indexOf(granted)) : queued
    for (const name of ahead) assert(!waiting.includes(name), `${granted} overtook ${name}`)
  }
}

/** An acquisition waits at one key at most, and holds exactly the keys before that one; or it holds all; or it is gone. */
function assertAllOrNone(operation: string, keys: readonly string[], table: Table): void {
  const heldKeys = keys.filter((key) => namesOf(table.get(key)?.holders).includes(operation))
  const waitKeys = keys.filter((key) => namesOf(table.get(key)?.waiters).includes(operation))
  assert(waitKeys.length <= 1, `${operation} waits at several keys`)
  const [waitsAt] = waitKeys
  const allowed = waitsAt === undefined ? (heldKeys.length === 0 ? [] : keys) : keys.filter((key) => key < waitsAt)
  assert.deepEqual(heldKeys, allowed, `${operation} holds a part of its keys`)
}

function assertTokensGrew(before: Table, after: Table, lastToken: number): number {
  const known = tokensOf(before)
  const fresh = [...tokensOf(after)].filter((token) => !known.has(token))
  for (const token of fresh) assert(token > lastToken, `token ${token} came after ${lastToken}`)
  return Math.max(lastToken, ...fresh)
}

function tokensOf(table: Table): Set<number> {
  const holders = [...table.values()].flatMap((status) => status.holders)
  return new Set(holders.flatMap(({ fencingToken }) => fencingToken ?? []))
}

function namesOf(entries: readonly { readonly operation: string }[] = []): string[] {
  return entries.map(({ operation }) => operation)
}
