// async_delete (PRD 3.4).
import { contract } from '../../schemas/contract.ts'
import type { Contention } from '../../schemas/contention.ts'
import type { DeleteInput, DeleteOutput } from '../../schemas/delete.ts'
import type { Static } from '../../schemas/typebox.ts'
import type { OperationContext } from '../engine/call/context.ts'
import { changeErrors, defineOperation } from './definition/define.ts'
import { readEntry } from './change/entry-version.ts'
import { clash, outcomeOf } from './change/plan.ts'
import { exclusive, type Planner } from './change/planner.ts'
import { changeOne } from './change/run.ts'
import { findStale } from './change/stale-change.ts'
import { timestamp } from '../support/timestamp.ts'

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
  const { path, timeout, diff_format } = input
  return changeOne<Deleted>(context, planDelete(input, context), {
    operation: 'async_delete',
    timeout,
    diffFormat: diff_format,
    answer: ({ plan, content }) => ({
      status: 'ok',
      path,
      deleted_hash: content?.hash ?? null,
      ...outcomeOf(plan, context).replaced,
      timestamp: timestamp()
    })
  })
}

export function planDelete(
  { path, expected_hash = null, fencing_token }: Pick<DeleteInput, 'path' | 'expected_hash' | 'fencing_token'>,
  context: OperationContext
): Planner {
  return {
    operation: 'async_delete',
    targets: [exclusive(path, fencing_token, 'entry')],
    async plan([place], plan, index) {
      const entered = plan.enter(place!, path, 'delete', index)
      if (entered.indices.length > 1) throw clash(path, entered.indices, 'both delete it.')
      const { version, content } = await readEntry(context, place!, path, expected_hash !== null)
      const stale = findStale(context, place!, path, content, expected_hash)
      if (stale !== undefined) return { stale }
      entered.current = version
      entered.after = { kind: 'none' }
      return { plan: entered, content }
    }
  }
}
