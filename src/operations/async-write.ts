// async_write (PRD 3.2).
import { contract } from '../../schemas/contract.ts'
import type { Static } from '../../schemas/typebox.ts'
import type { WriteInput, WriteOutput } from '../../schemas/write.ts'
import { requireAbsent } from '../engine/commit/preconditions.ts'
import { encodeText } from '../engine/files/text.ts'
import type { OperationContext } from '../engine/call/context.ts'
import { changeErrors, defineOperation } from './definition/define.ts'
import { clash, outcomeOf } from './change/plan.ts'
import { exclusive, type Planner } from './change/planner.ts'
import { changeOne } from './change/run.ts'
import { largeBytes, largeTurn } from '../support/large-work.ts'
import { timestamp } from '../support/timestamp.ts'

export const asyncWrite = defineOperation({
  name: 'async_write',
  title: 'Create a file',
  description:
    'Creates a new text file, with its parent directories. Fails with FILE_EXISTS if the file already exists: change it with async_update. The answer comes when the file is durably on disk.',
  ...contract.async_write,
  annotations: { readOnlyHint: false, destructiveHint: false, idempotentHint: false, openWorldHint: false },
  errors: [...changeErrors, 'FILE_EXISTS', 'ENCODING_ERROR', 'WRITE_ERROR'],
  handle: writeOne
})

type Written = Static<typeof WriteOutput>
type Input = Omit<WriteInput, 'agent_id'>

export async function writeOne(input: Input, context: OperationContext): Promise<Written> {
  const { path, content, timeout } = input
  if (content.length > largeBytes) await largeTurn()
  const written = await changeOne<Written>(context, planWrite(input, context), {
    operation: 'async_write',
    timeout,
    answer({ plan }) {
      const { hash, bytes_written } = outcomeOf(plan, context)
      return { status: 'ok', path, hash: hash!, bytes_written, timestamp: timestamp() }
    }
  })
  // Only what names a version can be in contention.
  return written as Written
}

export function planWrite(
  {
    path,
    content,
    encoding,
    create_dirs,
    fencing_token
  }: Pick<Input, 'path' | 'content' | 'encoding' | 'create_dirs' | 'fencing_token'>,
  { config }: OperationContext
): Planner {
  return {
    operation: 'async_update',
    targets: [{ ...exclusive(path, fencing_token), mayBeBlocked: true }],
    async plan([place], plan, index) {
      const entered = plan.enter(place!, path, 'write', index)
      if (entered.indices.length > 1) throw clash(path, entered.indices, 'both create it.')
      // A folder may leave in the same change.
      entered.mayReplace = false
      if (place!.stat?.isDirectory() !== true)
        requireAbsent(place!, path, 'Read it with async_read and change it with async_update, or choose another name.')
      entered.createDirs = create_dirs
      entered.sight = 'sent'
      await plan.give(entered, encodeText(content, encoding ?? config.crud.default_encoding, path))
      return { plan: entered }
    }
  }
}
