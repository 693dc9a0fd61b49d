// async_write (PRD 3.2).
import { contract } from '../../schemas/contract.ts'
import type { Static } from '../../schemas/typebox.ts'
import type { WriteInput, WriteOutput } from '../../schemas/write.ts'
import { hashInTurns } from '../engine/files/read-file.ts'
import { encodeText } from '../engine/files/text.ts'
import type { OperationContext } from '../engine/context.ts'
import { changeErrors, defineOperation } from './definition/define.ts'
import { remember } from '../support/remember.ts'
import { announceWrite } from './change/announce.ts'
import { recordVersion } from './change/file-version.ts'
import { withLocks } from './locking/with-locks.ts'
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

export async function writeOne(
  input: Omit<WriteInput, 'agent_id'>,
  context: OperationContext
): Promise<Static<typeof WriteOutput>> {
  const { path, content, encoding = context.config.crud.default_encoding, create_dirs, timeout, fencing_token } = input
  if (content.length > largeBytes) await largeTurn()
  const bytes = encodeText(content, encoding, path)
  return withLocks(
    context,
    [{ path, mode: 'exclusive', reach: 'target', fencingToken: fencing_token }],
    { operation: 'async_write', timeout },
    async ([place], lock) => {
      context.files.checkWritable(place!, path)
      const hash = await hashInTurns(bytes)
      const answer = remember(() => ({
        status: 'ok' as const,
        path,
        hash,
        bytes_written: bytes.length,
        timestamp: timestamp()
      }))
      const made = await context.files.create(place!, path, bytes, {
        createDirs: create_dirs,
        assertHeld: () => lock.assertHeld(),
        announce: announceWrite(context, place!, { before: null, after: hash }, answer)
      })
      recordVersion(context, 'async_write', place!, { bytes, hash }, made)
      context.reads.recordSent(context.caller.agentId, { path: place!.path, given: path, hash })
      return answer()
    }
  )
}
