// How the operations on files read: each version that is found is kept, and one that no call here made is noted as an external change.
import { isOperationError, OperationError } from '../../errors.ts'
import type { FileVersion, KnownBytes } from '../../engine/files/read-file.ts'
import type { Author } from '../../engine/versions/author.ts'
import type { OpenEntry } from '../../engine/files/walk.ts'
import type { Caller, OperationContext } from '../../engine/call/context.ts'
import { nothing } from '../../engine/versions/made-step.ts'
import { beginGlance, beginObservation } from '../../engine/versions/observed-version.ts'
import { largeBytes } from '../../support/large-work.ts'

/** Reads the file at a place, whose lock is held, and keeps its bytes as a base. Notes a version that no call here made as an external change. */
export async function readVersion(
  context: Pick<OperationContext, 'files' | 'bases' | 'history' | 'work'>,
  place: OpenEntry,
  path: string
): Promise<FileVersion> {
  const waiting = reserveWork(context, place)
  if (waiting !== undefined) await waiting
  const observation = beginObservation(place.path, context)
  try {
    const version = await context.files.read(place, path, lastKnown(place.path, context))
    observation.record(version)
    return version
  } catch (error) {
    // If something else has taken its place, such as a folder, the file is gone too.
    const isGone = isOperationError(error, 'FILE_NOT_FOUND') || isOperationError(error, 'NOT_A_FILE')
    if (isGone) context.history.observe(place.path, nothing)
    throw error
  }
}

/** The version that the path had when it was last seen, if its bytes are in memory. */
function lastKnown(
  path: string,
  { bases, history }: Pick<OperationContext, 'bases' | 'history'>
): KnownBytes | undefined {
  const hash = history.known(path)?.hash
  const bytes = hash === undefined ? undefined : bases.inMemory(hash)
  return hash === undefined || bytes === undefined ? undefined : { hash, bytes }
}

/** Bytes, text, and what is made of them: another version, its text, an answer. */
const copies = 4

/** @returns undefined if the call need not wait */
function reserveWork({ work }: Pick<OperationContext, 'work'>, { stat }: OpenEntry): Promise<void> | undefined {
  return stat !== undefined && stat.size > largeBytes ? work.reserve(copies * Number(stat.size)) : undefined
}

/** Reads a file whose lock is not held. Does not note a version that was read while the file changed. */
export async function glanceAt(context: OperationContext, place: OpenEntry, path: string): Promise<FileVersion> {
  const waiting = reserveWork(context, place)
  if (waiting !== undefined) await waiting
  const glance = beginGlance(place.path, context)
  const version = await context.files.read(place, path)
  glance.record(version)
  return version
}

export function authorOf({ agentId, changeSet }: Caller, operation: string): Author {
  return { agentId: agentId ?? 'anonymous', operation, ...(changeSet !== undefined && { changeSet }) }
}

/**
 * For a file that does not exist.
 * @param lister the operation that shows the existing files
 * @throws OperationError FILE_NOT_FOUND if the call names a version of the file, or was not told to create it
 */
export function assertMayCreate(
  path: string,
  expectedHash: string | null | undefined,
  mayCreate: boolean,
  lister: string
): void {
  if (typeof expectedHash !== 'string' && mayCreate) return
  const message =
    typeof expectedHash === 'string'
      ? `File no longer exists: ${path}. expected_hash names a version of it; leave expected_hash out to create the file.`
      : `File does not exist: ${path}. Pass create_if_missing: true to create it; ${lister} shows the files there.`
  throw new OperationError('FILE_NOT_FOUND', message, { path })
}
