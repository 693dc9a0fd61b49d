// async_delete (PRD 3.4).
import { contract } from '../../schemas/contract.ts'
import type { Contention } from '../../schemas/contention.ts'
import type { DeleteInput, DeleteOutput } from '../../schemas/delete.ts'
import type { Static } from '../../schemas/typebox.ts'
import type { OperationContext } from '../engine/context.ts'
import { changeErrors, defineOperation } from './definition/define.ts'
import { remember } from '../support/remember.ts'
import { announceDelete } from './change/announce.ts'
import { entryAt, notKept, readEntry } from './change/entry-version.ts'
import { authorOf } from './change/file-version.ts'
import { timestamp } from '../support/timestamp.ts'
import { changeFile, findStale } from './change/change-file.ts'

export const asyncDelete = defineOperation({
  name: 'async_delete',
  title: 'Delete a file',
  description:
    'Deletes a file. With expected_hash only that version is deleted; if the file has changed meanwhile, nothing is deleted and the answer has status "contention" with the diff. A symbolic link is deleted itself, not its target. Directories are not deleted.',
  ...contract.async_delete,
  annotations: { readOnlyHint: false, destructiveHint: true, idempotentHint: false, openWorldHint: false },
  errors: [...changeErrors, 'FILE_NOT_FOUND', 'ENCODING_ERROR', 'DELETE_ERROR'],
  handle: deleteFile
})

type Deleted = Static<typeof DeleteOutput>

async function deleteFile(input: DeleteInput, context: OperationContext): Promise<Deleted | Contention> {
  const { path, expected_hash = null, timeout, diff_format, fencing_token } = input
  return changeFile<Deleted>(context, {
    operation: 'async_delete',
    targets: [{ path, reach: 'entry', fencingToken: fencing_token }],
    timeout,
    diffFormat: diff_format,
    async make({ place, assertHeld }) {
      const { version, content } = await readEntry(context, place, path, expected_hash !== null)
      const stale = findStale(context, place, path, content, expected_hash)
      if (stale !== undefined) return { stale }
      const over = entryAt(place, version)
      const done = remember(() => ({
        status: 'ok' as const,
        path,
        deleted_hash: content?.hash ?? null,
        ...notKept(context, place, version),
        timestamp: timestamp()
      }))
      const announce = announceDelete(context, place, done)
      const { unsure } = await context.files.remove(place, path, version, { assertHeld, announce })
      context.receipt?.made()
      context.history.recordGone(place.path, { author: authorOf(context.caller, 'async_delete'), over })
      if (unsure !== undefined) throw unsure
      return { done: done() }
    }
  })
}
