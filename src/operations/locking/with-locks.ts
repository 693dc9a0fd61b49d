// Runs the body of an operation under the locks of its files, with each file's place opened inside the lock.
import { OperationError, unlessRefused } from '../../errors.ts'
import { StaleFileError } from '../../engine/commit/preconditions.ts'
import { lockKey } from '../../engine/files/lock-key.ts'
import type { Reach } from '../../engine/files/file-store.ts'
import type { OpenEntry } from '../../engine/files/walk.ts'
import type { Lock } from '../../engine/locks/lock.ts'
import type { OperationContext } from '../../engine/call/context.ts'
import { nothing } from '../../engine/versions/made-step.ts'
import { checkLeases, needsLease, noteReads, type LeaseTerm } from './lease-terms.ts'
import { explainGone } from './gone-file.ts'
import { resolveFile } from './resolve-files.ts'
import { explainCut, waitSeconds } from './wait-time.ts'

export interface Target {
  /** As the caller spelt it. */
  readonly path: string
  readonly mode: 'shared' | 'exclusive'
  readonly reach: Reach
  /** True for a name that is to get a file: a file on the way to it may leave in the same change. */
  readonly mayBeBlocked?: boolean
  /** Of the caller's lease on it, if the caller named it. */
  readonly fencingToken?: number | undefined
}

interface LockOptions {
  /** Name of the operation, shown to other agents. */
  readonly operation: string
  /** Seconds, as the caller asked; undefined takes crud.default_timeout. */
  readonly timeout?: number | undefined
}

/** With the time that earlier attempts have waited. */
type TimedOptions = LockOptions & { readonly elapsedMs: number }

/** What a body needs of its locks. */
export type HeldLocks = Pick<Lock, 'assertHeld'>

type Body<Result> = (places: readonly OpenEntry[], lock: HeldLocks) => Promise<Result>

/** A file can move during a wait, or be written from outside during the change; both are retried up to this often. */
const maxAttempts = 10

/**
 * Takes all locks at once in canonical order, then checks where the paths lead. Whatever was seen before the grant is checked again
 * after it. If a path leads elsewhere by then, or a file changed under the body, it starts over.
 */
export async function withLocks<Result>(
  context: OperationContext,
  targets: readonly Target[],
  options: LockOptions,
  body: Body<Result>
): Promise<Result> {
  const start = performance.now()
  for (let attempt = 1; attempt <= maxAttempts; attempt += 1) {
    const elapsedMs = attempt === 1 ? 0 : performance.now() - start
    // Here and on the rest of a call's way a spread comes last: what is named behind one is added by a slow path of V8.
    const outcome = await attemptOnce(context, targets, { elapsedMs, ...options }, body)
    if (outcome !== undefined) return outcome.result
  }
  const path = targets[0]?.path
  const message = `Other programs keep changing the file: ${path}. Try again in a moment.`
  throw new OperationError('OVERLOADED', message, { path, details: { retry_after_seconds: 1 } })
}

/** The locks, and the places as they are under the locks. */
interface Held {
  readonly lock: Lock
  readonly places: readonly OpenEntry[]
  readonly terms: readonly LeaseTerm[]
}

/** One attempt; undefined if another one is needed. */
async function attemptOnce<Result>(
  context: OperationContext,
  targets: readonly Target[],
  options: TimedOptions,
  body: Body<Result>
): Promise<{ result: Result } | undefined> {
  context.signal.throwIfAborted()
  const start = takeNow(context, targets, options)
  const held = 'lock' in start ? start : await waitForLocks(context, targets, options, start.terms)
  if (held === undefined) return undefined
  try {
    // A file that another program has removed is noted as gone before the body can put another one at its name.
    for (const { path, stat } of held.places) if (stat === undefined) context.history.observe(path, nothing)
    const result = await body(held.places, withLeases(held, context))
    noteReads(held.terms, context)
    return { result }
  } catch (error) {
    if (error instanceof StaleFileError) return undefined
    // A read that finds the file gone counts as a read.
    if (error instanceof OperationError && error.code === 'FILE_NOT_FOUND') noteReads(held.terms, context)
    throw explainGone(error, placeOf(error, targets, held)?.path, options.operation, context)
  } finally {
    // Before anything that may fail: a lock that is not released blocks every other caller until it expires.
    held.lock.release()
    closeAll(held.places, context)
  }
}

/** The place of the file that an error names. */
function placeOf(error: unknown, targets: readonly Target[], { places }: Held): OpenEntry | undefined {
  return error instanceof OperationError ? places[targets.findIndex(({ path }) => path === error.path)] : undefined
}

