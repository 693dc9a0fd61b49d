// async_restore: writes a kept version back, as an update that others can see and undo.
import { contract } from '../../schemas/contract.ts'
import type { Contention } from '../../schemas/contention.ts'
import type { RestoreInput, RestoreOutput } from '../../schemas/history.ts'
import type { Static } from '../../schemas/typebox.ts'
import { OperationError } from '../errors.ts'
import type { FileVersion } from '../files/read-file.ts'
import { answerContention } from './contention.ts'
import type { OperationContext } from './context.ts'
import { changeErrors, defineOperation } from './define.ts'
import { createMissing, linksBroken, readVersion, recordVersion, timestamp } from './file-version.ts'
import { keptBytes } from './kept-version.ts'
import { withLocks } from './with-locks.ts'

export const asyncRestore = defineOperation({
  name: 'async_restore',
  title: 'Restore a version',
  description:
    'Writes a kept version of a file back, byte for byte; also where the file was deleted. async_history shows the versions. With expected_hash, and where you have read the file, only over the version that you know: where others have changed it since, nothing is written and the answer has status "contention" with the diff.',
  ...contract.async_restore,
  annotations: { readOnlyHint: false, destructiveHint: true, idempotentHint: false, openWorldHint: false },
  errors: [...changeErrors, 'FILE_NOT_FOUND', 'VERSION_NOT_KEPT', 'ENCODING_ERROR', 'WRITE_ERROR'],
  handle: restore
})

type Restored = Static<typeof RestoreOutput>

async function restore(input: RestoreInput, context: OperationContext): Promise<Restored | Contention> {
  const { path, hash, expected_hash, create_dirs, timeout, fencing_token, diff_format } = input
  const { files, views, caller } = context
  const bytes = await keptBytes(context, path, hash)
  const outcome = await withLocks(
    context,
    [{ path, mode: 'exclusive', reach: 'target', fencingToken: fencing_token }],
    { operation: 'async_restore', timeout },
    async ([place], lock) => {
      files.checkWritable(place!, path)
      const seen = { path: place!.path, given: path, hash, from: hash }
      if (place!.stat === undefined) {
        if (typeof expected_hash === 'string') throw gone(path)
        await createMissing(context, 'async_restore', place!, path, bytes, {
          createDirs: create_dirs,
          lock,
          from: hash
        })
        return { done: answer(path, null, hash, bytes.length) }
      }
      const current = await readVersion(context, place!, path)
      const known = expected_hash ?? (expected_hash === null ? undefined : views.knownHash(caller.agentId, place!.path))
      if (known === undefined && expected_hash !== null) throw versionUnknown(path)
      if (known !== undefined && current.hash !== known) return { late: current, known, canonicalPath: place!.path }
      if (current.hash === hash) return { done: answer(path, current, hash, 0) }
      const made = await files.replace(place!, path, current, bytes, () => lock.assertHeld())
      recordVersion(context, 'async_restore', place!, bytes, made)
      views.learned(caller.agentId, seen)
      return { done: { ...answer(path, current, hash, bytes.length), ...linksBroken(current) } }
    }
  )
  if ('done' in outcome) return outcome.done
  return answerContention(context, {
    operation: 'async_restore',
    path,
    canonicalPath: outcome.canonicalPath,
    expectedHash: outcome.known,
    current: outcome.late,
    diffFormat: diff_format
  })
}

function versionUnknown(path: string): OperationError {
  const message = `${path} exists, and the server does not know which version of it you have seen. Pass expected_hash: the hash that async_read gives, or null to restore over whatever is there. Nothing was changed.`
  return new OperationError('INVALID_REQUEST', message, { path })
}

function gone(path: string): OperationError {
  const message = `File does not exist: ${path}. To create it anew from the kept version, send the call without expected_hash.`
  return new OperationError('FILE_NOT_FOUND', message, { path })
}

function answer(path: string, current: FileVersion | null, hash: string, bytesWritten: number): Restored {
  return {
    status: 'ok',
    path,
    previous_hash: current?.hash ?? null,
    hash,
    bytes_written: bytesWritten,
    changed: current?.hash !== hash,
    timestamp: timestamp()
  }
}
