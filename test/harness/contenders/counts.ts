// What happened, counted: a run in which something never happened has proved nothing about it.
import { deadlockLatency, isDeadlock } from './check-deadlocks.ts'
import type { Call, History } from './history.ts'
import { asksForLeases, findLeases } from './leases.ts'

const waitedMs = 100

export function countEvents({ agents, snapshots, files }: History): Record<string, number> {
  const calls = agents.flatMap((agent) => agent.calls)
  const leases = agents.flatMap(findLeases)
  const count = (matches: (call: Call) => boolean | undefined) => calls.filter(matches).length
  const isWrite = ({ marker, reply }: Call) => marker !== undefined && reply?.status === 'ok'
  const latencies = agents.flatMap(({ id, calls }) =>
    calls.filter(isDeadlock).map((call) => deadlockLatency(id, call, snapshots))
  )
  return {
    agents: agents.length,
    crashes: agents.filter(({ killedAt }) => killedAt !== undefined).length,
    'crashes in the middle of a call': count(({ answeredAt }) => answeredAt === undefined),
    calls: calls.length,
    leases: leases.length,
    'shared leases': leases.filter(({ exclusiveFrom }) => exclusiveFrom === Infinity).length,
    'leases made exclusive': leases.filter(
      ({ exclusiveFrom, from }) => exclusiveFrom !== Infinity && exclusiveFrom > from
    ).length,
    'leases after a wait': count(
      (call) =>
        asksForLeases(call) &&
        (call.answeredAt ?? 0) - call.sentAt > waitedMs &&
        call.reply?.outcomes?.some(({ acquired }) => acquired)
    ),
    'waits that brought nothing': count(
      ({ operation, reply }) => operation === 'lock_wait' && reply?.outcomes?.every(({ acquired }) => !acquired)
    ),
    tickets: count(({ reply }) => reply?.ticket !== undefined),
    'leases with a ticket': count(
      ({ ticket, reply }) => ticket !== undefined && reply?.outcomes?.[0]?.acquired === true
    ),
    deadlocks: latencies.length,
    'slowest deadlock answer in ms': Math.ceil(Math.max(0, ...latencies)),
    'deadlocks of three and more': count(({ reply }) => (reply?.cycle?.length ?? 0) > 2),
    'deadlocks of a write': count((call) => isDeadlock(call) && call.marker !== undefined),
    expiries: count(({ reply }) => reply?.cause === 'expired'),
    'writes with a released token': count(
      ({ token, reply }) => token !== undefined && reply?.code === 'LEASE_LOST' && reply.cause === undefined
    ),
    'writes under a token': count((call) => isWrite(call) && call.token !== undefined),
    'writes without one': count((call) => isWrite(call) && call.token === undefined),
    contentions: count(({ reply }) => reply?.status === 'contention'),
    'lock timeouts of writes': count(({ reply }) => reply?.code === 'LOCK_TIMEOUT'),
    snapshots: snapshots.length,
    'longest time between two in ms': Math.round(
      Math.max(0, ...snapshots.map(({ sentAt }, index) => sentAt - (snapshots[index - 1]?.sentAt ?? sentAt)))
    ),
    'waiters seen at once': Math.max(
      0,
      ...snapshots.map(({ files }) => files.reduce((sum, { waiters }) => sum + waiters.length, 0))
    ),
    files: files.length
  }
}
