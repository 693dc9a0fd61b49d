// No circle of waiting in any snapshot, and every DEADLOCK answered with a circle that can have been.
import {
  hangMs,
  ms,
  type AgentHistory,
  type Call,
  type Edge,
  type History,
  type Moment,
  type Snapshot
} from './history.ts'
import { isRelease } from './leases.ts'
import { afterLooks, between, longestRoundTrip, noticedAt, timerLooks } from './snapshots.ts'
import { findCircle } from './wait-for.ts'

export function checkDeadlocks({ agents, snapshots, graceMs }: History): string[] {
  const byId = new Map(agents.map((agent) => [agent.id, agent]))
  return [
    ...snapshots.flatMap(checkSnapshot),
    ...agents.flatMap((agent) =>
      agent.calls
        .filter(isDeadlock)
        .flatMap((call) => [
          ...checkAnswerTime(agent.id, call, snapshots),
          ...checkCircle(agent.id, call, byId, { snapshots, graceMs })
        ])
    )
  ]
}

export function isDeadlock({ reply }: Call): boolean {
  return reply?.code === 'DEADLOCK'
}

/** The circle is looked for as soon as somebody waits, so none ever stands in the table. */
function checkSnapshot(snapshot: Snapshot): string[] {
  const circle = findCircle(snapshot)
  return circle === undefined ? [] : [`a circle in the table of ${ms(snapshot.receivedAt)}: ${circle.join(' -> ')}`]
}

/**
 * From when it was sent, or from when it was last seen waiting, since the circle closed after that. Without what the observer had to
 * wait for its own simplest question meanwhile: a machine that is busy with other things answers everything late.
 */
export function deadlockLatency(id: string, call: Call, snapshots: readonly Snapshot[]): number {
  const { sentAt, answeredAt = Infinity, files } = call
  const waiting = between(snapshots, sentAt, answeredAt).findLast((snapshot) =>
    snapshot.files.some(({ file, waiters }) => files.includes(file) && waiters.some(({ agent }) => agent === id))
  )
  const since = waiting?.sentAt ?? sentAt
  return Math.max(0, answeredAt - since - longestRoundTrip(snapshots, since, answeredAt))
}

function checkAnswerTime(id: string, call: Call, snapshots: readonly Snapshot[]): string[] {
  const latency = deadlockLatency(id, call, snapshots)
  return latency <= hangMs ? [] : [`DEADLOCK of ${id} at ${call.files.join(', ')} took ${ms(latency)}`]
}

type Scene = Pick<History, 'snapshots' | 'graceMs'>

function checkCircle(id: string, call: Call, agents: ReadonlyMap<string, AgentHistory>, scene: Scene): string[] {
  const { cycle = [] } = call.reply ?? {}
  const text = cycle.flatMap(({ agent, file }) => [agent, file]).join(' -> ')
  const fault = (what: string) => [`DEADLOCK of ${id}, circle ${text}: ${what}`]
  const [first] = cycle
  if (first === undefined || cycle.length < 2) return fault('it is no circle')
  if (first.agent !== id || !call.files.includes(first.file)) return fault('it does not begin with the call refused')
  return cycle.flatMap((edge, index) => {
    const next = cycle[(index + 1) % cycle.length] as Edge
    const waiter = agents.get(edge.agent)
    const blocker = agents.get(next.agent)
    if (waiter === undefined || blocker === undefined) return fault(`${edge.agent} or ${next.agent} is nobody`)
    const waits = waiter.calls.some((other) => waitsDuring(other, edge.file, call, waiter, scene))
    if (!waits) return fault(`${edge.agent} did not wait for ${edge.file}`)
    return standsAt(blocker, edge.file, call) ? [] : fault(`${next.agent} had nothing to do with ${edge.file}`)
  })
}

/** Under way, or its place kept for a ticket, at some moment of the other call. */
function waitsDuring(call: Call, file: string, other: Call, agent: AgentHistory, scene: Scene): boolean {
  const { snapshots, graceMs } = scene
  if (!call.files.includes(file) || call.sentAt > endOf(other)) return false
  const isKept = call.operation === 'lock_wait' && (call.reply === undefined || call.reply.ticket !== undefined)
  const end = call.answeredAt ?? noticedAt(agent, snapshots)
  return (isKept ? afterLooks(snapshots, end + graceMs, timerLooks) : end) >= other.sentAt
}

/** It has asked for the file, or works on it, and has not given it back before the other call. */
function standsAt({ calls }: AgentHistory, file: string, other: Call): boolean {
  const last = calls.findLast(
    (call) =>
      call.files.includes(file) &&
      call.sentAt <= endOf(other) &&
      (!isRelease(call) || (call.reply?.status === 'ok' && endOf(call) < other.sentAt))
  )
  return last !== undefined && !isRelease(last)
}

function endOf({ answeredAt = Infinity }: Call): Moment {
  return answeredAt
}
