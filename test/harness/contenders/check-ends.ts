// Nothing is stuck: every call is answered, and with an answer that belongs to it, and at the end nothing is left.
import { hangMs, ms, type AgentHistory, type Call, type History, type Snapshot } from './history.ts'
import { blockersOf } from './wait-for.ts'

/** Errors that agents which do as ours do can meet. */
const ordinary: Readonly<Record<string, readonly string[]>> = {
  lock_wait: ['DEADLOCK'],
  async_append: ['LOCK_TIMEOUT', 'DEADLOCK', 'LEASE_LOST'],
  async_update: ['LOCK_TIMEOUT', 'DEADLOCK', 'LEASE_LOST'],
  async_read: ['LOCK_TIMEOUT']
}

export function checkEnds({ agents, snapshots, graceMs, longestWaitMs, emptyAfterMs }: History): string[] {
  const idle = new Set(snapshots.flatMap(checkWaiters))
  return [
    ...agents.flatMap((agent) => checkCalls(agent, graceMs, longestWaitMs)),
    ...idle,
    ...(emptyAfterMs === undefined ? ['locks or waiters are left after all agents have ended'] : [])
  ]
}

function checkCalls({ id, killedAt, ttlMs, cutMs, calls }: AgentHistory, graceMs: number, longestWaitMs: number) {
  return calls.flatMap((call, index) => {
    const { operation, files, sentAt, answeredAt, reply } = call
    const what = `${operation} of ${id} on ${files.join(', ')}`
    if (answeredAt === undefined || reply === undefined) {
      const isLast = index === calls.length - 1
      return isLast && killedAt !== undefined ? [] : [`${what} was never answered`]
    }
    const took = answeredAt - sentAt
    if (took > longestWaitMs + hangMs) return [`${what} took ${ms(took)}`]
    if (reply.status === 'ok' || reply.status === 'contention') return []
    if (ordinary[operation]?.includes(reply.code ?? '') === true) return []
    if (isTicketOver(call, calls[index - 1], Math.min(graceMs, ttlMs) + cutMs)) return []
    return [`${what} was answered ${reply.code ?? reply.status}: ${reply.message}`]
  })
}

/** A place is kept for the grace time after the cut; what it is granted meanwhile, for at most as long. */
function isTicketOver({ ticket, reply, answeredAt = 0 }: Call, last: Call | undefined, keptMs: number): boolean {
  if (ticket === undefined || reply?.code !== 'INVALID_REQUEST') return false
  return last?.reply?.ticket !== ticket || answeredAt >= last.sentAt + keptMs
}

/** Whoever is free to run is granted in the same moment, so everybody in the table waits for somebody. */
function checkWaiters({ files }: Snapshot): string[] {
  return files.flatMap((locked) =>
    locked.waiters
      .filter((_, place) => blockersOf(locked, place).length === 0)
      .map(({ agent, since }) => `${locked.file}: ${agent} waits since ${since}, and nobody is in its way`)
  )
}
