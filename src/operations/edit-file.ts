// edit_file (FES 2.3): edits by line number and lines appended, all or none.
import { contract } from '../../schemas/contract.ts'
import type { Contention } from '../../schemas/contention.ts'
import type { EditFileInput, EditFileOutput } from '../../schemas/file-editing.ts'
import type { Static } from '../../schemas/typebox.ts'
import { readLineEdits, type EditedLines, type LineChanges, type LineEditFailure } from '../diff/line-edits.ts'
import { countByteLines } from '../diff/lines.ts'
import { decodeText, encodeText } from '../files/text.ts'
import type { Place } from '../files/walk.ts'
import type { Lock } from '../locks/lock.ts'
import { answerContention } from './contention.ts'
import type { OperationContext } from './context.ts'
import { changeErrors, defineOperation } from './define.ts'
import { lockSeconds, refuseLines, requireFileName } from './file-name.ts'
import { createMissing, goneMeanwhile, notToBeCreated, readVersion, recordVersion } from './file-version.ts'
import { tellMerged, toVersion, type LateChange, type Merged } from './late-change.ts'
import { withLocks } from './with-locks.ts'
import type { NotMerged } from '../diff/merge-result.ts'

export const editFile = defineOperation({
  name: 'edit_file',
  title: 'Edit a file of the folder by lines',
  description:
    'Replaces, inserts and deletes lines of a UTF-8 text file directly in the first root, and appends to it; all or nothing. Line numbers mean the file as it is when the call gets its turn: where others may have changed it since you read it, pass expected_hash, the version whose lines you mean.',
  ...contract.edit_file,
  annotations: { readOnlyHint: false, destructiveHint: true, idempotentHint: false, openWorldHint: false },
  errors: [...changeErrors, 'FILE_NOT_FOUND', 'ENCODING_ERROR', 'WRITE_ERROR'],
  handle: edit
})

type Edited = Static<typeof EditFileOutput>

async function edit(input: EditFileInput, context: OperationContext): Promise<Edited | Contention> {
  const { name, edits = [], append = '', create_if_missing, expected_hash, diff_format, fencing_token } = input
  requireFileName(name)
  const changes = orRefuse(name, readLineEdits({ edits, append }))
  const outcome = await withLocks(
    context,
    [{ path: name, mode: 'exclusive', reach: 'target', fencingToken: fencing_token }],
    { operation: 'edit_file', timeout: lockSeconds(context) },
    async ([place], lock) => {
      context.files.checkWritable(place!, name)
      const turn = { input, changes, place: place!, lock }
      if (place!.stat !== undefined) return changeFile(turn, context)
      if (typeof expected_hash === 'string') throw goneMeanwhile(name)
      if (!create_if_missing) throw notToBeCreated(name, 'list_files')
      return { done: await createFile(turn, context), merged: undefined }
    }
  )
  if ('late' in outcome) {
    const { late, notMerged } = outcome
    return answerContention(context, { ...late, operation: 'edit_file', diffFormat: diff_format, notMerged })
  }
  const { done, merged } = outcome
  return merged === undefined ? done : tellMerged(context, done, merged, diff_format)
}

/** An edit that has its lock. */
interface Turn {
  readonly input: EditFileInput
  readonly changes: LineChanges
  readonly place: Place
  readonly lock: Lock
}

async function createFile({ input, changes, place, lock }: Turn, context: OperationContext): Promise<Edited> {
  const { name } = input
  const { differ, signal } = context
  const edited = orRefuse(name, await differ.edit({ text: '', changes, isNew: true, signal }))
  const bytes = encodeText(edited.text, 'utf-8', name)
  await createMissing(context, 'edit_file', place, name, bytes, { createDirs: false, lock })
  return answer(edited, true)
}

async function changeFile(
  { input, changes, place, lock }: Turn,
  context: OperationContext
): Promise<{ done: Edited; merged?: Merged | undefined } | { late: LateChange; notMerged: NotMerged | undefined }> {
  const { name, expected_hash, on_contention } = input
  const { differ, signal } = context
  const current = await readVersion(context, place, name)
  let edited: EditedLines | undefined
  const change = async (version: Buffer) => {
    const text = decodeText(version, 'utf-8', name)
    edited = orRefuse(name, await differ.edit({ text, changes, isNew: false, signal }))
    return edited.text
  }
  const expectedHash = expected_hash ?? current.hash
  const late = { path: name, canonicalPath: place.path, expectedHash, current, encoding: 'utf-8', change }
  const version = await toVersion(context, late, on_contention)
  if ('notMerged' in version) return { late, notMerged: version.notMerged }
  const { bytes, merged } = version
  let hash = current.hash
  if (!bytes.equals(current.bytes)) {
    const made = await context.files.replace(place, name, current, bytes, () => lock.assertHeld())
    hash = recordVersion(context, 'edit_file', place, bytes, made)
    if (expected_hash === current.hash) {
      context.views.learned(context.caller.agentId, { path: place.path, given: name, hash, from: current.hash })
    }
  }
  const done = answer(edited!, false)
  if (typeof expected_hash !== 'string') return { done }
  const new_total_lines = merged === undefined ? done.new_total_lines : countByteLines(bytes)
  return { done: { ...done, new_total_lines, previous_hash: current.hash, hash }, merged }
}

/** @throws OperationError INVALID_REQUEST */
function orRefuse<Result extends object>(name: string, result: Result | { readonly failure: LineEditFailure }): Result {
  if (!('failure' in result)) return result
  const { edit_index, message } = result.failure
  return refuseLines(name, `edits[${edit_index}]: ${message} Nothing was changed.`, { edit_index })
}

function answer({ linesModified, totalLines }: EditedLines, isCreated: boolean): Edited {
  return { success: true, lines_modified: linesModified, file_created: isCreated, new_total_lines: totalLines }
}
