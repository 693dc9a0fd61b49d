// async_append (PRD 3.11).
import { contract } from '../../schemas/contract.ts'
import type { Contention } from '../../schemas/contention.ts'
import type { Static } from '../../schemas/typebox.ts'
import type { AppendInput, AppendOutput } from '../../schemas/append.ts'
import { splitMark, withoutTerminator } from '../diff/lines.ts'
import { decodeText, encodeText, decodeIfText } from '../files/text.ts'
import type { Place } from '../files/walk.ts'
import type { Lock } from '../locks/lock.ts'
import { answerContention } from './contention.ts'
import type { OperationContext } from './context.ts'
import { changeErrors, defineOperation } from './define.ts'
import {
  createMissing,
  goneMeanwhile,
  linksBroken,
  notToBeCreated,
  readVersion,
  recordVersion
} from './file-version.ts'
import { findBase, modifiedSince, tellMerged, type LateChange, type Merged } from './late-change.ts'
import { withLocks } from './with-locks.ts'
import { timestamp } from '../timestamp.ts'

type Appended = Static<typeof AppendOutput>

export const asyncAppend = defineOperation({
  name: 'async_append',
  title: 'Append to a file',
  description:
    'Adds text to the end of a file without your reading it first. Appends of several agents follow one another and never conflict. Where the end of the file matters to what you add, pass expected_hash: another version there is then contention, or with on_contention "merge" you are told what others had changed.',
  ...contract.async_append,
  annotations: { readOnlyHint: false, destructiveHint: false, idempotentHint: false, openWorldHint: false },
  errors: [...changeErrors, 'FILE_NOT_FOUND', 'ENCODING_ERROR', 'WRITE_ERROR'],
  handle: append
})

async function append(input: AppendInput, context: OperationContext): Promise<Appended | Contention> {
  const { path, timeout, fencing_token, diff_format, encoding = context.config.crud.default_encoding } = input
  const outcome = await withLocks(
    context,
    [{ path, mode: 'exclusive', reach: 'target', fencingToken: fencing_token }],
    { operation: 'async_append', timeout },
    async ([place], lock) => {
      context.files.checkWritable(place!, path)
      const turn = { input, encoding, place: place!, lock }
      return place!.stat === undefined
        ? { done: await create(turn, context), merged: undefined }
        : addToEnd(turn, context)
    }
  )
  if ('late' in outcome)
    return answerContention(context, { ...outcome.late, operation: 'async_append', diffFormat: diff_format })
  const { done, merged } = outcome
  return merged === undefined ? done : tellMerged(context, done, merged, diff_format)
}

/** An append that has its lock. */
interface Turn {
  readonly input: AppendInput
  readonly encoding: string
  readonly place: Place
  readonly lock: Lock
}

async function create({ input, encoding, place, lock }: Turn, context: OperationContext): Promise<Appended> {
  const { path, content, create_if_missing, create_dirs, expected_hash } = input
  if (typeof expected_hash === 'string') throw goneMeanwhile(path)
  if (!create_if_missing) throw notToBeCreated(path, 'async_list')
  const bytes = encodeText(content, encoding, path)
  const hash = await createMissing(context, 'async_append', place, path, bytes, { createDirs: create_dirs, lock })
  return answer(path, hash, bytes.length, bytes.length, true)
}

type Late = Omit<LateChange, 'change'>

async function addToEnd(
  { input, encoding, place, lock }: Turn,
  context: OperationContext
): Promise<{ done: Appended; merged?: Merged | undefined } | { late: Late }> {
  const { path, content, separator, expected_hash, on_contention } = input
  const current = await readVersion(context, place, path)
  let merged: Merged | undefined
  if (typeof expected_hash === 'string' && expected_hash !== current.hash) {
    const late = { path, canonicalPath: place.path, expectedHash: expected_hash, current, encoding }
    merged = on_contention === 'merge' ? await mergeAtEnd(late, context) : undefined
    if (merged === undefined) return { late }
  }
  const { body } = splitMark(merged?.current ?? decodeText(current.bytes, encoding, path))
  const added = encodeText(body === '' ? content : separator + content, encoding, path, current.bytes)
  if (added.length === 0) return { done: answer(path, current.hash, 0, current.bytes.length, false), merged }
  const bytes = Buffer.concat([current.bytes, added])
  const made = await context.files.replace(place, path, current, bytes, () => lock.assertHeld())
  const hash = recordVersion(context, 'async_append', place, bytes, made)
  if (expected_hash === current.hash) {
    context.views.learned(context.caller.agentId, { path: place.path, given: path, hash, from: current.hash })
  }
  return { done: { ...answer(path, hash, added.length, bytes.length, true), ...linksBroken(current) }, merged }
}

/** Undefined where the text cannot simply stand behind what others have made of the file. */
async function mergeAtEnd(late: Late, context: OperationContext): Promise<Merged | undefined> {
  const { path, canonicalPath, expectedHash, current, encoding } = late
  const base = await findBase(context, late)
  const currentText = decodeIfText(current.bytes, encoding, path)
  if (base === undefined || currentText === undefined || leavesLineOpen(base.text, splitMark(currentText).body))
    return undefined
  const modifiedBy = modifiedSince(context, canonicalPath, expectedHash)
  return { path, canonicalPath, expectedHash, base: base.text, current: currentText, modifiedBy }
}

/** Where others have left the last line without its end, the text would become part of that line. */
function leavesLineOpen(base: string, current: string): boolean {
  return withoutTerminator(base) !== base && current !== '' && withoutTerminator(current) === current
}

function answer(path: string, hash: string, appended: number, total: number, changed: boolean): Appended {
  return {
    status: 'ok',
    path,
    hash,
    bytes_appended: appended,
    total_size_bytes: total,
    changed,
    timestamp: timestamp()
  }
}
