// async_history: the versions that the server knows of one file or of all.
import { contract } from '../../schemas/contract.ts'
import type { HistoryInput, HistoryOutput, HistoryVersion } from '../../schemas/history.ts'
import type { Static } from '../../schemas/typebox.ts'
import { mayBeMadeBy } from '../engine/versions/author.ts'
import { commandOf, modesAsText } from '../engine/versions/modification.ts'
import type { Version } from '../engine/versions/version.ts'
import { lockKey } from '../engine/files/lock-key.ts'
import { keptText } from './change/kept-version.ts'
import type { OperationContext } from '../engine/call/context.ts'
import { defineOperation, pathErrors } from './definition/define.ts'
import { awaitCommands } from './commands/bracket.ts'
import { readCursor, toCursor } from './query-cursor.ts'
import { createSlices } from '../support/slices.ts'
import { timestamp } from '../support/timestamp.ts'
import { shownPath } from '../engine/notices/shown-path.ts'
import { itemsThatFit } from './answer-size.ts'

export const asyncHistory = defineOperation({
  name: 'async_history',
  title: 'Show versions',
  description:
    'The versions of a file, or of all files, that the server knows: who made each, when, by which operation, how many lines it changed, and whether its bytes are kept for async_diff and async_restore. The newest first.',
  ...contract.async_history,
  annotations: { readOnlyHint: true, destructiveHint: false, idempotentHint: true, openWorldHint: false },
  errors: [...pathErrors],
  handle: show
})

/** A version, and the previous one of the same file. */
interface Entry {
  /** Canonical. */
  readonly path: string
  readonly version: Version
  readonly previous: Version | undefined
}

async function show(input: HistoryInput, context: OperationContext): Promise<Static<typeof HistoryOutput>> {
  const { path, by_agent, change_set, limit, cursor } = input
  const { history } = context
  await awaitCommands(context)
  const query = [path, by_agent, change_set]
  const before = cursor === undefined ? Infinity : Number(readCursor(cursor, query, path).toString())
  const paths = path === undefined ? history.paths() : namesOf(path, context)
  const found = await newest(paths, context, {
    limit: limit + 1,
    isWanted: (version) =>
      version.seq < before &&
      // The end of another spelling: the beginning of this one says it.
      (path === undefined || !paths.includes(version.renamedTo ?? '')) &&
      (by_agent === undefined || (mayBeMadeBy(version, by_agent) && !version.isFirstSight)) &&
      (change_set === undefined || version.changeSet === change_set)
  })
  const shown = found.slice(0, limit)
  const versions: HistoryVersion[] = []
  const budgetEnds = performance.now() + lineBudgetMs
  for (const entry of shown) {
    const areLinesWanted = performance.now() < budgetEnds
    versions.push(await describe(entry, path ?? shownPath(entry.path, context.files), areLinesWanted, context))
  }
  const fitting = itemsThatFit(versions, context.caller.maxAnswerChars)
  const last = shown[fitting.length - 1]
  return {
    status: 'ok',
    versions: fitting,
    ...(found.length > fitting.length &&
      last !== undefined && { next_cursor: toCursor(Buffer.from(String(last.version.seq)), query) }),
    ...(history.forgottenAt !== undefined && { forgotten_before: timestamp(history.forgottenAt) }),
    timestamp: timestamp()
  }
}

/** A link has changes of its own, beside those of the file that it leads to; a file whose name is in other letters now has had it in others. */
function namesOf(path: string, { files, history }: OperationContext): string[] {
  const names = new Set<string>()
  for (const reach of ['target', 'entry'] as const) {
    const place = files.resolve(path, reach)
    names.add(place.path)
    if (!place.ignoresLetters) continue
    for (const known of history.paths()) if (lockKey(known) === place.key) names.add(known)
  }
  return [...names]
}

/** Lines are counted for this long, in milliseconds: the answer omits them for the remaining versions. */
const lineBudgetMs = 500

async function newest(
  paths: readonly string[],
  { history, signal }: OperationContext,
  { limit, isWanted }: { limit: number; isWanted: (version: Version) => boolean }
): Promise<Entry[]> {
  let found: Entry[] = []
  const slices = createSlices(signal)
  const keepNewest = () => (found = found.sort((a, b) => b.version.seq - a.version.seq).slice(0, limit))
  for (const path of paths) {
    if (slices.isOver()) {
      keepNewest()
      await slices.next()
    }
    const versions = history.versions(path)
    for (const [at, version] of versions.entries())
      if (isWanted(version)) found.push({ path, version, previous: versions[at - 1] })
  }
  return keepNewest()
}

async function describe(
  { version, previous }: Entry,
  path: string,
  areLinesWanted: boolean,
  context: OperationContext
): Promise<HistoryVersion> {
  const { hash, link, isFirstSight, agentId, operation, at, renamedFrom, renamedTo, changeSet } = version
  const isCreated = previous === undefined && version.isCreated === true
  const before = isCreated ? null : previous?.hash
  const lines = areLinesWanted ? await countLines(before, hash, context) : undefined
  return {
    path,
    hash,
    ...(link !== undefined && { link }),
    ...(before !== undefined && { previous_hash: before }),
    agent_id: isFirstSight ? null : agentId,
    operation: isFirstSight ? null : operation,
    ...(changeSet !== undefined && { change_set: changeSet }),
    ...(!isFirstSight && commandOf(version)),
    ...modesAsText(version.modes),
    at: timestamp(at),
    kept: hash !== null && context.bases.has(hash),
    ...(lines !== undefined && { lines }),
    ...(renamedFrom !== undefined && { renamed_from: shownPath(renamedFrom, context.files) }),
    ...(renamedTo !== undefined && { renamed_to: shownPath(renamedTo, context.files) })
  }
}

/** Undefined if one of the two is not kept, is not text, or too much of it differs. */
async function countLines(
  from: string | null | undefined,
  to: string | null,
  context: OperationContext
): Promise<HistoryVersion['lines']> {
  if (from === undefined) return undefined
  const { differ, signal } = context
  const textOf = async (hash: string | null) => (hash === null ? '' : keptText(context, hash, hash))
  const [base, current] = [await textOf(from), await textOf(to)]
  if (base === undefined || current === undefined) return undefined
  const { diff } = await differ.compare({ base, current, format: 'json', isWhole: true, signal })
  if (diff === null) return undefined
  const { lines_added, lines_removed, lines_modified } = diff.summary
  return { added: lines_added, removed: lines_removed, modified: lines_modified }
}
