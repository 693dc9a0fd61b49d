// async_rename (PRD 3.9): both names are locked, in canonical order.
import { contract } from '../../schemas/contract.ts'
import type { Contention } from '../../schemas/contention.ts'
import type { RenameInput, RenameOutput } from '../../schemas/rename.ts'
import type { Static } from '../../schemas/typebox.ts'
import type { FileVersion } from '../engine/files/read-file.ts'
import { unknownIdentity, type FileIdentity } from '../engine/files/identity.ts'
import type { RenameOutcome } from '../engine/commit/rename-entry.ts'
import type { OpenEntry } from '../engine/files/walk.ts'
import type { Entry } from '../engine/versions/version.ts'
import type { OperationContext } from '../engine/context.ts'
import { changeErrors, defineOperation } from './definition/define.ts'
import { announceRename } from './change/announce.ts'
import { remember } from '../support/remember.ts'
import { entryAt, notKept, readEntry, readReplaced, readTarget } from './change/entry-version.ts'
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
      const stale = findStale(context, source, old_path, content, expected_hash)
      if (stale !== undefined) return { stale }
      if (source.path === target.path) return { done: answer(old_path, new_path, content, false) }
      const replaced = overwrite ? await readReplaced(context, target, new_path) : undefined
      const from = entryAt(source, version)
      const over = entryAt(target, replaced)
      const done = remember(() => ({
        ...answer(old_path, new_path, content, true),
        ...notKept(context, target, replaced)
      }))
      const renamed = await context.files.rename(
        { place: source, path: old_path, current: version },
        { place: target, path: new_path, overwrite, createDirs: create_dirs, current: replaced },
        { assertHeld, announce: announceRename(context, source, target, done) }
      )
      const { outcome, identity, unsure } = renamed
      if (outcome === 'unchanged') return { done: answer(old_path, new_path, content, false) }
      recordRename(context, { source, target, from, over, newPath: new_path, version, identity, outcome })
      const made = {
        ...done(),
        ...(outcome === 'copied' && { cross_filesystem: true }),
        ...(typeof from === 'object' && (await whereItLeads(context, new_path, from)))
      }
      context.receipt?.made(made)
      if (unsure !== undefined) throw unsure
      return { done: made }
    }
  })
}

/** A relative link leads elsewhere from another folder. */
async function whereItLeads(
  context: OperationContext,
  path: string,
  { link }: { readonly link: string }
): Promise<Pick<Renamed, 'hash' | 'message'>> {
  const content = await readTarget(context, path, false)
  if (content !== undefined) return { hash: content.hash }
  const message = `${path} is a symbolic link to ${link}, which leads nowhere from there, or to what cannot be read. Rename it back, or delete it and create the file that you want there.`
  return { hash: null, message }
}

interface Moved {
  readonly source: OpenEntry
  readonly target: OpenEntry
  /** What is renamed, if that is no version. */
  readonly from: Entry | undefined
  /** What is replaced, if that is no version. */
  readonly over: Entry | undefined
  readonly newPath: string
  readonly version: FileVersion | undefined
  readonly identity: FileIdentity | undefined
  readonly outcome: RenameOutcome
}

/** From now on the version is known under the new name, as a version of this call; under both, if the source could not be removed. */
function recordRename(
  { bases, history, reads, caller }: OperationContext,
  { source, target, from, over, newPath, version, identity = unknownIdentity, outcome }: Moved
): void {
  const author = authorOf(caller, 'async_rename')
  const isMoved = outcome !== 'source-left'
  if (isMoved) history.recordGone(source.path, { author, over: from, renamedTo: target.path })
  const facts = { author, over, renamedFrom: isMoved ? source.path : undefined }
  if (version === undefined) return history.recordEntry(target.path, from ?? 'unread', facts)
  bases.keep(version.hash, version.bytes)
  history.record(target.path, version.hash, identity, facts)
  if (isMoved) reads.move(source.path, target.path, newPath, caller.agentId)
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
