// A batch that is made all or none: a transaction with the answers of a batch.
import type { Contention } from '../../../schemas/contention.ts'
import type { ChangeResult, TransactionChange } from '../../../schemas/transaction.ts'
import type { DiffFormat } from '../../engine/diff/compare.ts'
import type { OperationContext } from '../../engine/call/context.ts'
import { OperationError, toOperationError } from '../../errors.ts'
import { remember } from '../../support/remember.ts'
import { timestamp } from '../../support/timestamp.ts'
import type { Planner } from '../change/planner.ts'
import { changeMany } from '../change/run-many.ts'
import { takeInput } from '../definition/copy-input.ts'
import { once } from '../definition/named-call.ts'
import { changeSetOf } from './change-set.ts'
import { answerAll, receiptOf } from './changes.ts'

interface BatchOptions<Input extends { readonly path: string }> {
  readonly kind: 'update' | 'write'
  /** @throws OperationError INVALID_REQUEST */
  readonly check: (item: unknown, at?: string) => Input
  readonly plan: (input: Input, context: OperationContext) => Planner
  readonly name: string
  readonly timeout: number | undefined
  readonly diffFormat?: DiffFormat | undefined
}

type Result = { readonly status: string }

export async function atomicBatch<Input extends { readonly path: string }>(
  context: OperationContext,
  files: readonly unknown[],
  { kind, check, plan, name, timeout, diffFormat }: BatchOptions<Input>
) {
  const { max_batch_files: most } = context.config.crud
  if (files.length > most) {
    const message = `files has ${files.length} items, more than the ${most} allowed (crud.max_batch_files).`
    throw new OperationError('INVALID_REQUEST', message)
  }
  const own = changeSetOf(context, 'batch')
  const failures = new Map<number, OperationError>()
  const changes: TransactionChange[] = []
  const planners: Planner[] = []
  for (const [index, file] of files.entries()) {
    const at = `files[${index}]`
    try {
      const input = check(takeInput(file, at), at)
      changes.push({ operation: kind, path: input.path })
      planners.push(plan(input, own))
    } catch (error) {
      failures.set(index, toOperationError(error))
    }
  }
  if (failures.size > 0) return summarize(files.map((_file, index) => refused(index, { failures })))
  const made = await once<Summary | Refused>(context.receipt, async () => {
    // The time of the change, in the answer as in its receipt.
    const moment = remember(() => ({ timestamp: timestamp() }))
    const answer = (results: readonly ChangeResult[]) =>
      summarize(results.map((result) => ({ ...toResult(kind, result), ...moment() })))
    const result = await changeMany(own, planners, {
      operation: name,
      timeout,
      diffFormat,
      isDryRun: false,
      answer: (planned) => answer(receiptOf(changes, planned, own))
    })
    if ('planned' in result) return answer(await answerAll(changes, result.planned, diffFormat, own))
    // Not recorded: a repeat is another attempt.
    return { status: 'contention', answer: summarize(planners.map((_planner, index) => refused(index, result))) }
  })
  return made.status === 'contention' ? made.answer : made
}

function toResult(kind: string, { operation: _operation, changed, previous_hash, ...result }: ChangeResult): Result {
  const more = kind === 'update' ? { previous_hash, changed } : {}
  const answer = { status: 'ok', ...result, ...more }
  return answer
}

type Summary = ReturnType<typeof summarize<Result>>
interface Refused {
  readonly status: 'contention'
  readonly answer: Summary
}

interface Refusals {
  readonly failures: ReadonlyMap<number, OperationError>
  readonly contentions?: ReadonlyMap<number, Contention>
}

function refused(index: number, { failures, contentions }: Refusals): Result {
  const contention = contentions?.get(index)
  if (contention !== undefined) return contention
  const message = 'Not changed: the call is atomic, and another of its files was refused. Send all of them again.'
  return (failures.get(index) ?? new OperationError('NOT_MADE', message)).toEnvelope()
}

export function summarize<One extends { readonly status: string }>(results: readonly One[]) {
  const countOf = (wanted: string) => results.filter(({ status }) => status === wanted).length
  return {
    status: 'ok' as const,
    results,
    summary: { total: results.length, succeeded: countOf('ok'), failed: countOf('error') }
  }
}
