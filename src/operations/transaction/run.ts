// Runs changes as one transaction: locks all files, judges all changes, tells every refusal at once, and commits.
import { OperationError, toOperationError } from '../../errors.ts'
import type { Contention } from '../../../schemas/contention.ts'
import type { ChangeResult } from '../../../schemas/transaction.ts'
import type { DiffFormat } from '../../engine/diff/compare.ts'
import type { OperationContext } from '../../engine/context.ts'
import { StaleFileError } from '../../engine/commit/preconditions.ts'
import type { OpenEntry } from '../../engine/files/walk.ts'
import { createRoom } from '../change/answer-room.ts'
import { answerContention, publishContention } from '../change/contention.ts'
import { notKept, replacedBy, type Replaced } from '../change/entry-version.ts'
import { answerMerged, withoutDiff, type Merged } from '../change/stale-change.ts'
import type { HeldTurn } from '../locking/with-locks.ts'
import { explainGone } from '../locking/gone-file.ts'
import { withLocks } from '../locking/with-locks.ts'
import { attemptOf } from '../async-update.ts'
import { commitPlan } from './commit-plan.ts'
import { pathOf, targetsOf, type Item } from './items.ts'
import { judge, textsOf, type Judged } from './judge.ts'
import { Plan, type PathPlan } from './plan.ts'
import { diffRoom } from '../answer-size.ts'

export interface TransactionOptions {
  readonly operation: string
  readonly timeout: number | undefined
  readonly diffFormat: DiffFormat | undefined
  readonly isDryRun: boolean
  /** Of the whole call, with these results: what a repeat of it gets. */
  readonly answer: (results: readonly ChangeResult[]) => object
}

export type Made = Extract<Judged, { readonly done: unknown }>
type Refused = Exclude<Judged, Made>

/** Of each change: what it was judged, or why it cannot be made. */
export type Verdicts = readonly (Judged | OperationError)[]

export type TransactionResult =
  | { readonly results: readonly ChangeResult[] }
  /** Nothing was changed. One of the two is not empty. By the index of the change. */
  | { readonly contentions: ReadonlyMap<number, Contention>; readonly failures: ReadonlyMap<number, OperationError> }

/** @throws OperationError if the whole call fails; nothing was changed then, or the error says that it was */
export async function runTransaction(
  context: OperationContext,
  items: readonly Item[],
  options: TransactionOptions
): Promise<TransactionResult> {
  const { operation, timeout } = options
  const targets = items.flatMap(targetsOf)
  const verdicts = await withLocks(context, targets, { operation, timeout }, (places, lock) =>
    carryOut(context, items, places, lock, options)
  )
  if (verdicts.every(isMade)) return { results: await answerMade(context, items, verdicts, options) }
  return refuse(context, items, verdicts, options)
}

async function carryOut(
  context: OperationContext,
  items: readonly Item[],
  places: readonly OpenEntry[],
  lock: HeldTurn,
  { operation, isDryRun, answer }: TransactionOptions
): Promise<Verdicts> {
  const plan = new Plan(context)
  const verdicts = await judgeAll(context, items, places, plan)
  // What is in the way of the others is said at once, too.
  if (!verdicts.every(isMade))
    return verdicts.map((verdict) => (isMade(verdict) ? (plan.refusalOf(verdict.done.plan) ?? verdict) : verdict))
  const changes = plan.changes()
  if (isDryRun || changes.length === 0) return verdicts
  const whole = new Set([...plan.paths].filter(({ isWhole }) => isWhole).map(({ place }) => place.path))
  await commitPlan(context, changes, {
    operation,
    assertHeld: () => lock.assertHeld(),
    isWhole: ({ place }) => whole.has(place.path),
    answer: () =>
      answer(verdicts.map((verdict, index) => ({ ...resultOf(items[index]!, verdict, context), ...shortly(verdict) })))
  })
  return verdicts
}

async function judgeAll(
  context: OperationContext,
  items: readonly Item[],
  places: readonly OpenEntry[],
  plan: Plan
): Promise<Verdicts> {
  const verdicts: (Judged | OperationError)[] = []
  let at = 0
  for (const item of items) {
    const count = targetsOf(item).length
    const [place, ...others] = places.slice(at, at + count)
    try {
      verdicts.push(await judge(item, [place!, ...others], plan, context))
    } catch (error) {
      if (error instanceof StaleFileError || context.signal.aborted) throw error
      const explained = explainGone(error, place?.path, `async_${item.kind}`, context)
      verdicts.push(toOperationError(explained, pathOf(item)))
    }
    at += count
  }
  return verdicts
}

