// edit_file (FES 2.3): edits by line number and lines appended, all or none.
import { contract } from '../../schemas/contract.ts'
import type { Contention } from '../../schemas/contention.ts'
import type { EditFileInput, EditFileOutput } from '../../schemas/file-editing.ts'
import type { Static } from '../../schemas/typebox.ts'
import { readLineEdits, type EditedLines, type LineEditFailure } from '../engine/diff/line-edits.ts'
import { countByteLines } from '../engine/diff/lines.ts'
import type { OperationContext } from '../engine/call/context.ts'
import { changeErrors, defineOperation } from './definition/define.ts'
import { lockSeconds, refuseLines, requireFileName } from './file-name.ts'
import { assertMayCreate } from './change/file-version.ts'
import { planContent } from './change/content-planner.ts'
import { outcomeOf } from './change/plan.ts'
import { changeOne } from './change/run.ts'
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

  const planner = planContent(
    {
      operation: 'edit_file',
      path: name,
      fencingToken: fencing_token,
      texts,
      expectedHash: () => expected_hash ?? undefined,
      async create() {
        assertMayCreate(name, expected_hash, input.create_if_missing, 'list_files')
        edited = orRefuse(name, await differ.edit({ text: '', changes, isNew: true, signal }))
        return { bytes: texts.encode(edited.text), createDirs: false }
      },
      onContention: on_contention,
      change
    },
    context
  )
  return changeOne<Edited>(context, planner, {
    operation: 'edit_file',
    timeout: lockSeconds(context),
    diffFormat: diff_format,
    answer({ plan, merged }) {
      const { linesModified, totalLines } = edited!
      const { hash, replaced } = outcomeOf(plan, context)
      return {
        success: true,
        lines_modified: linesModified,
        file_created: plan.current === undefined,
        new_total_lines: totalLines,
        ...(typeof expected_hash === 'string' && {
          ...(merged !== undefined &&
            plan.after?.kind === 'bytes' && { new_total_lines: countByteLines(plan.after.bytes) }),
          previous_hash: plan.current!.hash,
          hash: hash!,
          ...replaced
        })
      }
    }
  })
}

/** @throws OperationError INVALID_REQUEST */
function orRefuse<Result extends object>(name: string, result: Result | { readonly failure: LineEditFailure }): Result {
  if (!('failure' in result)) return result
  const { edit_index, message } = result.failure
  return refuseLines(name, `edits[${edit_index}]: ${message} Nothing was changed.`, { edit_index })
}
