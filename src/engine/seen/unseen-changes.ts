// What others have changed of what an agent has seen. It follows lines from version to version, so that they are counted as they are now.
import type { Hunk } from '../diff/hunks.ts'
import type { Version } from '../versions/version.ts'
import type { AgentView } from './agent-view.ts'
import { union, type LineRange } from './line-ranges.ts'
import { findSeenLines, type SeenParts } from './seen-lines.ts'
import { isOnlyNamed, type SeenVersion } from './seen-versions.ts'
import { rangesOf, withoutSeen } from './spans.ts'
import { stepsBetween, type Step } from './steps-between.ts'
import { createHunkFinder, type HunkFinder } from './version-hunks.ts'

export interface UnseenChanges {
  /** Oldest first. */
  readonly versions: readonly Version[]
  /** In the current version, in order; undefined if not known. An insertion is the range of its lines, a removal ends before it starts. */
  readonly lines: readonly LineRange[] | undefined
}

/**
 * Undefined if others have changed nothing of it. From now on the agent counts as told of all changes up to the current version.
 * @param budget aborted when lines are not worth more time: then the notice comes without them
 */
export async function findUnseenChanges(
  view: AgentView,
  parts: SeenParts,
  budget: AbortSignal
): Promise<UnseenChanges | undefined> {
  const versions = parts.history.versions(view.path).slice()
  const last = versions.at(-1)
  if (last === undefined) return undefined
  const { agentId, path, seen, steps, learnedSeq, learnedHash } = view
  // At once: what the agent is shown meanwhile may be older, and is then followed by the next answer.
  parts.reads.markNotified(view, last)
  const hunksOf = createHunkFinder(parts, budget)
  const changed: Followed[] = []
  for (const version of seen) {
    const learned = { seq: learnedSeq, hash: learnedHash }
    const since = stepsBetween(version.hash, last.hash, versions, { agentId, steps }, learned)
    if (since.some(({ isNews }) => isNews)) changed.push(await follow(version, since, hunksOf))
  }
  if (!changed.some(({ authors }) => authors.size > 0)) return undefined
  // What the agent has seen of the current version is no news.
  const now = last.hash === null ? undefined : await findSeenLines(parts, agentId, path, last.hash, { hunksOf })
  const news = changed.flatMap(({ changed: lines, authors }) => {
    const unseen = lines && (now === 'all' ? [] : withoutSeen(lines, now ?? []))
    return authors.size === 0 || unseen?.length === 0 ? [] : [{ lines: unseen, authors }]
  })
  if (news.length === 0) return undefined
  const isKnown = news.every(({ lines }) => lines !== undefined)
  return {
    versions: versions.filter((version) => !version.isFirstSight && news.some(({ authors }) => authors.has(version))),
    lines: isKnown && last.hash !== null ? union(news.flatMap(({ lines }) => lines ?? [])) : undefined
  }
}

interface Followed {
  /** In the current version; undefined if not known. */
  readonly changed: readonly LineRange[] | undefined
  /** Of news that concern what the agent has seen. */
  readonly authors: ReadonlySet<Version>
}

async function follow(version: SeenVersion, steps: readonly Step[], hunksOf: HunkFinder): Promise<Followed> {
  // Undefined for the whole file.
  let lines = version.spans === 'all' || isOnlyNamed(version) ? undefined : rangesOf(version.spans)
  let changed: readonly LineRange[] | undefined = []
  const authors = new Set<Version>()
  for (const { from, to, knowledge, isNews, versions } of steps) {
    const isAll = lines === undefined && authors.size === 0 && !isNews
    if (isAll) continue
    const hunks = await hunksOf(from, to)
    const touched = hunks?.filter((hunk) => lines?.some((range) => touches(hunk, range)) ?? true)
    changed = hunks && changed?.map((range) => carry(range, hunks))
    // A change that was undone is no news.
    if (isNews && touched?.length !== 0) {
      for (const one of versions) authors.add(one)
      changed = touched && changed?.concat(touched.map(toLines))
    }
    if (lines === undefined || hunks === undefined) continue
    const own = knowledge === 'unseen' ? [] : hunks.map(toLines)
    lines = union([...lines.map((range) => carry(range, hunks)), ...own])
  }
  return { changed, authors }
}

/** An insertion right before or behind the lines counts: it may belong to them. */
function touches({ baseStart, baseEnd }: Hunk, { start, end }: LineRange): boolean {
  if (baseStart === baseEnd) return baseStart >= start - 1 && baseStart <= end
  return baseStart < end && baseEnd >= start
}

function toLines({ currentStart, currentEnd }: Hunk): LineRange {
  return { start: currentStart + 1, end: currentEnd }
}

/** The lines after these hunks; a range that a hunk touches grows by the whole hunk. */
function carry({ start, end }: LineRange, hunks: readonly Hunk[]): LineRange {
  let first = start - 1
  let last = end
  let shift = 0
  let shiftOfEnd = 0
  for (const { baseStart, baseEnd, currentStart, currentEnd } of hunks) {
    const growth = currentEnd - currentStart - (baseEnd - baseStart)
    if (baseEnd <= start - 1) shift += growth
    else if (baseStart < start - 1) {
      first = baseStart
    }
    if (baseEnd <= end) shiftOfEnd += growth
    else if (baseStart < end) {
      last = baseEnd
      shiftOfEnd += growth
    }
  }
  return { start: first + shift + 1, end: Math.max(last + shiftOfEnd, first + shift) }
}
