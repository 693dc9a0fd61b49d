// edit_file (FES 2.3): edits by line number and lines appended, all or none.
import { contract } from '../../schemas/contract.ts'
import type { EditFileInput, EditFileOutput } from '../../schemas/file-editing.ts'
import type { Static } from '../../schemas/typebox.ts'
import { editLines } from '../diff/line-edits.ts'
import { decodeText, encodeText } from '../files/text.ts'
import type { Place } from '../files/walk.ts'
import type { Lock } from '../locks/lock.ts'
import type { OperationContext } from './context.ts'
import { changeErrors, defineOperation } from './define.ts'
import { refuseLines, requireFileName } from './file-name.ts'
import { readVersion, recordVersion } from './file-version.ts'
import { maxLockSeconds } from './read-file.ts'
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
  const { name, create_if_missing } = input
  requireFileName(name)
  const timeout = Math.min(context.config.crud.default_timeout, maxLockSeconds)
  return withLocks(
    context,
    [{ path: name, mode: 'exclusive', reach: 'target' }],
    { operation: 'edit_file', timeout },
    ([place], lock) => {
      context.files.checkWritable(place!, name)
      return place!.stat === undefined && create_if_missing
        ? createFile(input, context, place!, lock)
        : changeFile(input, context, place!, lock)
    }
  )
}

async function createFile(input: EditFileInput, context: OperationContext, place: Place, lock: Lock): Promise<Edited> {
  const { name } = input
  const edited = apply(input, '', true)
  const bytes = encodeText(edited.text, 'utf-8', name)
  const identity = await context.files.create(place, name, bytes, {
    createDirs: false,
    assertHeld: () => lock.assertHeld()
  })
  recordVersion(context, 'edit_file', place, bytes, identity)
  return answer(edited, true)
}

async function changeFile(input: EditFileInput, context: OperationContext, place: Place, lock: Lock): Promise<Edited> {
  const { name } = input
  const current = await readVersion(context, place, name)
  const edited = apply(input, decodeText(current.bytes, 'utf-8', name), false)
  const bytes = encodeText(edited.text, 'utf-8', name)
  if (!bytes.equals(current.bytes)) {
    const identity = await context.files.replace(place, name, current, bytes, () => lock.assertHeld())
    recordVersion(context, 'edit_file', place, bytes, identity)
  }
  return answer(edited, false)
}

/** @throws OperationError INVALID_REQUEST */
function apply({ name, edits = [], append = '' }: EditFileInput, text: string, isNew: boolean) {
  const edited = editLines({ text, edits, append, isNew })
  if ('failure' in edited) {
    const { edit_index, message } = edited.failure
    return refuseLines(name, `edits[${edit_index}]: ${message} Nothing was changed.`, { edit_index })
  }
  return edited
}

function answer({ linesModified, totalLines }: ReturnType<typeof apply>, isCreated: boolean): Edited {
  return { success: true, lines_modified: linesModified, file_created: isCreated, new_total_lines: totalLines }
}
