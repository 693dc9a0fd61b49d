// replay: the tree as it was after any change of the log: its files, a file's text with its authors, who held and who waited.
import { join } from 'node:path'
import { contract } from '../../schemas/contract.ts'
import type { ReplayInput, ReplayOutput } from '../../schemas/replay.ts'
import { isOperationError, OperationError } from '../errors.ts'
import type { OperationContext } from '../engine/call/context.ts'
import { toSearch } from '../engine/files/glob/list-pattern.ts'
import { decodeIfText } from '../engine/files/text.ts'
import { shownPath } from '../engine/notices/shown-path.ts'
import { commandOf } from '../engine/versions/modification.ts'
import { createSlices, inSlices, sortInSlices } from '../support/slices.ts'
import { timestamp } from '../support/timestamp.ts'
import { findOwners } from './blame/owners.ts'
import { toRanges } from './blame/ranges.ts'
import { defineOperation, pathErrors } from './definition/define.ts'
import { readLocked } from './locking/read-locked.ts'
import { findMoment, listChanges, thereAt, type IsReached, type Moment, type There } from './replay/moment.ts'

export const replay = defineOperation({
  name: 'replay',
  title: 'Show an earlier moment',
  description:
    'For operators, over REST only: the tree as it was right after a change of the log: its files, the text of one with who had made each line, who held files and who waited.',
  ...contract.replay,
  annotations: { readOnlyHint: true, destructiveHint: false, idempotentHint: true, openWorldHint: false },
  errors: [...pathErrors, 'FILE_NOT_FOUND', 'FILE_TOO_LARGE', 'LOCK_TIMEOUT', 'DEADLOCK'],
  isForOperators: true,
  handle: show
})

const maxPaths = 100
const maxChanges = 20_000
const maxOtherFiles = 10_000

type Part<Name extends 'change' | 'file' | 'log'> = NonNullable<ReplayOutput[Name]>

interface Found extends There {
  /** As it is shown. */
  readonly path: string
}

async function show(input: ReplayInput, context: OperationContext): Promise<ReplayOutput> {
  const { history, activity, signal } = context
  const { path, limit } = input
  const moment = await findMoment(history, toIsReached(input), signal)
  const seq = moment?.seq ?? 0
  const found = await filesAt(seq, input, context)
  const { forgottenAt } = history
  return {
    status: 'ok',
    seq,
    ...(moment !== undefined && { change: describeChange(moment, context) }),
    files: found.slice(0, limit).map((file) => describeFile(file, context)),
    total_files: found.length,
    locks: moment === undefined ? [] : locksAt(moment.version.at, limit, context),
    locks_known_since: timestamp(activity.stays.knownSince),
    ...(path !== undefined && { file: await textAt(path, seq, context) }),
    ...(input.with_log && { log: await describeLog(context) }),
    ...(forgottenAt !== undefined && { forgotten_before: timestamp(forgottenAt) }),
    timestamp: timestamp()
  }
}

function toIsReached({ seq, at }: ReplayInput): IsReached {
  if (seq !== undefined && at !== undefined)
    throw new OperationError('INVALID_REQUEST', 'seq and at both name the moment. Give one of them.')
  const until = at === undefined ? Infinity : Date.parse(at)
  return (version) => version.seq <= (seq ?? Infinity) && version.at <= until
}

async function filesAt(seq: number, { contains }: ReplayInput, context: OperationContext): Promise<Found[]> {
  const { history, signal } = context
  const part = contains?.toLowerCase() ?? ''
  const found: Found[] = []
  await inSlices(
    history.paths(),
    (canonical) => {
      const there = thereAt(history.versions(canonical), seq)
      if (there === undefined) return
      const path = shownPath(canonical, context.files)
      if (path.toLowerCase().includes(part)) found.push({ path, ...there })
    },
    signal
  )
  return sortInSlices(found, (one, other) => (one.path < other.path ? -1 : 1), createSlices(signal).pause)
}

