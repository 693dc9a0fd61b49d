// Which lines of a version an agent has seen: what it was shown of any version, carried to this one over the changes in between.
import { countLines, splitMark } from '../diff/lines.ts'
import { decodeIfText } from '../files/text.ts'
import type { History } from '../versions/history.ts'
import { union } from './line-ranges.ts'
import type { ReadTracker } from './read-tracker.ts'
import { isOnlyNamed, type SeenVersion } from './seen-versions.ts'
import { carrySpans, hasAll, type Spans } from './spans.ts'
import { stepsBetween, type Step } from './steps-between.ts'
import { createHunkFinder, type HunkFinder, type HunkParts } from './version-hunks.ts'

/** Behind the last line of any text. */
const beyondAll = 2 ** 40

export interface SeenParts extends HunkParts {
  readonly reads: Pick<ReadTracker, 'seen' | 'markNotified'>
  readonly history: Pick<History, 'versions'>
  readonly signal: AbortSignal
}

interface FindOptions {
  readonly hunksOf?: HunkFinder
  /** True to ask what it may replace: what its own commands made is its own, though it has not been shown that. */
  readonly ownsCommands?: boolean
}

/**
 * Undefined if the agent was shown nothing of the file, as far as is remembered. What cannot be carried, since a version in between is
 * not kept, counts as not seen.
 * @param hash of the version in question, which is or was at the path
 */
export async function findSeenLines(
  parts: SeenParts,
  agentId: string,
  path: string,
  hash: string,
  { hunksOf = createHunkFinder(parts, parts.signal), ownsCommands = false }: FindOptions = {}
): Promise<SeenVersion['spans'] | undefined> {
  const view = parts.reads.seen(agentId, path)
  if (view === undefined) return undefined
  const { seen } = view
  const reader = { agentId, steps: view.steps, ownsCommands }
  if (seen.some((version) => version.hash === hash && version.spans === 'all')) return 'all'
  const versions = parts.history.versions(path).slice()
  const carried: Spans[] = []
  // What is known as a whole first: it may be all that is asked.
  const whole = seen.findLast(({ spans }) => spans === 'all')
  const others = seen.filter(({ spans }) => spans !== 'all')
  for (const version of whole === undefined ? others : [whole, ...others]) {
    const spans = await carry(version.spans, stepsBetween(version.hash, hash, versions, reader), hunksOf)
    if (spans === 'all') return 'all'
    carried.push(spans)
  }
  const all = union(carried.flat())
  return all.length === 0 && seen.every(isOnlyNamed) ? undefined : all
}

/** Whether the agent has seen all of this version, or has made what it has not seen. */
export async function hasSeenAll(
  parts: SeenParts,
  agentId: string,
  path: string,
  { hash, bytes }: { readonly hash: string; readonly bytes: Buffer }
): Promise<boolean> {
  const seen = await findSeenLines(parts, agentId, path, hash, { ownsCommands: true })
  if (seen === undefined || seen === 'all') return seen === 'all'
  const text = decodeIfText(bytes, parts.config.crud.default_encoding, path)
  return text !== undefined && hasAll(seen, countLines(splitMark(text).body))
}

async function carry(
  spans: SeenVersion['spans'],
  steps: readonly Step[],
  hunksOf: HunkFinder
): Promise<SeenVersion['spans']> {
  let carried = spans
  for (const { from, to, knowledge } of steps) {
    if (from === to || (carried === 'all' && knowledge !== 'unseen')) continue
    const hunks = await hunksOf(from, to)
    if (hunks === undefined) return []
    const before: Spans = carried === 'all' ? [{ start: 1, end: beyondAll }] : carried
    carried = hunks.length === 0 ? carried : carrySpans(before, hunks, () => knowledge)
  }
  return carried
}