function isMade(verdict: Judged | OperationError): verdict is Made {
  return 'done' in verdict
}

function shortly({ merged }: Made) {
  return merged === undefined ? {} : withoutDiff(merged)
}

function resultOf(item: Item, { done: { plan, source } }: Made, context: OperationContext): ChangeResult {
  const { kind, input } = item
  const previous = (source ?? plan).current
  return {
    operation: kind,
    path: pathOf(item),
    ...('new_path' in input && { new_path: input.new_path }),
    previous_hash: previous?.hash ?? null,
    hash: hashAfter(plan) ?? null,
    bytes_written: plan.after?.kind === 'bytes' && isChanged(plan) ? plan.after.bytes.length : 0,
    changed: isChanged(plan),
    ...replacedIn(plan, context)
  }
}

function replacedIn(plan: PathPlan, context: OperationContext): Replaced {
  const { place, current, after, isMoved } = plan
  if (!isChanged(plan) || isMoved) return {}
  return after?.kind === 'bytes' && current !== undefined
    ? replacedBy(context, place, current)
    : notKept(context, place, current)
}

function isChanged({ after, current }: PathPlan): boolean {
  return after !== undefined && !(after.kind === 'bytes' && after.hash === current?.hash)
}

function hashAfter({ after, current }: PathPlan): string | undefined {
  if (after === undefined) return current?.hash
  if (after.kind === 'bytes') return after.hash
  return after.kind === 'moved' ? after.version?.hash : undefined
}

/** Outside the locks, and without a signal: the changes are made, and must be reported. */
async function answerMade(
  context: OperationContext,
  items: readonly Item[],
  verdicts: readonly Made[],
  { diffFormat, isDryRun }: TransactionOptions
): Promise<ChangeResult[]> {
  const results: ChangeResult[] = []
  const roomy = context.withRoom(createRoom(context))
  for (const [index, verdict] of verdicts.entries()) {
    const result = resultOf(items[index]!, verdict, context)
    if (isDryRun) results.push({ ...result, ...(await preview(roomy, items[index]!, verdict, diffFormat)) })
    else results.push(await withMerged(roomy, result, verdict.merged, diffFormat))
  }
  return results
}

async function withMerged(
  context: OperationContext,
  result: ChangeResult,
  merged: Merged | undefined,
  diffFormat: DiffFormat | undefined
): Promise<ChangeResult> {
  if (merged === undefined) return result
  publishContention(context, merged.stale, true)
  return answerMerged(context, result, merged, diffFormat)
}

async function preview(
  context: OperationContext,
  item: Item,
  { done: { plan }, merged }: Made,
  diffFormat: DiffFormat | undefined
) {
  const { after, current } = plan
  if (after?.kind !== 'bytes' || current === undefined) return {}
  const texts = textsOf(item, plan.path, context)
  const [base, next] = [texts.decodeIfText(current.bytes), texts.decodeIfText(after.bytes)]
  if (base === undefined || next === undefined) return {}
  const { diff } = await context.differ.compare({
    base,
    current: next,
    format: diffFormat ?? 'unified',
    isWhole: true,
    mostBytes: diffRoom(context.caller.maxAnswerChars)
  })
  return { diff: context.room?.(diff) === false ? null : diff, ...(merged !== undefined && { merged: true as const }) }
}

async function refuse(
  context: OperationContext,
  items: readonly Item[],
  verdicts: Verdicts,
  options: TransactionOptions
) {
  const contentions = new Map<number, Contention>()
  const failures = new Map<number, OperationError>()
  const roomy = context.withRoom(createRoom(context))
  for (const [index, verdict] of verdicts.entries()) {
    if (verdict instanceof OperationError) failures.set(index, verdict)
    else if ('stale' in verdict) contentions.set(index, await contend(roomy, items[index]!, verdict, options))
  }
  return { contentions, failures }
}

async function contend(
  context: OperationContext,
  item: Item,
  refused: Refused,
  { diffFormat }: TransactionOptions
): Promise<Contention> {
  const { kind, input } = item
  const texts = textsOf(item, pathOf(item), context)
  return answerContention(context, refused, {
    operation: kind === 'write' ? 'async_update' : `async_${kind}`,
    texts,
    diffFormat,
    ...(kind === 'update' && { attempt: attemptOf(input, texts, context) })
  })
}
