// Grants in FIFO order: nobody is granted before whom he conflicts with and who stood ahead of him in a snapshot.
import { groupBy } from './group-by.ts'
import type { AgentHistory, Call, Entry, History, LockedFile, Snapshot } from './history.ts'
import { asksForLeases, type KnownLease } from './leases.ts'
import { between } from './snapshots.ts'
import { conflict } from './wait-for.ts'

export function checkOrder({ agents, snapshots }: History, leases: readonly KnownLease[]): string[] {
  const violations = new Set<string>()
  for (const [index, later] of snapshots.entries()) {
    const earlier = snapshots[index - 1]
    if (earlier === undefined) continue
    for (const after of later.files) {
      const before = earlier.files.find(({ file }) => file === after.file)
      if (before === undefined) continue
      for (const violation of [...checkLine(before, after), ...checkOvertaking(before, after)])
        violations.add(violation)
    }
  }
  return [...violations, ...checkGrants(agents, snapshots, leases)]
}

/** Who was there keeps his order, and whoever comes stands behind him. */
function checkLine(before: LockedFile, after: LockedFile): string[] {
  const ranks = new Map(before.waiters.map((waiter, rank) => [identityOf(waiter), rank]))
  const violations: string[] = []
  let last = -1
  for (const waiter of after.waiters) {
    const rank = ranks.get(identityOf(waiter)) ?? Infinity
    if (rank < last) violations.push(`${after.file}: ${waiter.agent} lost its place in the line to one who came later`)
    last = Math.max(last, rank)
  }
  return violations
}

/** Granted, although one who stood ahead still waits. */
function checkOvertaking(before: LockedFile, after: LockedFile): string[] {
  const still = new Set(after.waiters.map(identityOf))
  return pairsInLine(before)
    .filter(([ahead, behind]) => still.has(identityOf(ahead)) && !still.has(identityOf(behind)))
    .filter(([, behind]) => after.holders.some(({ isLease, agent }) => isLease && agent === behind.agent))
    .map(([ahead, behind]) => `${after.file}: ${behind.agent} was granted before ${ahead.agent}, who stood ahead of it`)
}

/**
 * Both granted: the one ahead has the smaller token. Only calls that were under way for as long as the snapshot took, and whose answer
 * has brought a new token: so the place seen is the one that was granted, and nobody has left the line in between.
 */
function checkGrants(
  agents: readonly AgentHistory[],
  snapshots: readonly Snapshot[],
  leases: readonly KnownLease[]
): string[] {
  const granted = new Map(leases.map((lease) => [`${lease.agent} ${lease.file} ${lease.from}`, lease]))
  const waits = new Map<Snapshot, Map<string, Call>>()
  for (const { id, calls } of agents) {
    for (const call of calls) {
      if (!asksForLeases(call) || call.answeredAt === undefined) continue
      for (const snapshot of between(snapshots, call.sentAt, call.answeredAt)) {
        const known = waits.get(snapshot) ?? new Map<string, Call>()
        waits.set(snapshot, known.set(id, call))
      }
    }
  }
  const violations = new Set<string>()
  for (const [snapshot, calls] of waits) {
    for (const locked of snapshot.files) {
      const leaseOf = ({ agent, isParked }: Entry) =>
        isParked ? undefined : granted.get(`${agent} ${locked.file} ${calls.get(agent)?.answeredAt}`)
      for (const [ahead, behind] of pairsInLine(locked)) {
        const [first, second] = [leaseOf(ahead), leaseOf(behind)]
        if (first === undefined || second === undefined || first.token < second.token) continue
        violations.add(
          `${locked.file}: ${behind.agent} got token ${second.token}, ${ahead.agent}, who stood ahead of it, ${first.token}`
        )
      }
    }
  }
  return [...violations]
}

/** Two who wait for leases that exclude one another. Whoever holds a lease, or has another place further ahead, may pass. */
function pairsInLine({ holders, waiters }: LockedFile): [ahead: Entry, behind: Entry][] {
  const asking = waiters.filter(({ isLease }) => isLease)
  const places = groupBy(asking, ({ agent }) => agent)
  const isOnlyHere = ({ agent }: Entry) =>
    places.get(agent)?.length === 1 && !holders.some((holder) => holder.isLease && holder.agent === agent)
  return asking.flatMap((behind, rank) =>
    isOnlyHere(behind)
      ? asking
          .slice(0, rank)
          .filter((ahead) => places.get(ahead.agent)?.length === 1 && conflict(ahead, behind))
          .map((ahead): [Entry, Entry] => [ahead, behind])
      : []
  )
}

function identityOf({ agent, isLease, mode, since }: Entry): string {
  return `${agent} ${isLease} ${mode} ${since}`
}
