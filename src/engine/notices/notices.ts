// What an agent is told with an answer, though it did not ask: leases that it has lost, files that others have changed since it read them.
import type { Notice } from '../../../schemas/notices.ts'
import type { Version } from '../versions/history.ts'
import { quoteName } from '../locks/quote.ts'
import { toModification } from '../versions/modification.ts'
import type { OperationContext } from '../context.ts'
import type { LineRange } from '../versions/line-ranges.ts'
import { findSeenChanges, type SeenChanges } from './unseen-changes.ts'
import { shownPath } from './shown-path.ts'
import type { View } from '../versions/read-tracker.ts'
import { timestamp } from '../../support/timestamp.ts'

interface Told {
  readonly notices: Notice[]
  readonly further_notices?: number
}

/** Told in one answer; of more only the count (DESIGN, notices). */
const maxNotices = 5
/** Views that one answer looks at, and the time it takes for that, in milliseconds. */
const maxLooks = 20
const budgetMs = 250
const maxLines = 20
const maxAuthors = 5
const maxPaths = 20

/** Undefined where there is nothing to tell, which is nearly always. */
export function collectNotices(
  agentId: string | undefined,
  context: OperationContext
): Told | undefined | Promise<Told | undefined> {
  const { lostLeases, views } = context
  const lost = lostLeases.takeNotices(agentId)
  return agentId !== undefined && views.hasUntold(agentId) ? withChanges(agentId, lost, context) : lost
}

async function withChanges(
  agentId: string,
  lost: Told | undefined,
  context: OperationContext
): Promise<Told | undefined> {
  const { views, history } = context
  const notices = [...(lost?.notices ?? [])]
  const bulk = views.untoldBulk(agentId).filter((view) => {
    const isBack = history.last(view.path)?.hash === view.knownHash
    if (isBack) views.settle(view)
    return !isBack
  })
  const isSummary = bulk.length > maxNotices
  if (isSummary && notices.length < maxNotices) notices.push(tellBulk(bulk, context))
  const single = isSummary ? views.untold(agentId) : [...views.untold(agentId), ...bulk]
  await withinBudget(async (budget) => {
    for (const view of single.slice(0, maxLooks)) {
      // The others stay for the next answer.
      if (notices.length === maxNotices || budget.aborted) break
      const notice = await tellOf(view, context, budget)
      if (notice !== undefined) notices.push(notice)
    }
  })
  const further = (lost?.further_notices ?? 0) + views.countUntold(agentId)
  return notices.length === 0 ? undefined : { notices, ...(further > 0 && { further_notices: further }) }
}

async function withinBudget(use: (budget: AbortSignal) => Promise<void>): Promise<void> {
  // Not AbortSignal.timeout: nothing keeps such a signal from being collected before its time.
  const budget = new AbortController()
  const timer = setTimeout(() => budget.abort(), budgetMs)
  try {
    await use(budget.signal)
  } finally {
    clearTimeout(timer)
  }
}

/** Settled before it is looked at: what changes meanwhile is told with the next answer, and no answer beside this one tells the same. */
async function tellOf(view: View, context: OperationContext, budget: AbortSignal): Promise<Notice | undefined> {
  if (!context.views.settle(view)) return undefined
  const last = context.history.last(view.path)
  if (last === undefined || last.hash === view.knownHash) return undefined
  const changes = await findSeenChanges(view, context, budget)
  if (last.hash === null) context.views.forget(view)
  return changes && describeChange(view, last, changes, context)
}

function describeChange(
  { given, knownHash }: View,
  last: Version,
  { versions, lines }: SeenChanges,
  { files }: OperationContext
): Notice {
  const who = describeAuthors(versions)
  const name = quoteName(given)
  const target = last.hash === null ? last.renamedTo : undefined
  const renamedTo = target && shownPath(target, files)
  const where = lines === undefined || lines.length === 0 ? '' : `: ${describeLines(lines)}`
  const difference = knownHash === undefined ? '' : ' (with known_hash you get the difference alone)'
  const message =
    last.hash === null
      ? `${who} ${renamedTo === undefined ? 'removed' : 'renamed'} ${name}, which you have read${renamedTo === undefined ? '' : `, to ${quoteName(renamedTo)}`}.`
      : `${who} changed ${name} since you read it${where}. Read it again before you build on it${difference}.`
  return {
    type: 'file_changed',
    path: given,
    message,
    at: timestamp(last.at),
    hash: last.hash,
    ...(knownHash !== undefined && last.hash !== null && { known_hash: knownHash }),
    ...(lines !== undefined && {
      lines: lines.slice(0, maxLines).map(({ start, end }) => ({ start_line: start, end_line: end }))
    }),
    modified_by: versions.slice(-maxAuthors).map(toModification),
    ...(renamedTo !== undefined && { renamed_to: renamedTo })
  }
}

/** From now on these views count from what is there: what has changed until now is told by this. */
function tellBulk(bulk: readonly View[], { views, history }: OperationContext): Notice {
  for (const view of bulk) {
    views.settle(view)
    views.tell(view, history.last(view.path)?.seq ?? view.learnedSeq)
  }
  const [first] = bulk
  const last = history.last(first?.path ?? '')
  const message = `${bulk.length} files that you have read were changed from outside at once (a checkout, a formatter, or the like). Read each again before you build on it; async_list with include_hashes shows which differ from the hashes you hold.`
  return {
    type: 'files_changed',
    path: first?.given ?? '',
    message,
    at: timestamp(last?.at),
    count: bulk.length,
    paths: bulk.slice(0, maxPaths).map(({ given }) => given)
  }
}

function describeAuthors(versions: readonly Version[]): string {
  const names = new Set(
    versions.map(({ agentId }) => (agentId === 'external' ? 'somebody outside the server' : quoteName(agentId)))
  )
  const [first = 'somebody', ...others] = names
  const all =
    others.length === 0 ? first : `${first} and ${others.length === 1 ? others[0] : `${others.length} others`}`
  return all.startsWith('somebody') ? all.replace('s', 'S') : all
}

function describeLines(ranges: readonly LineRange[]): string {
  const shown = ranges.slice(0, maxLines).map(({ start, end }) => {
    if (end < start) return `lines removed before line ${start}`
    return start === end ? `line ${start}` : `lines ${start} to ${end}`
  })
  return shown.join(', ') + (ranges.length > maxLines ? ' and more' : '')
}
