// What must hold whichever process serves the tree, and however it ends. Each violation is one sentence.
import { describeLease, findLeases, type KnownLease, type Span } from './leases.ts'
import { describeCall, resultOf, type Call, type Door, type Moment, type Record } from './record.ts'

/** What a change is answered that was not made. */
const refusals = ['LOCK_TIMEOUT', 'OVERLOADED', 'CANCELLED', 'LEASE_LOST']

export function checkRecord(record: Record): string[] {
  const { leases, spans } = findLeases(record)
  const doors = new Map(record.doors.map((door) => [door.name, door]))
  return [
    ...checkOverlaps(leases),
    ...checkTokens(leases),
    ...leases.flatMap(checkLoss),
    ...record.calls.flatMap((call) => checkWrite(call, leases)),
    ...record.calls.flatMap((call) => checkAnswer(call, doors.get(call.door), record)),
    ...record.calls.flatMap((call) => checkHolder(call, spans)),
    ...checkLines(record)
  ]
}

function checkOverlaps(leases: readonly KnownLease[]): string[] {
  const violations: string[] = []
  for (const [index, one] of leases.entries()) {
    for (const other of leases.slice(index + 1)) {
      if (one.file !== other.file || one.agent === other.agent) continue
      const both = Math.min(endOf(one), endOf(other)) - Math.max(one.from, other.from)
      if (both > 0) violations.push(`two holders: ${describeLease(one)} and ${describeLease(other)}`)
    }
  }
  return violations
}

/** A holder that has learned of the end counts as such no longer; whether that was right is another question. */
function endOf({ until, lostAt }: KnownLease): Moment {
  return Math.min(until, lostAt)
}

/** A token belongs to one lease, and a lease that is asked for after another one was granted has a larger one. */
function checkTokens(leases: readonly KnownLease[]): string[] {
  const first = new Map<number, KnownLease>()
  const violations: string[] = []
  for (const lease of leases) {
    const { agent, file, token } = lease
    const known = first.get(token) ?? lease
    first.set(token, known)
    if (known.agent !== agent || known.file !== file)
      violations.push(`one token: ${describeLease(known)} and ${describeLease(lease)}`)
  }
  for (const later of first.values()) {
    const older = [...first.values()].find(({ from, token }) => from < later.askedAt && token > later.token)
    if (older !== undefined)
      violations.push(`tokens do not grow: ${describeLease(later)} was asked for after ${describeLease(older)}`)
  }
  return violations
}

/** A lease ends by its holder's will, or with its connection. */
function checkLoss(lease: KnownLease): string[] {
  const { until, lostAt, lostBy } = lease
  return lostAt < until ? [`lost without a reason: ${describeLease(lease)}; ${describeLoss(lostBy as Call)}`] : []
}

function describeLoss(call: Call): string {
  const { answer, answeredAt = Infinity } = call
  const notices = (answer?.['notices'] ?? []) as { message?: string }[]
  const said = [answer?.['message'], ...notices.map(({ message }) => message)].filter(Boolean).join(' ')
  return `told at ${answeredAt.toFixed(1)} by ${describeCall(call)}: ${said}`
}

/** Nobody but the holder changes a file between two moments at which the lease certainly was held. */
function checkWrite(call: Call, leases: readonly KnownLease[]): string[] {
  const { agent, file, line, sentAt, answeredAt = Infinity, answer } = call
  if (line === undefined || answer?.['status'] !== 'ok' || answer['replayed'] === true) return []
  const broken = leases.find(
    (lease) => lease.file === file && lease.agent !== agent && lease.from < sentAt && answeredAt < endOf(lease)
  )
  return broken === undefined ? [] : [`written under another's lease: ${describeCall(call)}, ${describeLease(broken)}`]
}

