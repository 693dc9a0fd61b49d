// edit_file (FES 2.3): edits by line number and lines appended, all or none.
import { contract } from '../../schemas/contract.ts'
import type { EditFileInput, EditFileOutput } from '../../schemas/file-editing.ts'
import type { Static } from '../../schemas/typebox.ts'
import {
  editLines,
  readLineEdits,
  type EditedLines,
  type LineChanges,
  type LineEditFailure
} from '../diff/line-edits.ts'
import { decodeText, encodeText } from '../files/text.ts'
import type { Place } from '../files/walk.ts'
import type { Lock } from '../locks/lock.ts'
import type { OperationContext } from './context.ts'
import { changeErrors, defineOperation } from './define.ts'
import { lockSeconds, refuseLines, requireFileName } from './file-name.ts'
import { createMissing, notToBeCreated, readVersion, recordVersion } from './file-version.ts'
import { withLocks } from './with-locks.ts'

export const editFile = defineOperation({
  name: 'edit_file',
  title: 'Edit a file of the folder by lines',
  description:
    'Replaces, inserts and deletes lines of a UTF-8 text file directly in the first root, and appends to it; all or nothing. Line numbers mean the file as it is when the call gets its turn: if others may have changed it since you read it, use async_update, which refuses to build on a version you do not know.',
  ...contract.edit_file,
  annotations: { readOnlyHint: false, destructiveHint: true, idempotentHint: false, openWorldHint: false },
  errors: [...changeErrors, 'FILE_NOT_FOUND', 'ENCODING_ERROR', 'WRITE_ERROR'],
  handle: edit
})

type Edited = Static<typeof EditFileOutput>

async function edit(input: EditFileInput, context: OperationContext): Promise<Edited> {
  const { name, edits = [], append = '', create_if_missing, fencing_token } = input
  requireFileName(name)
  const changes = orRefuse(name, readLineEdits({ edits, append }))
  return withLocks(
    context,
    [{ path: name, mode: 'exclusive', reach: 'target', fencingToken: fencing_token }],
    { operation: 'edit_file', timeout: lockSeconds(context) },
    ([place], lock) => {
      context.files.checkWritable(place!, name)
      const turn = { name, changes, place: place!, lock }
      return place!.stat === undefined && create_if_missing ? createFile(turn, context) : changeFile(turn, context)
    }
  )
}

/** An edit that has its lock. */
interface Turn {
  readonly name: string
  readonly changes: LineChanges
  readonly place: Place
  readonly lock: Lock
}

async function createFile({ name, changes, place, lock }: Turn, context: OperationContext): Promise<Edited> {
  const edited = orRefuse(name, editLines('', changes, true))
  const bytes = encodeText(edited.text, 'utf-8', name)
  await createMissing(context, 'edit_file', place, name, bytes, { createDirs: false, lock })
  return answer(edited, true)
}

async function changeFile({ name, changes, place, lock }: Turn, context: OperationContext): Promise<Edited> {
  if (place.stat === undefined) throw notToBeCreated(name, 'list_files')
  const current = await readVersion(context, place, name)
  const edited = orRefuse(name, editLines(decodeText(current.bytes, 'utf-8', name), changes, false))
  const bytes = encodeText(edited.text, 'utf-8', name)
  if (!bytes.equals(current.bytes)) {
    const identity = await context.files.replace(place, name, current, bytes, () => lock.assertHeld())
    recordVersion(context, 'edit_file', place, bytes, identity)
  }
  return answer(edited, false)
}

/** @throws OperationError INVALID_REQUEST */
function orRefuse<Result extends object>(name: string, result: Result | { failure: LineEditFailure }): Result {
  if (!('failure' in result)) return result
  const { edit_index, message } = result.failure
  return refuseLines(name, `edits[${edit_index}]: ${message} Nothing was changed.`, { edit_index })
}

function answer({ linesModified, totalLines }: EditedLines, isCreated: boolean): Edited {
  return { success: true, lines_modified: linesModified, file_created: isCreated, new_total_lines: totalLines }
}
