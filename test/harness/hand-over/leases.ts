// What agents know of their leases by their answers alone: when each was certainly held, and when it may have been.
import { resultOf, type Call, type Door, type Moment, type Record } from './record.ts'

/** A time in which a lease certainly was held. A lease that may have ended meanwhile, and had not, has several. */
export interface KnownLease {
  readonly agent: string
  readonly file: string
  readonly token: number
  readonly door: Door
  /** When it was first asked for: the answer may have been lost. */
  readonly askedAt: Moment
  readonly from: Moment
  until: Moment
  /** When its holder learned that it is over, without having given it up. */
  lostAt: Moment
  /** What told so. */
  lostBy?: Call
}

/** A time in which an agent may have held a file, for a lease or a change. */
export interface Span {
  readonly agent: string
  readonly file: string
  readonly from: Moment
  until: Moment
  /** Over which it was last asked for. */
  door: Door | undefined
}

export function findLeases(record: Record): { leases: KnownLease[]; spans: Span[] } {
  const doors = new Map(record.doors.map((door) => [door.name, door]))
  const certainUntil = (door: Door) => whenUncertain(door, record.graceMs)
  const agents = new Map<string, Call[]>()
  for (const call of record.calls) agents.set(call.agent, [...(agents.get(call.agent) ?? []), call])
  const found = [...agents.values()].map((calls) => findOfAgent(calls, doors, certainUntil))
  return { leases: found.flatMap(({ leases }) => leases), spans: found.flatMap(({ spans }) => spans) }
}

/** When leases taken over this way may end: with it, or while its process stands still and vouches for none of them. */
function whenUncertain({ bindsLeases, endingAt = Infinity, pauses }: Door, graceMs: number): (from: Moment) => Moment {
  if (!bindsLeases) return () => Infinity
  const long = pauses.filter((pause) => pause.until - pause.from >= graceMs)
  return (from) => Math.min(endingAt, ...long.filter(({ until }) => until > from).map((pause) => pause.from))
}

function findOfAgent(
  calls: readonly Call[],
  doors: ReadonlyMap<string, Door>,
  certainUntil: (door: Door) => (from: Moment) => Moment
) {
  const leases: KnownLease[] = []
  const spans: Span[] = []
  const current = new Map<string, KnownLease>()
  const open = new Map<string, Span>()

  function begin(call: Call, token: number): void {
    const { agent, file, answeredAt = Infinity } = call
    const askedAt = open.get(file)?.from ?? call.sentAt
    const door = doors.get(call.door) as Door
    const known = current.get(file)
    if (known?.token === token && answeredAt < known.until) return
    if (known !== undefined && known.token !== token) lose(call)
    const until = certainUntil(door)(answeredAt)
    const lease = { agent, file, token, door, askedAt, from: answeredAt, until, lostAt: Infinity }
    leases.push(lease)
    current.set(file, lease)
  }

  function lose(call: Call): void {
    const { file, answeredAt = Infinity } = call
    const lease = current.get(file)
    if (lease !== undefined) Object.assign(lease, { lostAt: answeredAt, lostBy: call })
    current.delete(file)
  }

  function release({ file, sentAt, answeredAt, answer }: Call): void {
    const lease = current.get(file)
    if (lease !== undefined) lease.until = Math.min(lease.until, sentAt)
    current.delete(file)
    const span = open.get(file)
    if (span === undefined || answer?.['status'] !== 'ok') return
    span.until = answeredAt ?? Infinity
    open.delete(file)
  }

  function mayHold({ agent, file, sentAt, door: name }: Call): void {
    const door = doors.get(name)
    const known = open.get(file)
    if (known !== undefined) return void (known.door = door)
    const span = { agent, file, from: sentAt, until: Infinity, door }
    open.set(file, span)
    spans.push(span)
  }

  for (const call of calls) {
    const { operation, answer, token, agent, file, sentAt, answeredAt = Infinity } = call
    const result = resultOf(call)
    if (operation === 'lock_try' || operation === 'lock_wait') {
      mayHold(call)
      if (result?.['acquired'] === true) begin(call, result['fencing_token'] as number)
      else if (result !== undefined) {
        lose(call)
        close(call)
      }
    } else if (operation === 'lock_release') release(call)
    else if (operation === 'lock_renew' && result?.['renewed'] === false) lose(call)
    else if (operation === 'lock_status' && result?.['held_by_me'] === false) lose(call)
    else if (token !== undefined && answer?.['error_code'] === 'LEASE_LOST') lose(call)
    if (call.line !== undefined) spans.push({ agent, file, from: sentAt, until: answeredAt, door: undefined })
    if (tellsOfLoss(call, current.get(file)?.token)) lose(call)
  }

  /** It was told that it holds nothing: then it did not hold the file at the time of the answer. */
  function close({ file, answeredAt = Infinity }: Call): void {
    const span = open.get(file)
    if (span === undefined) return
    span.until = answeredAt
    open.delete(file)
  }

  for (const span of open.values())
    if (span.door?.bindsLeases === true) span.until = Math.min(span.until, span.door.leftAt ?? Infinity)
  return { leases, spans }
}

function tellsOfLoss({ answer }: Call, token: number | undefined): boolean {
  const notices = (answer?.['notices'] ?? []) as { type?: string; fencing_token?: number }[]
  return notices.some((notice) => notice.type === 'lease_lost' && notice.fencing_token === token)
}

export function describeLease({ agent, file, token, from }: KnownLease): string {
  return `lease ${token} of ${agent} on ${file} from ${from.toFixed(1)}`
}
