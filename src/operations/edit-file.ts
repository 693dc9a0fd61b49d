// edit_file (FES 2.3): edits by line number and lines appended, all or none.
import { contract } from '../../schemas/contract.ts'
import type { Contention } from '../../schemas/contention.ts'
import type { EditFileInput, EditFileOutput } from '../../schemas/file-editing.ts'
import type { Static } from '../../schemas/typebox.ts'
import { readLineEdits, type EditedLines, type LineChanges, type LineEditFailure } from '../engine/diff/line-edits.ts'
import { countByteLines } from '../engine/diff/lines.ts'
import { encodeText } from '../engine/files/text.ts'
import type { OperationContext } from '../engine/context.ts'
import { changeErrors, defineOperation } from './definition/define.ts'
import { lockSeconds, refuseLines, requireFileName } from './file-name.ts'
import { assertMayCreate, createMissing } from './change/file-version.ts'
import type { LockedTurn } from './change/change-file.ts'
import { changeContent } from './change/change-content.ts'
import { VersionTexts } from './change/version-texts.ts'

export const editFile = defineOperation({
  name: 'edit_file',
  title: 'Edit a file of the folder by lines',
  description:
    'Replaces, inserts and deletes lines of a UTF-8 text file directly in the first root, and appends to it; all or nothing. Line numbers mean the file as it is when the call gets its turn: if others may have changed it since you read it, pass expected_hash, the version whose lines you mean.',
  ...contract.edit_file,
  annotations: { readOnlyHint: false, destructiveHint: true, idempotentHint: false, openWorldHint: false },
  errors: [...changeErrors, 'FILE_NOT_FOUND', 'ENCODING_ERROR', 'WRITE_ERROR'],
  handle: edit
})

type Edited = Static<typeof EditFileOutput>

async function edit(input: EditFileInput, context: OperationContext): Promise<Edited | Contention> {
  const { name, edits = [], append = '', expected_hash, on_contention, diff_format, fencing_token } = input
  const { differ, signal } = context
  requireFileName(name)
  const changes = orRefuse(name, readLineEdits({ edits, append }))
  const texts = new VersionTexts('utf-8', name)
  let edited: EditedLines | undefined

  async function change(version: Buffer): Promise<string> {
    edited = orRefuse(name, await differ.edit({ text: texts.decode(version), changes, isNew: false, signal }))
    return edited.text
  }

  return changeContent<Edited>(context, {
    operation: 'edit_file',
    path: name,
    timeout: lockSeconds(context),
    fencingToken: fencing_token,
    diffFormat: diff_format,
    texts,
    expectedHash: () => expected_hash ?? undefined,
    create: (turn) => create(turn, input, changes, context),
    onContention: on_contention,
    change,
    answer: ({ current, bytes, hash, isMerged, replaced }) => ({
      ...answer(edited!, false),
      ...(typeof expected_hash === 'string' && {
        ...(isMerged && { new_total_lines: countByteLines(bytes) }),
        previous_hash: current.hash,
        hash,
        ...replaced
      })
    })
  })
}

async function create(
  turn: LockedTurn,
  { name, create_if_missing, expected_hash }: EditFileInput,
  changes: LineChanges,
  context: OperationContext
): Promise<Edited> {
  assertMayCreate(name, expected_hash, create_if_missing, 'list_files')
  const { differ, signal } = context
  const edited = orRefuse(name, await differ.edit({ text: '', changes, isNew: true, signal }))
  return createMissing(context, 'edit_file', turn, name, encodeText(edited.text, 'utf-8', name), {
    createDirs: false,
    answer: () => answer(edited, true)
  })
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
