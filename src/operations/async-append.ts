// async_append (PRD 3.11).
import { contract } from '../../schemas/contract.ts'
import type { Contention } from '../../schemas/contention.ts'
import type { Static } from '../../schemas/typebox.ts'
import type { AppendInput, AppendOutput } from '../../schemas/append.ts'
import type { FileVersion } from '../files/read-file.ts'
import { splitMark, withoutTerminator } from '../diff/lines.ts'
import { decodeText, encodeText } from '../files/text.ts'
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
  recordVersion,
  timestamp
} from './file-version.ts'
import { findBase, modifiedSince, tellMerged, type Merged } from './late-change.ts'
import { withLocks } from './with-locks.ts'

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
  if ('late' in outcome) return answerContention(context, { path, encoding, diffFormat: diff_format, ...outcome.late })
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

interface Late {
  readonly canonicalPath: string
  readonly expectedHash: string
  readonly current: FileVersion
}

async function addToEnd(
  { input, encoding, place, lock }: Turn,
  context: OperationContext
): Promise<{ done: Appended; merged?: Merged | undefined } | { late: Late }> {
  const { path, content, separator, expected_hash, on_contention } = input
  const current = await readVersion(context, place, path)
  const currentText = decodeText(current.bytes, encoding, path)
  const { body } = splitMark(currentText)
  let merged: Merged | undefined
  if (typeof expected_hash === 'string' && expected_hash !== current.hash) {
    const base = await findBase(context, { path, expectedHash: expected_hash, encoding })
    if (on_contention !== 'merge' || base === undefined || leavesLineOpen(base.text, body)) {
      return { late: { canonicalPath: place.path, expectedHash: expected_hash, current } }
    }
    const modifiedBy = modifiedSince(context, place.path, expected_hash)
    merged = { path, canonicalPath: place.path, base: base.text, current: currentText, modifiedBy }
  }
  const added = encodeText(body === '' ? content : separator + content, encoding, path, current.bytes)
  if (added.length === 0) return { done: answer(path, current.hash, 0, current.bytes.length, false), merged }
  const bytes = Buffer.concat([current.bytes, added])
  const made = await context.files.replace(place, path, current, bytes, () => lock.assertHeld())
  const hash = recordVersion(context, 'async_append', place, bytes, made)
  if (expected_hash === current.hash) {
    context.views.learned(context.caller.agentId, { path: place.path, given: path, hash })
  }
  return { done: { ...answer(path, hash, added.length, bytes.length, true), ...linksBroken(current) }, merged }
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
