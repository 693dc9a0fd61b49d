// The leases that agents know they held, from their calls and answers alone, each with the time in which it certainly was held.
import type { AgentHistory, Call, FileOutcome, Moment } from './history.ts'

export interface KnownLease {
  readonly agent: string
  readonly file: string
  readonly token: number
  /** The grant came after the one and before the other. */
  readonly askedAt: Moment
  readonly from: Moment
  /** Infinity where it never was exclusive. */
  exclusiveFrom: Moment
  /** Until then it has certainly not ended. */
  until: Moment
  /** When a release of it was sent, and answered. */
  releasedAt: Moment
  goneAt: Moment
  /** When its holder was told that it has ended against his will. */
  lostAt: Moment
}

/**
 * A call that the holder makes after the grant, and that is answered as the holder's, started the lease anew at some moment after it
 * was sent: from then on the lease has a whole TTL. What is not certain is left out: a lease of an all_or_nothing call that has not brought all.
 */
export function findLeases({ id, ttlMs, killedAt = Infinity, calls }: AgentHistory): KnownLease[] {
  const leases: KnownLease[] = []
  const current = new Map<string, KnownLease>()
  const askedSince = new Map<string, Moment>()

  function confirm(call: Call, { file, token, mode }: FileOutcome): void {
    const answeredAt = call.answeredAt as Moment
    let lease = current.get(file)
    if (lease === undefined || lease.token !== token) {
      lease = {
        agent: id,
        file,
        token: token as number,
        askedAt: askedSince.get(file) ?? call.sentAt,
        from: answeredAt,
        exclusiveFrom: Infinity,
        until: 0,
        releasedAt: Infinity,
        goneAt: Infinity,
        lostAt: Infinity
      }
      leases.push(lease)
      current.set(file, lease)
    }
    if (mode === 'exclusive') lease.exclusiveFrom = Math.min(lease.exclusiveFrom, answeredAt)
    lease.until = Math.max(lease.until, call.sentAt + ttlMs)
  }

  function release(call: Call): void {
    for (const file of call.files) {
      const lease = current.get(file)
      if (lease !== undefined) {
        lease.releasedAt = call.sentAt
        lease.goneAt = call.reply?.status === 'ok' ? (call.answeredAt ?? Infinity) : Infinity
      }
      current.delete(file)
      if (call.reply?.status === 'ok') askedSince.delete(file)
    }
  }

  function use(call: Call): void {
    const lease = current.get(call.files[0] as string)
    if (lease === undefined || call.token !== lease.token) return
    if (call.reply?.status === 'ok') lease.until = Math.max(lease.until, call.sentAt + ttlMs)
    if (call.reply?.code === 'LEASE_LOST') lease.lostAt = Math.min(lease.lostAt, call.answeredAt ?? Infinity)
  }

  for (const call of calls) {
    if (asksForLeases(call)) for (const file of call.files) askedSince.set(file, askedSince.get(file) ?? call.sentAt)
    if (isRelease(call)) release(call)
    else if (call.token !== undefined) use(call)
    else if (!isProvisional(call)) {
      for (const outcome of call.reply?.outcomes ?? []) {
        if (outcome.acquired) confirm(call, outcome)
        else noteLoss(current.get(outcome.file), call)
      }
    }
  }
  for (const lease of leases) lease.until = Math.min(lease.until, lease.releasedAt, killedAt)
  return leases
}

export function asksForLeases({ operation }: Call): boolean {
  return operation === 'lock_try' || operation === 'lock_wait'
}

export function isRelease({ operation }: Call): boolean {
  return operation === 'lock_release' || operation === 'lock_release_all'
}

export function describe({ agent, file, token }: KnownLease): string {
  return `lease ${token} of ${agent} on ${file}`
}

/** Should the rest not come, what it has brought is given back. */
function isProvisional({ allOrNothing, reply }: Call): boolean {
  return allOrNothing === true && reply?.outcomes?.every(({ acquired }) => acquired) !== true
}

/** Who has a shared lease and does not get an exclusive one has not lost anything. */
function noteLoss(lease: KnownLease | undefined, { mode, operation, answeredAt = Infinity }: Call): void {
  if (lease === undefined) return
  const isCovered = operation === 'lock_renew' || mode === 'shared' || lease.exclusiveFrom < answeredAt
  if (isCovered) lease.lostAt = Math.min(lease.lostAt, answeredAt)
}