function describeFile(
  { path, version, isSeenLater }: Found,
  { bases }: OperationContext
): ReplayOutput['files'][number] {
  if (version === undefined) return { path, hash: null, kept: false }
  const { hash, link, isFirstSight, agentId, at } = version
  return {
    path,
    hash,
    kept: hash !== null && bases.has(hash),
    ...(link !== undefined && { link }),
    ...(!isFirstSight && { agent_id: agentId, at: timestamp(at) }),
    ...(isSeenLater && { seen_later: true as const })
  }
}

function describeChange({ seq, version, paths }: Moment, { files }: OperationContext): Part<'change'> {
  const { at, agentId, operation, changeSet } = version
  return {
    seq,
    at: timestamp(at),
    agent_id: agentId,
    operation,
    ...(changeSet !== undefined && { change_set: changeSet }),
    ...commandOf(version),
    paths: paths.slice(0, maxPaths).map((path) => shownPath(path, files))
  }
}

function locksAt(at: number, limit: number, { activity, locks, files }: OperationContext): ReplayOutput['locks'] {
  const found: ReplayOutput['locks'] = []
  for (const { path, agentId, mode, note, from } of activity.stays.at(at, locks)) {
    if (found.length >= limit) break
    found.push({
      path: shownPath(path, files),
      agent_id: agentId ?? null,
      waits: mode === undefined,
      ...(mode !== undefined && { mode }),
      ...(note !== undefined && { note }),
      since: timestamp(from)
    })
  }
  return found.sort((one, other) => (one.path < other.path ? -1 : one.path > other.path ? 1 : 0))
}

async function textAt(path: string, seq: number, context: OperationContext): Promise<Part<'file'>> {
  const { history, bases, config } = context
  const canonical = context.files.resolve(path, 'entry').path
  // A file that the log does not know counts as unchanged: from now on it is known.
  if (history.last(canonical) === undefined) await readLocked(context, path, 'replay')
  const there = thereAt(history.versions(canonical), seq)
  const none = { path, hash: null, kept: false, content: null, ranges: [] }
  if (there === undefined) return { ...none, exists: false }
  const hash = there.version?.hash ?? null
  const bytes = hash === null ? undefined : await bases.get(hash)
  const content = decodeIfText(bytes, config.crud.default_encoding, path)
  if (content === undefined) return { ...none, exists: true, hash, kept: bytes !== undefined }
  const { owners, lines } = await findOwners(context, canonical, content, seq)
  const ranges = toRanges(owners, 1, lines.length, () => undefined)
  return { path, exists: true, hash, kept: true, content, ranges }
}

async function describeLog(context: OperationContext): Promise<Part<'log'>> {
  const { history, signal } = context
  const { seqs, times } = await listChanges(history, maxChanges, signal)
  return { seqs, times: times.map(Math.round), other_files: await otherFiles(context) }
}

/** Files on the disk whose history has not begun. */
async function otherFiles(context: OperationContext): Promise<string[]> {
  try {
    return await findOtherFiles(context)
  } catch (error) {
    // The log is there without them.
    if (isOperationError(error, 'OVERLOADED') || isOperationError(error, 'DIR_NOT_FOUND')) return []
    throw error
  }
}

async function findOtherFiles({ files, history, config, signal }: OperationContext): Promise<string[]> {
  const found: string[] = []
  for (const { given } of files.roots) {
    const listed = await files.list(given, {
      search: toSearch('*', true, () => []),
      searchKey: 'replay',
      ignore: true,
      limit: maxOtherFiles,
      after: undefined,
      maxEntries: config.crud.max_list_entries,
      signal
    })
    for (const { name, type } of listed.entries) {
      const path = join(listed.path, name)
      if (type === 'file' && history.last(path) === undefined) found.push(shownPath(path, files))
    }
  }
  return found.slice(0, maxOtherFiles)
}
