// Which lines of a version an agent has seen: what it was shown of any version, carried to this one over the changes in between.
import type { OperationContext } from '../call/context.ts'
import { countLines, splitMark } from '../diff/lines.ts'
import { decodeIfText } from '../files/text.ts'
import { isWrittenBy } from '../versions/history.ts'
import { union } from './line-ranges.ts'
import type { SeenVersion, ShownStep } from './seen-versions.ts'
import { carrySpans, hasAll, type Knowledge, type Spans } from './spans.ts'
import type { Version } from '../versions/version.ts'
import { createHunkFinder, type HunkFinder } from './version-hunks.ts'

/** Behind the last line of any text. */
const beyondAll = 2 ** 40

interface Step {
  readonly from: string | null
  readonly to: string | null
  readonly knowledge: Knowledge
}

type Parts = Pick<OperationContext, 'reads' | 'history' | 'bases' | 'differ' | 'config' | 'log' | 'signal'>

/**
 * Undefined if nothing is remembered of the file. What cannot be carried, since a version in between is not kept, counts as not seen.
 * @param hash of the version in question, which is or was at the path
 */
export async function findSeenLines(
  context: Parts,
  agentId: string,
  path: string,
  hash: string,
  hunksOf: HunkFinder = createHunkFinder(context, context.signal)
): Promise<SeenVersion['spans'] | undefined> {
  const known = context.reads.seen(agentId, path)
  if (known === undefined || known.seen.length === 0) return undefined
  const { seen, steps } = known
  if (seen.some((version) => version.hash === hash && version.spans === 'all')) return 'all'
  const versions = context.history.versions(path).slice()
  const carried: Spans[] = []
  // What is known as a whole first: it may be all that is asked.
  const whole = seen.findLast(({ spans }) => spans === 'all')
  const parts = seen.filter(({ spans }) => spans !== 'all')
  for (const version of whole === undefined ? parts : [whole, ...parts]) {
    const spans = await carry(version.spans, stepsBetween(version.hash, hash, versions, steps, agentId), hunksOf)
    if (spans === 'all') return 'all'
    carried.push(spans)
  }
  return union(carried.flat())
}

/** Whether the agent has seen all of this version. */
export async function hasSeenAll(
  context: Parts,
  agentId: string,
  path: string,
  { hash, bytes }: { readonly hash: string; readonly bytes: Buffer }
): Promise<boolean> {
  const seen = await findSeenLines(context, agentId, path, hash)
  if (seen === undefined || seen === 'all') return seen === 'all'
  const text = decodeIfText(bytes, context.config.crud.default_encoding, path)
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

/** Versions that the agent knows in the same way are one step: a change that was undone is none. */
function stepsBetween(
  from: string,
  to: string,
  versions: readonly Version[],
  shown: readonly ShownStep[],
  agentId: string
): Step[] {
  const end = versions.findLastIndex(({ hash }) => hash === to)
  const start = versions.slice(0, end + 1).findLastIndex(({ hash }) => hash === from)
  if (from === to) return []
  // What lies between is not known.
  if (start === -1) return [{ from, to, knowledge: 'unseen' }]
  const steps: Step[] = []
  for (let at = start; at < end;) {
    const { hash } = versions[at]!
    const jump = versions
      .slice(0, end + 1)
      .findLastIndex((later) => shown.some((one) => one.from === hash && one.to === later.hash))
    const isShown = jump > at
    const next = versions[isShown ? jump : at + 1]!
    const knowledge = isShown ? 'shown' : isWrittenBy(next, agentId) ? 'written' : 'unseen'
    const last = steps.at(-1)
    if (last?.knowledge === knowledge) steps[steps.length - 1] = { from: last.from, to: next.hash, knowledge }
    else steps.push({ from: hash, to: next.hash, knowledge })
    at = isShown ? jump : at + 1
  }
  return steps
}
