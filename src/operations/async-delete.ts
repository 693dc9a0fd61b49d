// async_delete (PRD 3.4).
import { contract } from '../../schemas/contract.ts'
import type { Contention } from '../../schemas/contention.ts'
import type { DeleteInput, DeleteOutput } from '../../schemas/delete.ts'
import type { Static } from '../../schemas/typebox.ts'
import { answerContention } from './contention.ts'
import type { OperationContext } from './context.ts'
import { changeErrors, defineOperation } from './define.ts'
import { readEntry } from './entry-version.ts'
import { authorOf } from './file-version.ts'
import { withLocks } from './with-locks.ts'
import { timestamp } from '../timestamp.ts'

export const asyncDelete = defineOperation({
  name: 'async_delete',
  title: 'Delete a file',
  description:
    'Deletes a file. With expected_hash only that version is deleted; where the file has changed meanwhile nothing is deleted and the answer has status "contention" with the diff. A symbolic link is deleted itself, not its target. Directories are not deleted.',
  ...contract.async_delete,
  annotations: { readOnlyHint: false, destructiveHint: true, idempotentHint: false, openWorldHint: false },
  errors: [...changeErrors, 'FILE_NOT_FOUND', 'ENCODING_ERROR', 'DELETE_ERROR'],
  handle: deleteFile
})

async function deleteFile(
  input: DeleteInput,
  context: OperationContext
): Promise<Static<typeof DeleteOutput> | Contention> {
  const { path, expected_hash = null, timeout, diff_format, fencing_token } = input
  const outcome = await withLocks(
    context,
    [{ path, mode: 'exclusive', reach: 'entry', fencingToken: fencing_token }],
    { operation: 'async_delete', timeout },
    async ([place], lock) => {
      context.files.checkWritable(place!, path)
      const { version, content } = await readEntry(context, place!, path, expected_hash !== null)
      if (expected_hash !== null && content !== undefined && content.hash !== expected_hash)
        return { late: content, canonicalPath: place!.path }
      const { link, unsure } = await context.files.remove(place!, path, version, () => lock.assertHeld())
      context.history.recordGone(place!.path, { author: authorOf(context.caller, 'async_delete'), link })
      if (unsure !== undefined) throw unsure
      return { deletedHash: content?.hash ?? null }
    }
  )
  if ('deletedHash' in outcome) return { status: 'ok', path, deleted_hash: outcome.deletedHash, timestamp: timestamp() }
  return answerContention(context, {
    operation: 'async_delete',
    path,
    canonicalPath: outcome.canonicalPath,
    expectedHash: expected_hash as string,
    current: outcome.late,
    diffFormat: diff_format
  })
}
