// async_restore: writes a kept version back, as an update that other agents can see and undo.
import { dirname, isAbsolute } from 'node:path'
import { contract } from '../../schemas/contract.ts'
import type { Contention } from '../../schemas/contention.ts'
import type { RestoreInput, RestoreOutput } from '../../schemas/history.ts'
import type { Static } from '../../schemas/typebox.ts'
import { OperationError } from '../errors.ts'
import type { FileVersion } from '../engine/files/read-file.ts'
import type { OpenEntry } from '../engine/files/walk.ts'
import { hasSeenAll } from '../engine/seen/seen-lines.ts'
import type { OperationContext } from '../engine/call/context.ts'
import { changeErrors, defineOperation } from './definition/define.ts'
import { readTarget } from './change/entry-version.ts'
import { keptBytes } from './change/kept-version.ts'
import { wholeHash } from './change/named-version.ts'
import { timestamp } from '../support/timestamp.ts'
import { planContent, type Creation } from './change/content-planner.ts'
import { outcomeOf } from './change/plan.ts'
import { changeOne } from './change/run.ts'
import { VersionTexts } from './change/version-texts.ts'

export const asyncRestore = defineOperation({
  name: 'async_restore',
  title: 'Restore a version',
  description:
    'Writes a kept version of a file back, byte for byte, even if the file was deleted. async_history shows the versions. With expected_hash, or if you have read the file, only over the version that you know: if others have changed it since, nothing is written and the answer has status "contention" with the diff.',
  ...contract.async_restore,
  annotations: { readOnlyHint: false, destructiveHint: true, idempotentHint: false, openWorldHint: false },
  errors: [...changeErrors, 'FILE_NOT_FOUND', 'VERSION_NOT_KEPT', 'ENCODING_ERROR', 'WRITE_ERROR'],
  handle: restore
})

type Restored = Static<typeof RestoreOutput>

async function restore(given: RestoreInput, context: OperationContext): Promise<Restored | Contention> {
  const { path, expected_hash, timeout, fencing_token, diff_format } = given
  const { config, files } = context
  const hash = wholeHash(given.hash, { path, canonicalPath: files.resolve(path, 'target').path }, context)
  const input = { ...given, hash }
  const kept = await keptBytes(context, path, hash)
  const planner = planContent(
    {
      operation: 'async_restore',
      path,
      fencingToken: fencing_token,
      texts: new VersionTexts(config.crud.default_encoding, path),
      expectedHash(place, current) {
        if (expected_hash === null) return undefined
        // A file that is that version already loses nothing.
        return expected_hash ?? (current.hash === hash ? hash : knownVersion(context, place, path, current))
      },
      create: (place) => create(place, input, kept, context),
      change: async () => kept,
      isNamed: true
    },
    context
  )
  return changeOne<Restored>(context, planner, {
    operation: 'async_restore',
    timeout,
    diffFormat: diff_format,
    answer({ plan }) {
      const { bytes_written, replaced } = outcomeOf(plan, context)
      return {
        status: 'ok',
        path,
        previous_hash: plan.current?.hash ?? null,
        hash,
        bytes_written,
        changed: plan.current?.hash !== hash,
        timestamp: timestamp(),
        ...replaced
      }
    }
  })
}

/** The version that the caller knows as a whole, or else in part. @throws OperationError if it has seen too little of the current one */
async function knownVersion(
  context: OperationContext,
  place: OpenEntry,
  path: string,
  current: FileVersion
): Promise<string> {
  const { reads, caller } = context
  const known = reads.knownHash(caller.agentId, place.path)
  if (caller.agentId === undefined || known === undefined) throw versionUnknown(path)
  if (await hasSeenAll(context, caller.agentId, place.path, current)) return current.hash
  if (known === current.hash) throw versionUnknown(path)
  return known
}

async function create(
  place: OpenEntry,
  { path, hash, expected_hash, create_dirs }: RestoreInput,
  kept: Buffer,
  context: OperationContext
): Promise<Creation> {
  if (typeof expected_hash === 'string') throw gone(path)
  const { history } = context
  const was = history.was(place.path)
  const creation = { bytes: kept, createDirs: create_dirs, mode: was?.mode }
  // A path that was a link, and a file before or after it, gets the file back that had the version.
  const isOwn = history.versions(place.path).some((version) => version.hash === hash)
  const link = isOwn ? undefined : was?.link
  if (link === undefined) return creation
  // Only the link comes back, if its target has that version; else it would show another one, or the write would change its target.
  const target = isAbsolute(link) ? link : `${dirname(place.path)}/${link}`
  if ((await readTarget(context, target, false))?.hash !== hash) throw targetDiffers(path, target)
  return { ...creation, link }
}

function targetDiffers(path: string, target: string): OperationError {
  const message = `${path} was a symbolic link to ${target}, which does not have that version now. Nothing was changed. Restore ${target} first, or create another file with async_write.`
  return new OperationError('INVALID_REQUEST', message, { path })
}

function versionUnknown(path: string): OperationError {
  const message = `${path} exists, and as far as the server knows you have not seen all of it. Pass expected_hash: the hash that async_read gives, or null to restore over whatever is there. Nothing was changed.`
  return new OperationError('INVALID_REQUEST', message, { path })
}

function gone(path: string): OperationError {
  const message = `File does not exist: ${path}. To create it again from the kept version, send the call without expected_hash.`
  return new OperationError('FILE_NOT_FOUND', message, { path })
}
