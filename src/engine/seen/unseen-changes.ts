// What others have changed of what an agent has seen. It follows lines from version to version, so that they are counted as they are now.
import { isMadeBy } from '../versions/history.ts'
import type { Version } from '../versions/version.ts'
import type { Hunk } from '../diff/hunks.ts'
import type { OperationContext } from '../call/context.ts'
import { union, type LineRange } from './line-ranges.ts'
import type { AgentView } from './agent-view.ts'
import { findSeenLines } from './seen-lines.ts'
import type { SeenRange } from './seen-ranges.ts'
import { withoutSeen } from './spans.ts'
import { createHunkFinder, type HunkFinder } from './version-hunks.ts'

export interface UnseenChanges {
  /** Oldest first. */
  readonly versions: readonly Version[]
  /** In the current version, in order; undefined if not known. An insertion is the range of its lines, a removal ends before it starts. */
  readonly lines: readonly LineRange[] | undefined
}

/** Consecutive versions that the agent either knows of, or does not. */
interface Step {
  readonly isNews: boolean
  readonly from: string | null
  to: string | null
  readonly versions: Version[]
}

/**
 * Undefined if others have changed nothing of it. From now on the view counts from the current version.
 * @param budget aborted when lines are not worth more time: then the notice comes without them
 */
export async function findUnseenChanges(
  view: AgentView,
  context: OperationContext,
  budget: AbortSignal
): Promise<UnseenChanges | undefined> {
  const versions = context.history.versions(view.path).slice()
  const last = versions.at(-1)
  const { sights } = view
  if (last === undefined) return undefined
  const hunksOf = createHunkFinder(context, budget)
  const followed: Followed[] = []
  for (const range of sights) followed.push(await follow(range, stepsAfter(range, versions, view), hunksOf))
  // The agent may have read it meanwhile.
  if (view.sights === sights)
    context.reads.advance(
      view,
      sights.map(({ lines }, index) => ({
        seq: last.seq,
        hash: last.hash ?? '',
        lines: lines && followed[index]?.lines
      }))
    )
  const changed = followed.filter(({ isNews }) => isNews)
  if (changed.length === 0) return undefined
  // What the agent has seen of the current version is no news.
  const seen =
    last.hash === null ? undefined : await findSeenLines(context, view.agentId, view.path, last.hash, hunksOf)
  const news = changed.flatMap(({ changed: lines, authors }) => {
    const unseen = lines && (seen === 'all' ? [] : withoutSeen(lines, seen ?? []))
    return unseen?.length === 0 ? [] : [{ lines: unseen, authors }]
  })
  if (news.length === 0) return undefined
  const isKnown = news.every(({ lines }) => lines !== undefined)
  return {
    versions: versions.filter((version) => !version.isFirstSight && news.some(({ authors }) => authors.has(version))),
    lines: isKnown && last.hash !== null ? union(news.flatMap(({ lines }) => lines ?? [])) : undefined
  }
}

function stepsAfter(
  { seq, hash }: SeenRange,
  versions: readonly Version[],
  { agentId, learnedSeq }: AgentView
): Step[] {
  // If the history was dropped meanwhile, the same bytes may have been seen again.
  const start = versions.findIndex((version) => version.seq === seq || (version.seq > seq && version.hash === hash))
  const steps: Step[] = []
  // A version that is no longer listed: what came since is all that is known.
  let from: string | null = hash
  for (const version of versions.slice(start + 1)) {
    if (start === -1 && version.seq < seq) continue
    const isNews = !isMadeBy(version, agentId) && version.seq > learnedSeq
    const step = steps.at(-1)
    if (step !== undefined && step.isNews === isNews) {
      step.to = version.hash
      step.versions.push(version)
    } else steps.push({ isNews, from, to: version.hash, versions: [version] })
    from = version.hash
  }
  return steps
}

interface Followed {
  readonly isNews: boolean
  /** The lines in the current version. */
  readonly lines: LineRange | undefined
  /** Undefined if not known. */
  readonly changed: readonly LineRange[] | undefined
  readonly authors: ReadonlySet<Version>
}

async function follow(range: SeenRange, steps: readonly Step[], hunksOf: HunkFinder): Promise<Followed> {
  let { lines } = range
  let changed: LineRange[] | undefined = []
  let isNews = false
  const authors = new Set<Version>()
  for (const step of steps.some((step) => step.isNews) ? steps : []) {
    const hunks = step.from === step.to ? [] : await hunksOf(step.from, step.to)
    const touched = hunks?.filter((hunk) => lines === undefined || touches(hunk, lines))
    changed = hunks && changed?.map((range) => carry(range, hunks))
    // A change that was undone is no news.
    if (step.isNews && touched?.length !== 0) {
      isNews = true
      for (const version of step.versions) authors.add(version)
      changed = touched && changed?.concat(touched.map(toLines))
    }
    if (lines !== undefined && hunks !== undefined) lines = carry(lines, hunks)
  }
  return { isNews, lines, changed, authors }
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
