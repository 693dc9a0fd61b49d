// A batch that is made all or none: a transaction with the answers of a batch.
import type { Contention } from '../../../schemas/contention.ts'
import type { ChangeResult } from '../../../schemas/transaction.ts'
import type { DiffFormat } from '../../engine/diff/compare.ts'
import type { OperationContext } from '../../engine/context.ts'
import { OperationError, toOperationError } from '../../errors.ts'
import { remember } from '../../support/remember.ts'
import { timestamp } from '../../support/timestamp.ts'
import { takeInput } from '../definition/copy-input.ts'
import { once } from '../definition/named-call.ts'
import { changeSetOf } from './change-set.ts'
import type { Item } from './items.ts'
import { runTransaction } from './run.ts'

interface BatchOptions<Kind extends Item['kind']> {
  /** @throws OperationError INVALID_REQUEST */
  readonly check: (item: unknown, at?: string) => Extract<Item, { readonly kind: Kind }>['input']
  readonly name: string
  readonly timeout: number | undefined
  readonly diffFormat?: DiffFormat | undefined
}

type Result = { readonly status: string }

export async function atomicBatch<Kind extends 'update' | 'write'>(
  context: OperationContext,
  kind: Kind,
  files: readonly unknown[],
  { check, name, timeout, diffFormat }: BatchOptions<Kind>
) {
  const { max_batch_files: most } = context.config.crud
  if (files.length > most) {
    const message = `files has ${files.length} items, more than the ${most} allowed (crud.max_batch_files).`
    throw new OperationError('INVALID_REQUEST', message)
  }
  const failures = new Map<number, OperationError>()
  const items: Item[] = []
  for (const [index, file] of files.entries()) {
    const at = `files[${index}]`
    try {
      items.push({ index, kind, input: check(takeInput(file, at), at) } as unknown as Item)
    } catch (error) {
      failures.set(index, toOperationError(error))
    }
  }
  if (failures.size > 0) return summarize(files.map((_file, index) => refused(index, { failures })))
  const made = await once<Summary | Refusal>(context.receipt, async () => {
    // The time of the change, in the answer as in its receipt.
    const moment = remember(() => ({ timestamp: timestamp() }))
    const answer = (results: readonly ChangeResult[]) =>
      summarize(results.map((result) => ({ ...toResult(kind, result), ...moment() })))
    const options = { operation: name, timeout, diffFormat, isDryRun: false, answer }
    const result = await runTransaction(changeSetOf(context, 'batch'), items, options)
    if ('results' in result) return answer(result.results)
    // Not recorded: a repeat is another attempt.
    return { status: 'contention', answer: summarize(items.map((_item, index) => refused(index, result))) }
  })
  return made.status === 'contention' ? made.answer : made
}

function toResult(kind: string, { operation: _operation, changed, previous_hash, ...result }: ChangeResult): Result {
  const more = kind === 'update' ? { previous_hash, changed } : {}
  const answer = { status: 'ok', ...result, ...more }
  return answer
}

type Summary = ReturnType<typeof summarize>
interface Refusal {
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

function summarize(results: readonly Result[]) {
  const countOf = (wanted: string) => results.filter(({ status }) => status === wanted).length
  return {
    status: 'ok' as const,
    results,
    summary: { total: results.length, succeeded: countOf('ok'), failed: countOf('error') }
  }
}
