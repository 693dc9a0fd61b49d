// What an agent is told with an answer, though it did not ask: leases that it has lost, files that others have changed since it read them.
import type { Notice } from '../../schemas/notices.ts'
import type { Version } from '../files/history.ts'
import { quoteName } from '../locks/foreign-words.ts'
import { toModification } from './contention.ts'
import type { OperationContext } from './context.ts'
import { findSeenChanges, type SeenChanges } from './seen-changes.ts'
import { shownPath } from './shown-path.ts'
import type { LineRange, View } from './views.ts'

interface Told {
  readonly notices: Notice[]
  readonly further_notices?: number
}

/** Told in one answer; of more only the count (DESIGN, notices). */
const maxNotices = 5
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
  const { views } = context
  const notices = [...(lost?.notices ?? [])]
  const bulk = views.untoldBulk(agentId)
  const isSummary = bulk.length > maxNotices
  if (isSummary && notices.length < maxNotices) {
    for (const view of bulk) context.views.settle(view)
    notices.push(describeBulk(bulk, context))
  }
  const single = isSummary ? views.untold(agentId) : [...views.untold(agentId), ...bulk]
  for (const view of single) {
    if (notices.length === maxNotices) break
    const notice = await tellOf(view, context)
    if (notice !== undefined) notices.push(notice)
  }
  const further = (lost?.further_notices ?? 0) + views.countUntold(agentId)
  return notices.length === 0 ? undefined : { notices, ...(further > 0 && { further_notices: further }) }
}

/** Settled before it is looked at: what changes meanwhile is told with the next answer. */
async function tellOf(view: View, context: OperationContext): Promise<Notice | undefined> {
  const last = context.history.last(view.path)
  const { knownHash } = view
  context.views.settle(view)
  if (last === undefined || last.hash === knownHash) return undefined
  const changes = await findSeenChanges(view, context)
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
  const target = last.hash === null ? last.renamedTo : undefined
  const renamedTo = target && shownPath(target, files)
  const where = lines === undefined || lines.length === 0 ? '' : `: ${describeLines(lines)}`
  const difference = knownHash === undefined ? '' : ' (with known_hash you get the difference alone)'
  const message =
    last.hash === null
      ? `${who} ${renamedTo === undefined ? 'removed' : 'renamed'} ${given}, which you have read${renamedTo === undefined ? '' : `, to ${renamedTo}`}.`
      : `${who} changed ${given} since you read it${where}. Read it again before you build on it${difference}.`
  return {
    type: 'file_changed',
    path: given,
    message,
    at: new Date(last.at).toISOString(),
    hash: last.hash,
    ...(knownHash !== undefined && last.hash !== null && { known_hash: knownHash }),
    ...(lines !== undefined && {
      lines: lines.slice(0, maxLines).map(({ start, end }) => ({ start_line: start, end_line: end }))
    }),
    modified_by: versions.slice(-maxAuthors).map(toModification),
    ...(renamedTo !== undefined && { renamed_to: renamedTo })
  }
}

function describeBulk(views: readonly View[], { history }: OperationContext): Notice {
  const [first] = views
  const last = history.last(first?.path ?? '')
  const message = `${views.length} files that you have read were changed from outside at once (a checkout, a formatter, or the like). Read each again before you build on it; async_list with include_hashes shows which differ from the hashes you hold.`
  return {
    type: 'files_changed',
    path: first?.given ?? '',
    message,
    at: new Date(last?.at ?? Date.now()).toISOString(),
    count: views.length,
    paths: views.slice(0, maxPaths).map(({ given }) => given)
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
