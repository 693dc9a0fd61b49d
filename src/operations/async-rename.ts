// async_rename (PRD 3.9): both names are locked, in canonical order.
import { dirname, join } from 'node:path'
import { contract } from '../../schemas/contract.ts'
import type { Contention } from '../../schemas/contention.ts'
import type { RenameInput, RenameOutput } from '../../schemas/rename.ts'
import type { Static } from '../../schemas/typebox.ts'
import { readLink } from '../engine/files/links.ts'
import { onlyOtherLetters } from '../engine/files/name-on-disk.ts'
import type { OpenEntry } from '../engine/files/walk.ts'
import type { OperationContext } from '../engine/call/context.ts'
import { isSameFile } from '../support/same-file.ts'
import { timestamp } from '../support/timestamp.ts'
import { changeErrors, defineOperation } from './definition/define.ts'
import { readEntry, readReplaced, readTarget } from './change/entry-version.ts'
import { clash, outcomeOf } from './change/plan.ts'
import { exclusive, type Planner } from './change/planner.ts'
import { changeOne } from './change/run.ts'
import { findStale } from './change/stale-change.ts'

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
  const { old_path, new_path, timeout, diff_format } = input
  return changeOne<Renamed>(context, planRename(input, context, { isAlone: true }), {
    operation: 'async_rename',
    timeout,
    diffFormat: diff_format,
    answer({ plan, source, content }) {
      const changed = source !== undefined
      const done = { status: 'ok' as const, old_path, new_path, hash: content?.hash ?? null, changed }
      return { ...done, timestamp: timestamp(), ...(changed && outcomeOf(plan, context).replaced) }
    },
    async finalAnswer(done, outcome, { link }) {
      if (outcome === 'unchanged') return { ...done, changed: false }
      return {
        ...done,
        ...(outcome === 'copied' && { cross_filesystem: true as const }),
        ...(link !== undefined && (await whereItLeads(context, new_path, link)))
      }
    }
  })
}

export function planRename(
  input: Pick<RenameInput, 'old_path' | 'new_path' | 'expected_hash' | 'overwrite' | 'create_dirs' | 'fencing_token'>,
  context: OperationContext,
  { isAlone = false } = {}
): Planner {
  const { old_path, new_path, expected_hash = null, overwrite, create_dirs, fencing_token } = input
  return {
    operation: 'async_rename',
    targets: [
      exclusive(old_path, fencing_token, 'entry'),
      { ...exclusive(new_path, undefined, 'entry'), mayBeBlocked: true }
    ],
    async plan(places, plan, index) {
      const [from, named] = places as readonly [OpenEntry, OpenEntry]
      const to = isRespelling(from, named) ? respelt(named) : named
      const source = plan.enter(from, old_path, 'rename', index)
      if (source.renamedTo !== undefined) throw clash(old_path, source.indices, 'both rename it.')
      const isSame = from.path === to.path || isOneFile(from, to)
      if (to !== named && !isAlone) throw onlyOtherLetters(old_path, new_path)
      // Even if it is refused: another change that is for its name is not in its way.
      if (!isSame) source.isMoved = true
      const { version, content } = await readEntry(context, from, old_path, expected_hash !== null)
      const stale = findStale(context, from, old_path, content, expected_hash)
      if (stale !== undefined) return { stale }
      source.current ??= version
      if (isSame) return { plan: source, content }
      const target = plan.enter(to, new_path, 'rename', index)
      if (target.renamedFrom !== undefined) throw clash(new_path, target.indices, 'both rename a file to it.')
      source.renamedTo = to.path
      source.after ??= { kind: 'none' }
      target.after = { kind: 'moved', from, version }
      target.renamedFrom = from.path
      // What is at the new spelling is the file itself.
      target.mayReplace = overwrite || to !== named
      target.createDirs = create_dirs
      target.current ??= await readReplaced(context, to, new_path)
      const link = from.stat?.isSymbolicLink() === true ? readLink(from) : undefined
      return { plan: target, source, content, link }
    }
  }
}

/** Two names of one file: both stay. */
function isOneFile({ stat: one }: OpenEntry, { stat: other }: OpenEntry): boolean {
  return one !== undefined && isSameFile(one, other) && one.nlink > 1n
}

/** The file system takes both for one name, and has it in other letters than the new one. */
function isRespelling(from: OpenEntry, to: OpenEntry): boolean {
  return from.path === to.path && to.speltName !== to.name
}

/** The name as it is to be: nothing has it yet. */
function respelt(to: OpenEntry): OpenEntry {
  return { ...to, name: to.speltName, path: join(dirname(to.path), to.speltName), stat: undefined }
}

/** A relative link leads elsewhere from another folder. */
async function whereItLeads(
  context: OperationContext,
  path: string,
  link: string
): Promise<Pick<Renamed, 'hash' | 'message'>> {
  const content = await readTarget(context, path, false)
  if (content !== undefined) return { hash: content.hash }
  const message = `${path} is a symbolic link to ${link}, which leads nowhere from there, or to what cannot be read. Rename it back, or delete it and create the file that you want there.`
  return { hash: null, message }
}
