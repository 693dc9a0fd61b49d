// async_append (PRD 3.11).
import { contract } from '../../schemas/contract.ts'
import type { Static } from '../../schemas/typebox.ts'
import type { AppendInput, AppendOutput } from '../../schemas/append.ts'
import { decodeText, encodeText } from '../files/text.ts'
import type { Place } from '../files/walk.ts'
import type { OperationContext } from './context.ts'
import { changeErrors, defineOperation } from './define.ts'
import { createMissing, linksBroken, notToBeCreated, readVersion, recordVersion, timestamp } from './file-version.ts'
import { withLocks } from './with-locks.ts'

type Appended = Static<typeof AppendOutput>

export const asyncAppend = defineOperation({
  name: 'async_append',
  title: 'Append to a file',
  description:
    'Adds text to the end of a file without your reading it first. Appends of several agents follow one another and never conflict. Use async_update where the end of the file matters to what you add.',
  ...contract.async_append,
  annotations: { readOnlyHint: false, destructiveHint: false, idempotentHint: false, openWorldHint: false },
  errors: [...changeErrors, 'FILE_NOT_FOUND', 'ENCODING_ERROR', 'WRITE_ERROR'],
  handle: append
})

async function append(input: AppendInput, context: OperationContext): Promise<Appended> {
  const {
    path,
    content,
    separator,
    create_if_missing,
    create_dirs,
    timeout,
    fencing_token,
    encoding = context.config.crud.default_encoding
  } = input
  return withLocks(
    context,
    [{ path, mode: 'exclusive', reach: 'target', fencingToken: fencing_token }],
    { operation: 'async_append', timeout },
    async ([place], lock) => {
      context.files.checkWritable(place!, path)
      if (place!.stat === undefined && create_if_missing) {
        const bytes = encodeText(content, encoding, path)
        const hash = await createMissing(context, 'async_append', place!, path, bytes, {
          createDirs: create_dirs,
          lock
        })
        return answer(path, hash, bytes.length, bytes.length, true)
      }
      if (place!.stat === undefined) throw notToBeCreated(path, 'async_list')
      const current = await readVersion(context, place!, path)
      requireText(current.bytes, encoding, path)
      const added = encodeText(current.bytes.length > 0 ? separator + content : content, encoding, path)
      if (added.length === 0) return answer(path, current.hash, 0, current.bytes.length, false)
      const bytes = Buffer.concat([current.bytes, added])
      const identity = await context.files.replace(place as Place, path, current, bytes, () => lock.assertHeld())
      const hash = recordVersion(context, 'async_append', place!, bytes, identity)
      return { ...answer(path, hash, added.length, bytes.length, true), ...linksBroken(current) }
    }
  )
}

/** Text is not added to a file that is not text in this encoding. */
function requireText(bytes: Buffer, encoding: string, path: string): void {
  decodeText(bytes, encoding, path)
}

function answer(path: string, hash: string, appended: number, total: number, changed: boolean): Appended {
  return {
    status: 'ok',
    path,
    hash,
    bytes_appended: appended,
    total_size_bytes: total,
    changed,
    timestamp: timestamp()
  }
}