/** An answer says what is so, in its time: a wait ends by a grant or by its timeout. */
function checkAnswer(call: Call, door: Door | undefined, { slackMs }: Record): string[] {
  const { operation, sentAt, answeredAt, answer, timeoutMs = 0 } = call
  if (answer === undefined || answeredAt === undefined) return []
  const tookMs = answeredAt - sentAt
  const violations: string[] = []
  const code = answer['error_code'] as string | undefined
  const isEnding = door?.endingAt !== undefined && door.endingAt < answeredAt
  const isRefused = answer['status'] !== 'ok' && answer['status'] !== 'contention'
  const isExpected =
    (['OVERLOADED', 'CANCELLED', 'AUTHORITY_LOST'].includes(code ?? '') && isEnding) ||
    (code === 'LOCK_TIMEOUT' && call.line !== undefined && tookMs >= timeoutMs) ||
    (code === 'LEASE_LOST' && call.token !== undefined)
  if (isRefused && !isExpected) violations.push(`${describeCall(call)} was answered ${code}: ${answer['message']}`)
  const isSentAway = operation === 'lock_wait' && resultOf(call)?.['acquired'] === false && tookMs < timeoutMs
  if (isSentAway) violations.push(`sent away before its time: ${describeCall(call)}, after ${tookMs.toFixed(0)} ms`)
  if (tookMs > timeoutMs + slackMs) violations.push(`${describeCall(call)} took ${tookMs.toFixed(0)} ms`)
  return violations
}

/** The agent that is named as the holder may have held the file while the call was answered. */
function checkHolder(call: Call, spans: readonly Span[]): string[] {
  const { file, sentAt, answeredAt = Infinity, agent } = call
  const holder = resultOf(call)?.['holder'] as string | null | undefined
  if (holder === undefined || holder === null || holder === agent) return []
  const isPossible = spans.some(
    (span) => span.agent === holder && span.file === file && span.from < answeredAt && span.until > sentAt
  )
  return isPossible ? [] : [`${describeCall(call)} names ${holder} as the holder, which holds nothing`]
}

/** What was acknowledged is there once, what was refused is not there, and of what was not answered nothing is there twice. */
function checkLines({ calls, files }: Record): string[] {
  const attempts = new Map<string, Call[]>()
  for (const call of calls) {
    if (call.line === undefined) continue
    const key = `${call.file}: ${call.line}`
    attempts.set(key, [...(attempts.get(key) ?? []), call])
  }
  const found = new Map<string, number>()
  for (const { name, content } of files)
    for (const line of content.split('\n').slice(0, -1)) {
      const key = `${name}: ${line}`
      found.set(key, (found.get(key) ?? 0) + 1)
    }
  const violations: string[] = []
  for (const key of found.keys()) if (!attempts.has(key)) violations.push(`nobody wrote ${key}`)
  for (const [key, made] of attempts) {
    const count = found.get(key) ?? 0
    const isAcknowledged = made.some(({ answer }) => answer?.['status'] === 'ok')
    const calls = () => made.map(describeAttempt).join('; ')
    if (count > 1) violations.push(`${count} times in the file: ${key} (${calls()})`)
    if (isAcknowledged && count === 0) violations.push(`acknowledged, and not in the file: ${key} (${calls()})`)
    if (count > 0 && made.every(isRefusal)) violations.push(`refused, and in the file: ${key} (${calls()})`)
  }
  return violations
}

function describeAttempt(call: Call): string {
  const { door, answer, answeredAt } = call
  const way = `${describeCall(call)} over ${door}`
  if (answer === undefined || answeredAt === undefined) return `${way}, not answered`
  const told = [answer['error_code'] ?? answer['status'], answer['replayed'] === true && 'replayed', answer['message']]
  return `${way}, answered at ${answeredAt.toFixed(1)}: ${told.filter(Boolean).join(' ')}`
}

function isRefusal({ answer }: Call): boolean {
  if (answer?.['details']?.applied === true) return false
  return answer?.['status'] === 'contention' || refusals.includes(answer?.['error_code'] as string)
}
