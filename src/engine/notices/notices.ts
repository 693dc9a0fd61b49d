// What an answer tells an agent unasked: leases that it has lost, files that others have changed since it read them.
import type { Notice } from '../../../schemas/notices.ts'
import { external } from '../versions/author.ts'
import type { Version } from '../versions/version.ts'
import { quoteName } from '../locks/quote.ts'
import { toModification } from '../versions/modification.ts'
import type { OperationContext } from '../call/context.ts'
import type { LineRange } from '../seen/line-ranges.ts'
import { findUnseenChanges, type UnseenChanges } from '../seen/unseen-changes.ts'
import { shownPath } from './shown-path.ts'
import type { AgentView } from '../seen/agent-view.ts'
import { lastWhole } from '../seen/seen-versions.ts'
import { shortened } from '../../support/cut-text.ts'
import { timestamp } from '../../support/timestamp.ts'

interface Notices {
  readonly notices: Notice[]
  readonly further_notices?: number
}

/** Notices in one answer; of more only the count. */
const maxNotices = 5
/** Views that one answer examines, and the time it takes for that, in milliseconds. */
const maxLooks = 20
const budgetMs = 250
const maxLines = 20
const maxAuthors = 5
const maxPaths = 20
/** For agents that read through this server; part of a message. */
export const readAgainHint = ' (with known_hash you get only the difference)'

/** Undefined if there is nothing to report, which is nearly always. */
export function collectNotices(
  agentId: string | undefined,
  context: OperationContext
): Notices | undefined | Promise<Notices | undefined> {
  const { lostLeases, reads } = context
  const lost = lostLeases.takeNotices(agentId)
  return agentId !== undefined && reads.unreported.has(agentId) ? withChanges(agentId, lost, context) : lost
}

async function withChanges(
  agentId: string,
  lost: Notices | undefined,
  context: OperationContext
): Promise<Notices | undefined> {
  const { reads, history } = context
  const notices = [...(lost?.notices ?? [])]
  const bulk = reads.unreported.bulk(agentId).filter((view) => {
    const isBack = history.last(view.path)?.hash === lastWhole(view.seen)
    if (isBack) reads.unreported.remove(view)
    return !isBack
  })
  const isSummary = bulk.length > maxNotices
  if (isSummary && notices.length < maxNotices) notices.push(describeBulk(bulk, context))
  const single = isSummary ? reads.unreported.single(agentId) : [...reads.unreported.single(agentId), ...bulk]
  await withinBudget(async (budget) => {
    for (const view of single.slice(0, maxLooks)) {
      // The others stay for the next answer.
      if (notices.length === maxNotices || budget.aborted) break
      const notice = await noticeFor(view, context, budget)
      if (notice !== undefined) notices.push(notice)
    }
  })
  const further = (lost?.further_notices ?? 0) + reads.unreported.count(agentId)
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

/** Cleared before it is examined: the next answer tells what changes meanwhile, and no parallel answer tells the same. */
async function noticeFor(view: AgentView, context: OperationContext, budget: AbortSignal): Promise<Notice | undefined> {
  if (!context.reads.unreported.remove(view)) return undefined
  const last = context.history.last(view.path)
  if (last === undefined || last.hash === lastWhole(view.seen)) return undefined
  const changes = await findUnseenChanges(view, context, budget)
  if (last.hash === null) context.reads.forget(view.agentId, view.path)
  return changes && describeChange(view, last, changes, context)
}

function describeChange(
  { agentId, given, seen }: AgentView,
  last: Version,
  { versions, lines }: UnseenChanges,
  { files }: OperationContext
): Notice {
  const who = describeAuthors(versions, agentId)
  const isBehind =
    versions.length > 0 && versions.every((version) => version.agentId === agentId && version.agents === undefined)
  const knownHash = lastWhole(seen)
  const name = quoteName(given) + describeCommand(versions)
  const target = last.hash === null ? last.renamedTo : undefined
  const renamedTo = target && shownPath(target, files)
  const where = lines === undefined || lines.length === 0 ? '' : `: ${describeLines(lines)}`
  const difference = knownHash === undefined ? '' : readAgainHint
  const message =
    last.hash === null
      ? `${who} ${renamedTo === undefined ? 'removed' : 'renamed'} ${name}, which you have read${renamedTo === undefined ? '' : `, to ${quoteName(renamedTo)}`}.`
      : `${who} changed ${name} ${isBehind ? 'behind your edit' : 'since you read it'}${where}. Read it again before you rely on it${difference}.`
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

/** From now on these views count from the current versions: this notice tells what has changed until now. */
function describeBulk(bulk: readonly AgentView[], { reads, history }: OperationContext): Notice {
  for (const view of bulk) {
    reads.unreported.remove(view)
    const last = history.last(view.path)
    if (last !== undefined) reads.markNotified(view, last)
  }
  const [first] = bulk
  const last = history.last(first?.path ?? '')
  const message = `${bulk.length} files that you have read were changed from outside at once (a checkout, a formatter, or the like). Read each again before you rely on it; async_list with include_hashes shows which differ from the hashes you hold.`
  return {
    type: 'files_changed',
    path: first?.given ?? '',
    message,
    at: timestamp(last?.at),
    count: bulk.length,
    paths: bulk.slice(0, maxPaths).map(({ given }) => given)
  }
}

const behind = 'another program, such as a formatter,'

/**
 * The beginning of a sentence.
 * @param reader an agent that made none of it: a version under its own name has what its edit did not announce
 */
export function describeAuthors(versions: readonly Version[], reader: string): string {
  const names = new Set(
    versions.map(({ agentId, agents }) => {
      if (agents !== undefined) return `either ${agents.map((agent) => nameOf(agent, reader)).join(' or ')}`
      return agentId === reader ? behind : nameOf(agentId, reader)
    })
  )
  const [first = 'someone', ...others] = names
  const all =
    others.length === 0 ? first : `${first} and ${others.length === 1 ? others[0] : `${others.length} others`}`
  return /^(?:someone\b|either )/.test(all) || all.startsWith(behind) ? all.charAt(0).toUpperCase() + all.slice(1) : all
}

function nameOf(agentId: string, reader: string): string {
  if (agentId === reader) return 'you'
  return agentId === external.agentId ? 'someone outside the server' : quoteName(agentId)
}

/** The shell command that has made them all; empty if there is none. */
function describeCommand(versions: readonly Version[]): string {
  const [command, ...others] = new Set(versions.map((version) => version.command))
  return command === undefined || others.length > 0 ? '' : ` by the command ${JSON.stringify(shortened(command, 120))}`
}

export function describeLines(ranges: readonly LineRange[]): string {
  const shown = ranges.slice(0, maxLines).map(({ start, end }) => {
    if (end < start) return `lines removed before line ${start}`
    return start === end ? `line ${start}` : `lines ${start} to ${end}`
  })
  return shown.join(', ') + (ranges.length > maxLines ? ' and more' : '')
}
