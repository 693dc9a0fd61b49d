// async_batch_read, async_batch_write, async_batch_update (PRD 3.6, 3.7, 3.10): one file after the other, each with its own result.
import { contract } from '../../schemas/contract.ts'
import { setImmediate } from 'node:timers/promises'
import type { ErrorEnvelope } from '../../schemas/errors.ts'
import { OperationError, toOperationError } from '../errors.ts'
import { asyncRead, readOne, type Take } from './async-read.ts'
import { asyncUpdate, planUpdate, updateOne } from './async-update.ts'
import { asyncWrite, planWrite, writeOne } from './async-write.ts'
import { createShares, type Shares } from './answer-size.ts'
import { createRoom } from './change/answer-room.ts'
import { createInputCheck, type InputCheck } from './definition/check-input.ts'
import type { OperationContext } from '../engine/call/context.ts'
import { countSteps } from '../support/progress.ts'
import { defineOperation } from './definition/define.ts'
import { takeInput } from './definition/copy-input.ts'
import { atomicBatch, summarize } from './transaction/atomic-batch.ts'
import { readTogether } from './read-together.ts'
import { once } from './definition/named-call.ts'
import { givenPath } from './definition/given-path.ts'

type ReadItem = ReturnType<typeof checkReadItem>

const checkReadItem = createInputCheck(
  'async_batch_read',
  contract.async_batch_read.input.properties.files.items,
  'item'
)

export const asyncBatchRead = defineOperation({
  name: 'async_batch_read',
  title: 'Read several files',
  description:
    'Reads several files in one call, each as async_read does, with its own result. With consistent, all files are as of one moment, which the answer names (snapshot); without it they are read one after the other.',
  ...contract.async_batch_read,
  ownItems: { name: 'files', check: checkReadItem },
  annotations: asyncRead.annotations,
  readsDisk: true,
  errors: [],
  handle: async ({ files, diff_format, consistent }, context) => {
    const { max_batch_answer_bytes } = context.config.crud
    let bytes = 0
    const isAllowed = files.length <= context.config.crud.max_batch_files
    const together = consistent && isAllowed ? await readTogether(files, checkReadItem, context) : undefined
    const { maxAnswerChars } = context.caller
    const shares = maxAnswerChars === undefined ? undefined : createShares(maxAnswerChars, files.length)
    const readItem = async (item: ReadItem, itsContext: OperationContext) => {
      const take: Take = (shown) => {
        const size = sizeOf(shown)
        if (bytes + size > max_batch_answer_bytes) throw answerFull(item.path, max_batch_answer_bytes)
        bytes += size
      }
      const input = { ...item, ...(diff_format !== undefined && { diff_format }) }
      const share = shares?.next()
      return together === undefined ? readOne(input, itsContext, take, share) : together.answer(input, take, share)
    }
    const answer = await runBatch(files, checkReadItem, context, readItem, shares)
    const left = answer.results.length < files.length ? describeLeft(answer.results.length, files.length) : {}
    return { ...answer, ...left, ...(together !== undefined && { snapshot: together.snapshot }) }
  }
})

const checkWriteItem = createInputCheck(
  'async_batch_write',
  contract.async_batch_write.input.properties.files.items,
  'item'
)

export const asyncBatchWrite = defineOperation({
  name: 'async_batch_write',
  title: 'Create several files',
  description:
    'Creates several files in one call, each as async_write does, with its own result. Not all-or-nothing, unless atomic is true: one can fail and the others succeed.',
  ...contract.async_batch_write,
  ownItems: { name: 'files', check: checkWriteItem },
  annotations: asyncWrite.annotations,
  errors: [],
  handle: async ({ files, timeout, atomic }, context) => {
    if (atomic)
      return atomicBatch(context, files, {
        kind: 'write',
        check: checkWriteItem,
        plan: planWrite,
        name: 'async_batch_write',
        timeout
      })
    return runBatch(files, checkWriteItem, context, (item, itsContext) =>
      writeOne({ ...item, ...(timeout !== undefined && { timeout }) }, itsContext)
    )
  }
})

const checkUpdateItem = createInputCheck(
  'async_batch_update',
  contract.async_batch_update.input.properties.files.items,
  'item'
)

