// async_rename (PRD 3.9): both names are locked, in canonical order.
import { contract } from '../../schemas/contract.ts'
import type { Contention } from '../../schemas/contention.ts'
import type { RenameInput, RenameOutput } from '../../schemas/rename.ts'
import type { Static } from '../../schemas/typebox.ts'
import type { FileVersion } from '../engine/files/read-file.ts'
import { unknownIdentity, type FileIdentity } from '../engine/files/identity.ts'
import type { OpenEntry } from '../engine/files/walk.ts'
import type { OperationContext } from '../engine/context.ts'
import { changeErrors, defineOperation } from './definition/define.ts'
import { announceRename } from './change/announce.ts'
import { remember } from '../support/remember.ts'
import { readEntry } from './change/entry-version.ts'
import { authorOf } from './change/file-version.ts'
import { timestamp } from '../support/timestamp.ts'
import { findStale, changeFile } from './change/change-file.ts'

type Renamed = Static<typeof RenameOutput>

export const asyncRename = defineOperation({
  name: 'async_rename',
  title: 'Rename a file',
  description:
    'Renames or moves a file, atomically on one file system, creating missing parent directories. Fails with FILE_EXISTS if new_path is taken, unless overwrite is true. With expected_hash only that version is renamed; otherwise the answer has status "contention" with the diff. A symbolic link is renamed itself. Directories are not renamed.',
  ...contract.async_rename,
  annotations: { readOnlyHint: false, destructiveHint: true, idempotentHint: false, openWorldHint: false },
  errors: [...changeErrors, 'FILE_NOT_FOUND', 'FILE_EXISTS', 'ENCODING_ERROR', 'RENAME_ERROR', 'WRITE_ERROR'],
  handle: rename
})

async function rename(input: RenameInput, context: OperationContext): Promise<Renamed | Contention> {
  const { old_path, new_path, expected_hash = null, overwrite, create_dirs, timeout, diff_format } = input
  return changeFile<Renamed>(context, {
    operation: 'async_rename',
    targets: [
      { path: old_path, reach: 'entry', fencingToken: input.fencing_token },
      { path: new_path, reach: 'entry' }
    ],
    timeout,
    diffFormat: diff_format,
    async make({ place: source, other, assertHeld }) {
      const target = other as OpenEntry
      const { version, content } = await readEntry(context, source, old_path, expected_hash !== null)
      const stale = findStale(source, old_path, content, expected_hash)
      if (stale !== undefined) return { stale }
      if (source.path === target.path) return { done: answer(old_path, new_path, content, false) }
      const done = remember(() => answer(old_path, new_path, content, true))
      const renamed = await context.files.rename(
        { place: source, path: old_path, current: version },
        { place: target, path: new_path, overwrite, createDirs: create_dirs },
        { assertHeld, announce: announceRename(context, source, target, done) }
      )
      const { outcome, identity, unsure } = renamed
      if (outcome === 'unchanged') return { done: answer(old_path, new_path, content, false) }
      const made = outcome === 'copied' ? { ...done(), cross_filesystem: true } : done()
      context.receipt?.made(made)
      if (outcome === 'source-left') recordCopy(context, target, version, identity)
      else moveHistory(context, source, target, new_path, version, identity)
      if (unsure !== undefined) throw unsure
      return { done: made }
    }
  })
}

/** From now on the version is known under the new name, as a version of this call. */
function moveHistory(
  { bases, history, reads, caller }: OperationContext,
  source: OpenEntry,
  target: OpenEntry,
  newPath: string,
  version: FileVersion | undefined,
  identity: FileIdentity = unknownIdentity
): void {
  const author = authorOf(caller, 'async_rename')
  history.recordGone(source.path, { author, renamedTo: target.path })
  if (version === undefined) return history.recordGone(target.path, { author })
  bases.keep(version.hash, version.bytes)
  history.record(target.path, version.hash, identity, { author, renamedFrom: source.path })
  reads.move(source.path, target.path, newPath, caller.agentId)
}

/** The version is known under both names. */
function recordCopy(
  { history, caller }: OperationContext,
  target: OpenEntry,
  version: FileVersion | undefined,
  identity: FileIdentity = unknownIdentity
): void {
  const author = authorOf(caller, 'async_rename')
  if (version === undefined) history.recordGone(target.path, { author })
  else history.record(target.path, version.hash, identity, { author })
}

function answer(oldPath: string, newPath: string, content: FileVersion | undefined, changed: boolean): Renamed {
  return {
    status: 'ok',
    old_path: oldPath,
    new_path: newPath,
    hash: content?.hash ?? null,
    changed,
    timestamp: timestamp()
  }
}