/** The common case: the locks are free, and the files opened to find their keys can be used. */
function takeNow(
  context: OperationContext,
  targets: readonly Target[],
  { operation }: LockOptions
): Held | { readonly terms: readonly LeaseTerm[] } {
  const { locks, caller, config } = context
  const places = openAll(context, targets)
  const terms = checkTerms(places, targets, context, operation)
  const lock = locks.tryAcquire(terms, { operation, agentId: caller.agentId, ttlMs: operationTtlMs(config) })
  if (lock !== undefined) return { lock, places, terms }
  closeAll(places, context)
  return { terms }
}

/** @throws OperationError LEASE_LOST, LOCK_REQUIRED; the places are closed then */
function checkTerms(
  places: readonly OpenEntry[],
  targets: readonly Target[],
  context: OperationContext,
  operation: string
): readonly LeaseTerm[] {
  try {
    const terms = places.map((place, index) => toTerm(place, targets[index] as Target, context, operation))
    checkLeases(terms, context)
    return terms
  } catch (error) {
    closeAll(places, context)
    throw error
  }
}

/** A lease taken by the name of a link is one on the link's target: none can be taken if the target is not a file. */
function toTerm(
  { path, stat }: OpenEntry,
  { path: given, mode, reach, fencingToken }: Target,
  context: OperationContext,
  operation: string
) {
  const key = lockKey(path)
  const isLink = reach !== 'target' && stat?.isSymbolicLink() === true
  const leaseKey = isLink ? unlessRefused(() => resolveFile(given, context).key) : key
  return { key, leaseKey, path, mode, given, operation, fencingToken }
}

/** A waiter keeps no descriptors open. What it saw before is out of date by the time of the grant, and is checked again. */
async function waitForLocks(
  context: OperationContext,
  targets: readonly Target[],
  options: TimedOptions,
  terms: readonly LeaseTerm[]
): Promise<Held | undefined> {
  const lock = await acquire(context, terms, targets, options)
  try {
    // The lease may have ended during the wait.
    checkLeases(terms, context)
    const places = openAll(context, targets)
    // A former link may be a file by now, which needs another lease.
    if (places.every(({ path }, index) => path === terms[index]?.path))
      return { lock, places, terms: checkTerms(places, targets, context, options.operation) }
    lock.release()
    closeAll(places, context)
    return undefined
  } catch (error) {
    lock.release()
    throw error
  }
}

async function acquire(
  context: OperationContext,
  terms: readonly LeaseTerm[],
  targets: readonly Target[],
  options: TimedOptions
): Promise<Lock> {
  const { locks, config, caller, signal, progress, onWait, counts, activity } = context
  let result = 'ok'
  const start = performance.now()
  const { seconds, inAll, isCut } = waitSeconds(context, options.timeout)
  try {
    return await locks.acquire(terms, {
      operation: options.operation,
      agentId: caller.agentId,
      timeoutMs: Math.max(0, seconds * 1000 - options.elapsedMs),
      ttlMs: operationTtlMs(config),
      signal,
      ...(progress !== undefined && {
        onPosition: (position, total) => progress({ message: `position ${position} of ${total}`, waitSeconds: seconds })
      })
    })
  } catch (error) {
    if (!(error instanceof OperationError)) throw error
    const cut = error.code === 'LOCK_TIMEOUT' && isCut ? ` ${explainCut(inAll)}` : ''
    const { code, message, details, cause } = error
    result = code
    throw new OperationError(code, message + cut, { path: targets[0]?.path, details, cause })
  } finally {
    const waitedMs = performance.now() - start
    counts.lockWaits.record(waitedMs)
    activity.waited(terms[0]?.path ?? '', caller.agentId, waitedMs)
    onWait?.(waitedMs, result)
  }
}

/** The lock also counts as lost if the tree or a lease that the change relies on is lost: checked right before the change. */
function withLeases({ lock, terms }: Held, context: OperationContext): HeldLocks {
  const isLeaseNeeded = needsLease(terms, context)
  return {
    assertHeld() {
      context.tree.assertInPlace()
      if (isLeaseNeeded) checkLeases(terms, context)
      lock.assertHeld()
    }
  }
}

function operationTtlMs({ locks }: OperationContext['config']): number {
  return locks.operation_ttl_seconds * 1000
}

function openAll(context: OperationContext, targets: readonly Target[]): readonly OpenEntry[] {
  const places: OpenEntry[] = []
  try {
    for (const { path, reach, mayBeBlocked } of targets) places.push(context.files.open(path, reach, mayBeBlocked))
    return places
  } catch (error) {
    closeAll(places, context)
    throw error
  }
}

/** Never throws: an operation's answer does not depend on the closing of its handles. */
function closeAll(places: readonly OpenEntry[], { log }: OperationContext): void {
  for (const place of places) {
    try {
      place.close()
    } catch (error) {
      log.error({ err: error, path: place.path }, 'could not close a folder')
    }
  }
}
