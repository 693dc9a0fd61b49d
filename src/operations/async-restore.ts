// async_restore: writes a kept version back, as an update that others can see and undo.
import { dirname, isAbsolute } from 'node:path'
import { contract } from '../../schemas/contract.ts'
import type { Contention } from '../../schemas/contention.ts'
import type { RestoreInput, RestoreOutput } from '../../schemas/history.ts'
import type { Static } from '../../schemas/typebox.ts'
import { OperationError } from '../errors.ts'
import type { FileVersion } from '../files/read-file.ts'
import type { Place } from '../files/walk.ts'
import type { Lock } from '../locks/lock.ts'
import { answerContention } from './contention.ts'
import type { OperationContext } from './context.ts'
import { changeErrors, defineOperation } from './define.ts'
import { createMissing, glanceAt, linksBroken, readVersion, recordVersion } from './file-version.ts'
import { keptBytes } from './kept-version.ts'
import { withLocks } from './with-locks.ts'
import { timestamp } from '../timestamp.ts'

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
        const was = context.history.was(place!.path)
        const options = { createDirs: create_dirs, lock, mode: was?.mode, from: hash }
        if (was?.link !== undefined) return { done: await restoreLink(context, place!, input, was.link, lock) }
        await createMissing(context, 'async_restore', place!, path, bytes, options)
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

/** The link alone, where what it leads to has that version; else it would show another one, or write over its target. */
async function restoreLink(
  context: OperationContext,
  place: Place,
  { path, hash, create_dirs }: RestoreInput,
  link: string,
  lock: Lock
): Promise<Restored> {
  const target = isAbsolute(link) ? link : `${dirname(place.path)}/${link}`
  if ((await hashAt(context, target)) !== hash) throw targetDiffers(path, target)
  const options = { createDirs: create_dirs, assertHeld: () => lock.assertHeld() }
  const { unsure } = await context.files.createLink(place, path, link, options)
  if (unsure !== undefined) throw unsure
  return answer(path, null, hash, 0)
}

/** Undefined where nothing can be read there. */
async function hashAt(context: OperationContext, path: string): Promise<string | undefined> {
  try {
    const target = context.files.open(path, 'target')
    try {
      return (await glanceAt(context, target, path)).hash
    } finally {
      target.close()
    }
  } catch (error) {
    if (error instanceof OperationError) return undefined
    throw error
  }
}

function targetDiffers(path: string, target: string): OperationError {
  const message = `${path} was a symbolic link to ${target}, which does not have that version now. Nothing was changed. Restore ${target} first, or make a file of its own with async_write.`
  return new OperationError('INVALID_REQUEST', message, { path })
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
