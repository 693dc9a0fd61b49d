// The steps that the operations on files share: read and remember a version, record a change.
import { isOperationError, OperationError } from '../../errors.ts'
import { StaleFileError } from '../../engine/commit/preconditions.ts'
import { hashInTurns, type FileVersion, type KnownBytes } from '../../engine/files/read-file.ts'
import type { Author } from '../../engine/versions/version.ts'
import type { Made } from '../../engine/commit/after-change.ts'
import { unknownIdentity } from '../../engine/files/identity.ts'
import type { OpenEntry } from '../../engine/files/walk.ts'
import type { Caller, OperationContext } from '../../engine/context.ts'
import { beginGlance, beginObservation } from '../../engine/versions/observed-version.ts'
import { remember } from '../../support/remember.ts'
import { largeBytes } from '../../support/large-work.ts'
import { announceWrite } from './announce.ts'
import type { LockedTurn } from './change-file.ts'

/** Reads the file at a place, whose lock is held, and keeps its bytes as a base. Notes a version that no call here made as an external change. */
export async function readVersion(
  context: Pick<OperationContext, 'files' | 'bases' | 'history' | 'work'>,
  place: OpenEntry,
  path: string
): Promise<FileVersion> {
  const turn = reserveWork(context, place)
  if (turn !== undefined) await turn
  const observation = beginObservation(place.path, context)
  try {
    const version = await context.files.read(place, path, lastKnown(place.path, context))
    observation.record(version)
    return version
  } catch (error) {
    // If something else has taken its place, such as a folder, the file is gone too.
    const isGone = isOperationError(error, 'FILE_NOT_FOUND') || isOperationError(error, 'NOT_A_FILE')
    if (isGone) context.history.recordGone(place.path)
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
  const turn = reserveWork(context, place)
  if (turn !== undefined) await turn
  const glance = beginGlance(place.path, context)
  const version = await context.files.read(place, path)
  glance.record(version)
  return version
}

/** Keeps a version that this call has made. @throws OperationError what is unsure about it */
export function recordVersion(
  { bases, history, caller, receipt }: OperationContext,
  operation: string,
  place: OpenEntry,
  { bytes, hash }: KnownBytes,
  { identity = unknownIdentity, unsure }: Made
): void {
  receipt?.made()
  bases.keep(hash, bytes)
  history.record(place.path, hash, identity, { author: authorOf(caller, operation) })
  if (unsure !== undefined) throw unsure
}

export function authorOf({ agentId, changeSet }: Caller, operation: string): Author {
  return { agentId: agentId ?? 'anonymous', operation, ...(changeSet !== undefined && { changeSet }) }
}

interface MissingFile<Answer> {
  readonly createDirs: boolean
  readonly mode?: number | undefined
  /** True if it is what was there before, which the caller has not sent. */
  readonly isRestored?: boolean
  /** Of the call, if the file gets this hash. */
  readonly answer: (hash: string) => Answer
}

/**
 * Creates a file that was not there a moment ago, and records it. @returns the answer
 * @throws StaleFileError if another program has just created it: then it is a file to change
 */
export async function createMissing<Answer extends object>(
  context: OperationContext,
  operation: string,
  { place, assertHeld }: Pick<LockedTurn, 'place' | 'assertHeld'>,
  path: string,
  bytes: Buffer,
  { createDirs, mode, answer, isRestored = false }: MissingFile<Answer>
): Promise<Answer> {
  try {
    const hash = await hashInTurns(bytes)
    const done = remember(() => answer(hash))
    const announce = announceWrite(context, place, { before: null, after: hash }, done)
    const made = await context.files.create(place, path, bytes, { createDirs, assertHeld, mode, announce })
    recordVersion(context, operation, place, { bytes, hash }, made)
    const named = { path: place.path, given: path, hash }
    if (isRestored) context.reads.recordNamed(context.caller.agentId, named)
    else context.reads.recordSent(context.caller.agentId, named)
    return done()
  } catch (error) {
    if (!(error instanceof OperationError) || error.code !== 'FILE_EXISTS') throw error
    throw new StaleFileError(`created meanwhile: ${place.path}`, { cause: error })
  }
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