export const asyncBatchUpdate = defineOperation({
  name: 'async_batch_update',
  title: 'Update several files',
  description:
    'Updates several files in one call, each as async_update does, with its own result: ok, contention with the diff, or error. Not all-or-nothing, unless atomic is true: send again only those that were not ok.',
  ...contract.async_batch_update,
  ownItems: { name: 'files', check: checkUpdateItem },
  annotations: asyncUpdate.annotations,
  errors: [],
  handle: async ({ files, on_contention, timeout, diff_format, atomic }, context) => {
    if (atomic) {
      const check = (item: unknown, at?: string) => ({ on_contention, ...checkUpdateItem(item, at) })
      const answer = await atomicBatch(context, files, {
        kind: 'update',
        check,
        plan: planUpdate,
        name: 'async_batch_update',
        timeout,
        diffFormat: diff_format
      })
      const contention = answer.results.filter(({ status }) => status === 'contention').length
      return { ...answer, summary: { ...answer.summary, contention } }
    }
    const { results, summary, ...answer } = await runBatch(
      files,
      checkUpdateItem,
      context.withRoom(createRoom(context)),
      async (item, itsContext) => {
        const options = {
          on_contention,
          ...item,
          ...(diff_format !== undefined && { diff_format }),
          ...(timeout !== undefined && { timeout })
        }
        return updateOne(options, itsContext)
      }
    )
    const contention = results.filter(({ status }) => status === 'contention').length
    return { ...answer, results, summary: { ...summary, contention } }
  }
})

interface BatchAnswer<Result> {
  readonly status: 'ok'
  readonly replayed?: true
  readonly results: readonly (Result | ErrorEnvelope)[]
  readonly summary: { readonly total: number; readonly succeeded: number; readonly failed: number }
}

async function runBatch<Item, Result extends { readonly status: string }>(
  items: readonly unknown[],
  check: InputCheck<Item>,
  context: OperationContext,
  handle: (item: Item, itsContext: OperationContext) => Promise<Result>,
  shares?: Shares
): Promise<BatchAnswer<Result>> {
  const { max_batch_files } = context.config.crud
  if (items.length > max_batch_files) {
    throw new OperationError(
      'INVALID_REQUEST',
      `files has ${items.length} items, more than the ${max_batch_files} allowed (crud.max_batch_files).`
    )
  }
  const results: (Result | ErrorEnvelope)[] = []
  const steps = countSteps(context.progress, 'files')
  steps?.expect(items.length)
  for (const [index, item] of items.entries()) {
    try {
      // Between two files other calls get a turn. It also shows whether the caller has gone: then no more files are changed.
      await setImmediate()
      context.signal.throwIfAborted()
      const at = `files[${index}]`
      const receipt = context.receipt?.item(index)
      const own = context.withProgress(steps?.part).withReceipt(receipt)
      const make = async () => handle(check(takeInput(item, at), at), own)
      results.push(await settle(givenPath(item), context, () => once(receipt, make)))
      steps?.add()
      if (shares?.isFullAfter(results.at(-1)!) === true) break
    } catch (error) {
      throw results.length === 0 ? error : cancelledAfter(results, items.length)
    }
  }
  const isReplayed = results.some((result) => 'replayed' in result && result.replayed === true)
  const { status, summary } = summarize(results)
  return { status, ...(isReplayed && { replayed: true }), results, summary: { ...summary, total: items.length } }
}

function describeLeft(read: number, total: number) {
  const message = `${read} of ${total} files were read: the answer to this client has no room for more. Ask for the others, from files[${read}] on, in another call.`
  return { message, next_index: read }
}

/** Finished changes stay, and the error lists them. */
function cancelledAfter(results: readonly object[], total: number): OperationError {
  const message = `The call was cancelled: ${results.length} of ${total} files were handled (details.results), the others were not.`
  return new OperationError('CANCELLED', message, { details: { results } })
}

/** The result of one file. A failure is its result too, unless it is the failure of the whole call. */
async function settle<Result>(
  path: string | undefined,
  { log, signal }: OperationContext,
  handle: () => Promise<Result>
): Promise<Result | ErrorEnvelope> {
  try {
    return await handle()
  } catch (error) {
    if (signal.aborted) throw error
    const failure = toOperationError(error, path)
    if (failure.httpStatus === 500)
      log.error({ err: failure.cause ?? failure, code: failure.code, path }, 'file of a batch failed')
    return failure.toEnvelope()
  }
}

/** Bytes of the file in an answer. */
function sizeOf({ content, diff }: Parameters<Take>[0]): number {
  if (content !== undefined) return Buffer.byteLength(content)
  return diff === undefined ? 0 : JSON.stringify(diff).length
}

function answerFull(path: string, maxBytes: number): OperationError {
  const message = `The answer has no room for ${path} within its ${maxBytes} bytes (crud.max_batch_answer_bytes). Read it in another call.`
  return new OperationError('FILE_TOO_LARGE', message, { path })
}
