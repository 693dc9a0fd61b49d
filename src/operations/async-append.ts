// async_append (PRD 3.11).
import { contract } from '../../schemas/contract.ts'
import type { Contention } from '../../schemas/contention.ts'
import type { Static } from '../../schemas/typebox.ts'
import type { AppendInput, AppendOutput } from '../../schemas/append.ts'
import { splitMark, withoutTerminator } from '../engine/diff/lines.ts'
import type { OperationContext } from '../engine/context.ts'
import { changeErrors, defineOperation } from './definition/define.ts'
import { assertMayCreate, createMissing } from './change/file-version.ts'
import { timestamp } from '../support/timestamp.ts'
import type { LockedTurn } from './change/change-file.ts'
import { changeContent } from './change/change-content.ts'
import { describeMerge, findTexts, type Rebased, type StaleChange } from './change/stale-change.ts'
import { VersionTexts } from './change/version-texts.ts'

type Appended = Static<typeof AppendOutput>

export const asyncAppend = defineOperation({
  name: 'async_append',
  title: 'Append to a file',
  description:
    'Adds text to the end of a file without your reading it first. Appends of several agents follow one another and never conflict. If the end of the file matters to what you add, pass expected_hash: another version is then contention, or with on_contention "merge" the answer shows what others had changed.',
  ...contract.async_append,
  annotations: { readOnlyHint: false, destructiveHint: false, idempotentHint: false, openWorldHint: false },
  errors: [...changeErrors, 'FILE_NOT_FOUND', 'ENCODING_ERROR', 'WRITE_ERROR'],
  handle: append
})

async function append(input: AppendInput, context: OperationContext): Promise<Appended | Contention> {
  const { path, content, separator, expected_hash, on_contention, timeout, fencing_token, diff_format } = input
  const texts = new VersionTexts(input.encoding ?? context.config.crud.default_encoding, path)

  const change = async (version: Buffer) => appended(version, { content, separator }, texts)

  /** The text goes behind what other agents have made of the file. */
  async function merge(stale: StaleChange): Promise<Rebased> {
    const known = await findTexts(context, stale, texts)
    if (known === undefined || leavesLineOpen(known.base, splitMark(known.current).body))
      return { notMerged: undefined }
    return { merged: describeMerge(context, stale, known), bytes: await change(stale.current.bytes) }
  }

  return changeContent<Appended>(context, {
    operation: 'async_append',
    path,
    timeout,
    fencingToken: fencing_token,
    diffFormat: diff_format,
    texts,
    expectedHash: () => expected_hash ?? undefined,
    create: (turn) => create(turn, input, texts, context),
    change,
    onContention: on_contention,
    merge,
    answer: ({ current, hash, bytes, replaced }) => ({
      ...answer(path, hash, bytes.length - current.bytes.length, bytes.length),
      ...replaced
    })
  })
}

async function create(
  turn: LockedTurn,
  { path, content, create_if_missing, create_dirs, expected_hash }: AppendInput,
  texts: VersionTexts,
  context: OperationContext
): Promise<Appended> {
  assertMayCreate(path, expected_hash, create_if_missing, 'async_list')
  const bytes = texts.encode(content)
  return createMissing(context, 'async_append', turn, path, bytes, {
    createDirs: create_dirs,
    answer: (hash) => ({ ...answer(path, hash, bytes.length, bytes.length), changed: true })
  })
}

/** The version with the text behind it. */
export function appended(
  version: Buffer,
  { content, separator }: Pick<AppendInput, 'content' | 'separator'>,
  texts: VersionTexts
): Buffer {
  const { body } = splitMark(texts.decode(version))
  return Buffer.concat([version, texts.encode(body === '' ? content : separator + content, version)])
}

/** If another writer has left the last line without its end, the text would become part of that line. */
export function leavesLineOpen(base: string, current: string): boolean {
  return withoutTerminator(base) !== base && current !== '' && withoutTerminator(current) === current
}

function answer(path: string, hash: string, appended: number, total: number): Appended {
  return {
    status: 'ok',
    path,
    hash,
    bytes_appended: appended,
    total_size_bytes: total,
    changed: appended > 0,
    timestamp: timestamp()
  }
}
