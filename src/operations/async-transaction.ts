// async_transaction: several changes of several files, all or none, whatever happens to the server meanwhile.
import { contract } from '../../schemas/contract.ts'
import type { ChangeResult, TransactionInput, TransactionOutput } from '../../schemas/transaction.ts'
import type { OperationContext } from '../engine/call/context.ts'
import { OperationError } from '../errors.ts'
import { remember } from '../support/remember.ts'
import { timestamp } from '../support/timestamp.ts'
import { changeErrors, defineOperation } from './definition/define.ts'
import { changeSetOf } from './transaction/change-set.ts'
import { changeMany, type ManyMade } from './change/run-many.ts'
import { answerAll, plannersOf, previewAll, receiptOf } from './transaction/changes.ts'

export const asyncTransaction = defineOperation({
  name: 'async_transaction',
  title: 'Change several files, all or none',
  description:
    'Makes several changes of several files, all or none: updates, writes, appends, deletes, renames, each as the operation of that name makes it. If a file is not the version expected, nothing is changed, and the answer has status "contention" with the diff of every such file: adjust these changes and send all again. A crash leaves all or none.',
  ...contract.async_transaction,
  annotations: { readOnlyHint: false, destructiveHint: true, idempotentHint: false, openWorldHint: false },
  errors: [
    ...changeErrors,
    'FILE_NOT_FOUND',
    'FILE_EXISTS',
    'ENCODING_ERROR',
    'INVALID_PATCH',
    'CONTENT_OR_PATCHES_REQUIRED',
    'WRITE_ERROR'
  ],
  handle: transact
})

async function transact(input: TransactionInput, context: OperationContext): Promise<TransactionOutput> {
  const { changes, on_contention, dry_run, timeout, diff_format } = input
  const { max_transaction_changes: most } = context.config.crud
  if (changes.length > most) {
    const message = `changes has ${changes.length} items, more than the ${most} allowed (crud.max_transaction_changes).`
    throw new OperationError('INVALID_REQUEST', message)
  }
  const own = changeSetOf(context, 'transaction')
  // The time of the change, in the answer as in its receipt.
  const moment = remember(() => ({ timestamp: timestamp() }))
  const answer = (results: readonly ChangeResult[]): TransactionOutput => ({
    status: 'ok',
    ...(dry_run && { dry_run }),
    change_set: own.caller.changeSet as string,
    changes: [...results],
    ...moment()
  })
  const made = await changeMany(own, plannersOf(changes, on_contention, own), {
    operation: 'async_transaction',
    timeout,
    diffFormat: diff_format,
    isDryRun: dry_run,
    answer: (planned) => answer(receiptOf(changes, planned, own))
  })
  if (!('planned' in made)) return refusal(made)
  const tell = dry_run ? previewAll : answerAll
  return answer(await tell(changes, made.planned, diff_format, own))
}

function refusal({ contentions, failures }: Exclude<ManyMade, { planned: unknown }>): TransactionOutput {
  const contended = [...contentions].map(([change, contention]) => ({ change, ...contention }))
  const [first] = failures
  if (first !== undefined) throw allFailures(first, failures, contended)
  const message = `Nothing was changed: ${contended.length} of the files changed since the versions you know. Adjust these changes as each of the contentions says, and send all changes again.`
  return {
    status: 'contention',
    message,
    contentions: [...contentions.values()],
    timestamp: timestamp()
  }
}

/** Every fault of the call, in one error with the code of the first. */
function allFailures(
  [index, first]: readonly [number, OperationError],
  failures: ReadonlyMap<number, OperationError>,
  contentions: readonly object[]
): OperationError {
  const more = failures.size + contentions.length - 1
  const others = more === 0 ? '' : ` (details tell of ${more} more)`
  const message = `changes[${index}]: ${first.message} No file was changed${others}.`
  const all = [...failures].map(([change, { code, message: why, path, details }]) => ({
    change,
    code,
    message: why,
    ...(path !== undefined && { path }),
    ...(details !== undefined && { details })
  }))
  const details = { ...first.details, change: index, failures: all, ...(contentions.length > 0 && { contentions }) }
  return new OperationError(first.code, message, { path: first.path, details, cause: first.cause })
}
