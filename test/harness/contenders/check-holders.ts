// At no moment two holders: from what the holders were told, from every snapshot, and from each against the other.
import { groupBy } from './group-by.ts'
import { ms, type AgentHistory, type History, type LockedFile, type Moment, type Snapshot } from './history.ts'
import { asksForLeases, describe, isRelease, type KnownLease } from './leases.ts'
import { between } from './snapshots.ts'
import { conflict } from './wait-for.ts'

export function checkHolders({ agents, snapshots }: History, leases: readonly KnownLease[]): string[] {
  return [
    ...checkOverlaps(leases),
    ...checkTokens(leases),
    ...snapshots.flatMap((snapshot) => snapshot.files.flatMap((locked) => checkTogether(locked, snapshot))),
    ...leases.flatMap((lease) => checkShown(lease, snapshots)),
    ...agents.flatMap((agent) => checkGone(agent, snapshots))
  ]
}

/** Times in which two agents certainly held leases, one of them an exclusive one. */
function checkOverlaps(leases: readonly KnownLease[]): string[] {
  const violations: string[] = []
  for (const ofFile of groupBy(leases, ({ file }) => file).values()) {
    const sorted = ofFile.toSorted((one, other) => one.from - other.from)
    let open: KnownLease[] = []
    for (const lease of sorted) {
      open = open.filter(({ until }) => until > lease.from)
      for (const other of open) {
        if (other.agent === lease.agent) continue
        const from = Math.max(lease.from, Math.min(lease.exclusiveFrom, other.exclusiveFrom))
        const until = Math.min(lease.until, other.until)
        if (from < until) violations.push(`${describe(lease)} and ${describe(other)} held for ${ms(until - from)}`)
      }
      open.push(lease)
    }
  }
  return violations
}

/** A token belongs to one lease; a later grant has a larger one. */
function checkTokens(leases: readonly KnownLease[]): string[] {
  const violations: string[] = []
  for (const [token, same] of groupBy(leases, ({ token }) => token)) {
    if (new Set(same.map(({ agent, file }) => `${agent} ${file}`)).size > 1)
      violations.push(`fencing token ${token} was given twice: ${same.map(describe).join(', ')}`)
  }
  const byAnswer = leases.toSorted((one, other) => one.from - other.from)
  const byAsking = leases.toSorted((one, other) => one.askedAt - other.askedAt)
  let largest: KnownLease | undefined
  let next = 0
  for (const lease of byAsking) {
    for (let reply = byAnswer[next]; reply !== undefined && reply.from < lease.askedAt; reply = byAnswer[next]) {
      if (largest === undefined || reply.token > largest.token) largest = reply
      next += 1
    }
    if (largest !== undefined && lease.token < largest.token)
      violations.push(`${describe(lease)} was asked for after ${describe(largest)} had been granted`)
  }
  return violations
}

function checkTogether({ file, holders }: LockedFile, { receivedAt }: Snapshot): string[] {
  return holders.flatMap((one, index) =>
    holders
      .slice(index + 1)
      .filter((other) => conflict(one, other))
      .map((other) => `${file}: ${one.agent} and ${other.agent} hold it together in the table of ${ms(receivedAt)}`)
  )
}

/** Whoever is certain of a lease stands in the table as its holder. */
function checkShown(lease: KnownLease, snapshots: readonly Snapshot[]): string[] {
  const { file, agent, token, from, until, exclusiveFrom } = lease
  for (const snapshot of between(snapshots, from, until)) {
    const locked = snapshot.files.find((other) => other.file === file)
    const shown = locked?.holders.find((holder) => holder.isLease && holder.agent === agent)
    if (shown?.token !== token) return [`${describe(lease)} was not in the table of ${ms(snapshot.receivedAt)}`]
    if (shown.mode === 'shared' && exclusiveFrom <= snapshot.sentAt)
      return [`${describe(lease)} was shared in the table of ${ms(snapshot.receivedAt)}`]
  }
  return []
}

/** Whoever has released a file has neither a lease nor a place there until he asks again. */
function checkGone({ id, calls }: AgentHistory, snapshots: readonly Snapshot[]): string[] {
  const releasedAt = new Map<string, Moment>()
  const violations: string[] = []
  const look = (file: string, until: Moment) => {
    const since = releasedAt.get(file)
    releasedAt.delete(file)
    if (since === undefined) return
    const late = between(snapshots, since, until).find(({ files }) =>
      files.some(
        (locked) =>
          locked.file === file &&
          [...locked.holders, ...locked.waiters].some(({ isLease, agent }) => isLease && agent === id)
      )
    )
    if (late !== undefined) violations.push(`${file}: ${id} has released it, yet is in the table of ${ms(late.sentAt)}`)
  }
  for (const call of calls) {
    if (asksForLeases(call)) for (const file of call.files) look(file, call.sentAt)
    if (!isRelease(call) || call.reply?.status !== 'ok' || call.answeredAt === undefined) continue
    for (const file of call.files) releasedAt.set(file, releasedAt.get(file) ?? call.answeredAt)
  }
  for (const file of releasedAt.keys()) look(file, Infinity)
  return violations
}
