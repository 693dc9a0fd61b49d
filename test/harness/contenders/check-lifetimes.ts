// No lease outlives its TTL, and none ends before it. How late is too late is counted in turns of the server, not in time.
import { ms, type AgentHistory, type Entry, type History, type Moment, type Snapshot } from './history.ts'
import { describe, isRelease, type KnownLease } from './leases.ts'
import { noticedAt, timerLooks } from './snapshots.ts'

/** By which the clock of leases and that of the answers may differ: the wall clock is corrected, the other is not. */
const clockMs = 100
/** The server's clock counts whole milliseconds. */
const roundingMs = 5

export function checkLifetimes(history: History, leases: readonly KnownLease[]): string[] {
  const { agents, snapshots } = history
  const byId = new Map(agents.map((agent) => [agent.id, agent]))
  const ends = new Map(agents.map((agent) => [agent.id, endsOf(agent, history)]))
  const violations = new Set<string>()
  for (const [index, snapshot] of snapshots.entries()) {
    // Timers that were due then have run.
    const before = snapshots[index - timerLooks]
    for (const { file, holders, waiters } of snapshot.files) {
      for (const holder of holders) {
        const fault = checkHolder(holder, byId.get(holder.agent), snapshot, before)
        if (fault !== undefined) violations.add(`${file}: ${holder.agent}, token ${holder.token}: ${fault}`)
      }
      for (const entry of [...holders, ...waiters]) {
        const end = ends.get(entry.agent)
        const limit = entry.token === undefined ? end?.waiting : end?.holding
        if (limit !== undefined && before !== undefined && before.sentAt > limit)
          violations.add(`${file}: ${entry.agent} is in the table, although it was killed long before`)
      }
    }
  }
  return [...violations, ...leases.flatMap(checkLoss), ...agents.flatMap((agent) => checkWrites(agent, leases))]
}

function checkHolder(
  { isLease, endsAt }: Entry,
  agent: AgentHistory | undefined,
  { serverTime }: Snapshot,
  before: Snapshot | undefined
): string | undefined {
  if (!isLease || endsAt === undefined) return undefined
  if (before !== undefined && endsAt < before.serverTime - clockMs)
    return `its lease should have ended ${ms(serverTime - endsAt)} ago`
  // Of several files that one call waits for, the first must still be held when the last one comes.
  const longestMs = agent === undefined ? Infinity : Math.max(agent.ttlMs, agent.cutMs)
  const beyond = endsAt - serverTime - longestMs
  return beyond > clockMs ? `its lease lasts ${ms(beyond)} longer than it asked for` : undefined
}

/**
 * When an agent that was killed must be gone from the queues, and from the holders. Where it had a ticket, or may have been given one
 * that did not arrive, its places are kept for the grace time.
 */
function endsOf(agent: AgentHistory, { snapshots, graceMs }: History) {
  const { ttlMs, cutMs, calls } = agent
  const noticed = noticedAt(agent, snapshots)
  const isKept = calls.some(
    ({ operation, reply, sentAt }) =>
      operation === 'lock_wait' && (reply === undefined ? sentAt + cutMs <= noticed : reply.ticket !== undefined)
  )
  const waiting = noticed + (isKept ? graceMs : 0)
  return { waiting, holding: waiting + Math.max(ttlMs, cutMs) }
}

function checkLoss(lease: KnownLease): string[] {
  const early = lease.until - lease.lostAt
  return early > 0 ? [`${describe(lease)} was lost ${ms(early)} before its time`] : []
}

/** A write that names a lease which is over is refused. */
function checkWrites({ id, ttlMs, cutMs, calls }: AgentHistory, leases: readonly KnownLease[]): string[] {
  const own = new Map(leases.filter(({ agent }) => agent === id).map((lease) => [lease.token, lease]))
  const lastUse = new Map<string, Moment>()
  /** Those at which a place may still be kept, and a grant may prolong the lease. */
  const kept = new Set<string>()
  /** The last token of each file, and the files whose lease was asked for again: it lasts as long as that call might have waited. */
  const granted = new Map<string, number>()
  const again = new Set<string>()
  const violations: string[] = []
  for (const call of calls) {
    const { token, reply, files, sentAt, answeredAt = Infinity } = call
    const [file] = files as [string]
    if (token !== undefined && reply?.status === 'ok') {
      const silence = sentAt - (lastUse.get(file) ?? -Infinity)
      if ((own.get(token)?.goneAt ?? Infinity) < sentAt)
        violations.push(`${file}: ${id} wrote with token ${token}, which it had released`)
      else if (silence > (again.has(file) ? Math.max(ttlMs, cutMs) : ttlMs) + roundingMs && !kept.has(file))
        violations.push(`${file}: ${id} wrote with token ${token} after ${ms(silence)} of silence, its TTL is ${ttlMs}`)
    }
    for (const { file: held, token: given } of reply?.outcomes ?? []) {
      if (given === undefined) continue
      if (call.operation === 'lock_wait' && granted.get(held) === given) again.add(held)
      else again.delete(held)
      granted.set(held, given)
    }
    for (const used of files) {
      lastUse.set(used, answeredAt)
      if (reply?.ticket !== undefined) kept.add(used)
      else if (isRelease(call) && reply?.status === 'ok') kept.delete(used)
    }
  }
  return violations
}
