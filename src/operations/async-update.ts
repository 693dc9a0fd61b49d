// async_update (PRD 3.3): the change is applied only to the version it was made for.
import { contract } from '../../schemas/contract.ts'
import type { Contention } from '../../schemas/contention.ts'
import type { Static } from '../../schemas/typebox.ts'
import type { UpdateInput, UpdateOutput } from '../../schemas/update.ts'
import { isLinePatch } from '../diff/line-patches.ts'
import { describeFailure } from '../diff/patch-failure.ts'
import { OperationError } from '../errors.ts'
import type { FileVersion } from '../files/read-file.ts'
import { decodeText, encodeText, keepMark } from '../files/text.ts'
import { answerContention } from './contention.ts'
import type { OperationContext } from './context.ts'
import { changeErrors, defineOperation } from './define.ts'
import { tellMerged, toVersion } from './late-change.ts'
import { linksBroken, readVersion, recordVersion } from './file-version.ts'
import { withLocks } from './with-locks.ts'
import { timestamp } from '../timestamp.ts'

export const asyncUpdate = defineOperation({
  name: 'async_update',
  title: 'Update a file',
  description:
    'Changes an existing text file by patches (find old_string, put new_string, or replace lines start_line to end_line; all or none) or by whole content. expected_hash is the hash of the version you made the change for. Where the file has changed meanwhile nothing is written and the answer has status "contention" with the exact diff from your version to the current one: adjust your change by it and send it again with expected_hash set to current_hash. There is no need to read the file again. With on_contention "merge" a change that touches no line that others have changed is made at once, and the answer tells what they had changed.',
  ...contract.async_update,
  annotations: { readOnlyHint: false, destructiveHint: true, idempotentHint: false, openWorldHint: false },
  errors: [
    ...changeErrors,
    'FILE_NOT_FOUND',
    'ENCODING_ERROR',
    'INVALID_PATCH',
    'CONTENT_OR_PATCHES_REQUIRED',
    'WRITE_ERROR'
  ],
  handle: updateOne
})

export type Updated = Static<typeof UpdateOutput>

export async function updateOne(
  input: Omit<UpdateInput, 'agent_id'>,
  context: OperationContext
): Promise<Updated | Contention> {
  requireOneForm(input)
  const { path, expected_hash, patches, on_contention, timeout, diff_format, fencing_token } = input
  const { encoding = context.config.crud.default_encoding } = input
  const change = (version: Buffer) => newText(input, version, encoding, context)
  const outcome = await withLocks(
    context,
    [{ path, mode: 'exclusive', reach: 'target', fencingToken: fencing_token }],
    { operation: 'async_update', timeout },
    async ([place], lock) => {
      context.files.checkWritable(place!, path)
      const current = await readVersion(context, place!, path)
      const late = { path, canonicalPath: place!.path, expectedHash: expected_hash, current, encoding, change }
      const version = await toVersion(context, late, on_contention)
      if ('notMerged' in version) return { ...version, late }
      const { bytes, merged } = version
      if (bytes.equals(current.bytes)) return { done: answer(path, current, current.hash, 0), merged }
      const made = await context.files.replace(place!, path, current, bytes, () => lock.assertHeld())
      const hash = recordVersion(context, 'async_update', place!, bytes, made)
      if (merged === undefined) {
        const from = input.content === undefined ? { from: current.hash } : {}
        context.views.learned(context.caller.agentId, { path: place!.path, given: path, hash, ...from })
      }
      return { done: { ...answer(path, current, hash, bytes.length), ...linksBroken(current) }, merged }
    }
  )
  if ('done' in outcome) {
    const { done, merged } = outcome
    return merged === undefined ? done : tellMerged(context, done, merged, diff_format)
  }
  const { late, notMerged } = outcome
  return answerContention(context, {
    operation: 'async_update',
    ...late,
    diffFormat: diff_format,
    patches,
    notMerged,
    rehearse: async (current) =>
      context.files.checkReplaceable(
        path,
        current,
        encodeText(await change(current.bytes), encoding, path, current.bytes)
      )
  })
}

function requireOneForm({ path, content, patches }: Pick<UpdateInput, 'path' | 'content' | 'patches'>): void {
  if (content !== undefined && patches !== undefined) {
    throw new OperationError('INVALID_REQUEST', 'Pass either content or patches, not both.', { path })
  }
  if (content === undefined && patches === undefined) {
    throw new OperationError(
      'CONTENT_OR_PATCHES_REQUIRED',
      'Pass content (the whole new text) or patches (a list of edits).',
      { path }
    )
  }
  if (patches?.some(isLinePatch) === true && !patches.every(isLinePatch)) {
    const message =
      'patches has both patches by text (old_string) and patches by lines (start_line): they count differently. Send one kind, or two calls.'
    throw new OperationError('INVALID_REQUEST', message, { path })
  }
}

async function newText(
  { path, content, patches = [] }: Pick<UpdateInput, 'path' | 'content' | 'patches'>,
  version: Buffer,
  encoding: string,
  { differ, signal }: OperationContext
): Promise<string> {
  if (content !== undefined) return keepMark(content, version, encoding, path)
  const text = decodeText(version, encoding, path)
  const applied = await differ.apply({ text, patches, signal })
  if ('text' in applied) return applied.text
  const { failure } = applied
  const code = failure.reason === 'too_large' ? 'FILE_TOO_LARGE' : 'INVALID_PATCH'
  throw new OperationError(code, `${path}: ${describeFailure(failure)}`, { path, details: { ...failure } })
}

function answer(path: string, current: FileVersion, hash: string, bytesWritten: number): Updated {
  return {
    status: 'ok',
    path,
    previous_hash: current.hash,
    hash,
    bytes_written: bytesWritten,
    changed: hash !== current.hash,
    timestamp: timestamp()
  }
}
