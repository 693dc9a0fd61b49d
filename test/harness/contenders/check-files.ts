// Every acknowledged write is in its file once, no other is, and the files themselves show that nobody wrote under another's lease.
import { groupBy } from './group-by.ts'
import { markerPattern, type AgentHistory, type Call, type FinalFile, type History } from './history.ts'
import { describe, type KnownLease } from './leases.ts'

interface Write extends Call {
  readonly agent: string
  readonly marker: string
}

interface Marker {
  readonly text: string
  readonly agent: string
  /** NaN without a lease. */
  readonly token: number
}

export function checkFiles({ agents, files }: History, leases: readonly KnownLease[]): string[] {
  const writes = groupBy(agents.flatMap(writesOf), (write) => write.files[0] as string)
  const held = groupBy(leases, ({ file }) => file)
  return files.flatMap((file) => {
    const markers = Array.from(file.after.matchAll(markerPattern), ([text, agent = '', , token]) => ({
      text,
      agent,
      token: Number(token)
    }))
    const ofFile = writes.get(file.name) ?? []
    return [
      ...checkAcknowledged(file, markers, ofFile),
      ...checkOrderOfTokens(file, markers),
      ...checkIntruders(file, markers),
      ...checkTimes(ofFile, held.get(file.name) ?? []),
      ...checkContentions(ofFile, held.get(file.name) ?? [])
    ]
  })
}

function writesOf({ id, calls }: AgentHistory): Write[] {
  return calls.flatMap((call) => (call.marker === undefined ? [] : [{ ...call, agent: id, marker: call.marker }]))
}

function checkAcknowledged(
  { name, before, after }: FinalFile,
  markers: readonly Marker[],
  writes: readonly Write[]
): string[] {
  const counts = new Map([...groupBy(markers, ({ text }) => text)].map(([text, same]) => [text, same.length]))
  const violations: string[] = []
  for (const { marker, reply } of writes) {
    const count = counts.get(marker) ?? 0
    counts.delete(marker)
    const isUnknown = reply === undefined || reply.status === 'failed' || reply.code === 'CANCELLED'
    if (isUnknown && count > 1) violations.push(`${name}: ${marker} is there ${count} times`)
    if (!isUnknown && reply.status === 'ok' && count !== 1)
      violations.push(`${name}: ${marker} was acknowledged, and is there ${count} times`)
    if (!isUnknown && reply.status !== 'ok' && count > 0)
      violations.push(`${name}: ${marker} is there, although it was answered ${reply.code ?? reply.status}`)
  }
  for (const marker of counts.keys()) violations.push(`${name}: ${marker} is there, and nobody has sent it`)
  const expected = before + markers.map(({ text }) => `${text}\n`).join('')
  if (after !== expected)
    violations.push(`${name}: there is more in it than its first bytes and whole lines of writers`)
  return violations
}

function checkOrderOfTokens({ name }: FinalFile, markers: readonly Marker[]): string[] {
  const underLease = markers.filter(({ token }) => !Number.isNaN(token))
  return underLease.flatMap((marker, index) => {
    const last = underLease[index - 1]
    return last !== undefined && last.token > marker.token ? [`${name}: ${marker.text} stands behind ${last.text}`] : []
  })
}

/** From the first write under a lease to the last one nobody else wrote. */
function checkIntruders({ name }: FinalFile, markers: readonly Marker[]): string[] {
  const ends = new Map<number, number>()
  for (const [index, { token }] of markers.entries()) ends.set(token, index)
  ends.delete(NaN)
  const violations: string[] = []
  let holder: Marker | undefined
  for (const [index, marker] of markers.entries()) {
    if (holder !== undefined && marker.agent !== holder.agent)
      violations.push(
        `${name}: ${marker.text} stands between two writes of ${holder.agent} under token ${holder.token}`
      )
    const isOver = holder === undefined || (ends.get(holder.token) ?? -1) <= index
    if (isOver) holder = (ends.get(marker.token) ?? -1) > index ? marker : undefined
  }
  return violations
}

/** Acknowledged, and made within a time in which another certainly held a lease. */
function checkTimes(writes: readonly Write[], leases: readonly KnownLease[]): string[] {
  const done = writes.filter(({ reply }) => reply?.status === 'ok').toSorted((one, other) => one.sentAt - other.sentAt)
  return leases.flatMap((lease) =>
    startingFrom(done, lease.from, lease.until)
      .filter(({ agent, answeredAt = Infinity }) => agent !== lease.agent && answeredAt < lease.until)
      .map(({ marker }) => `${lease.file}: ${marker} was written under ${describe(lease)}`)
  )
}

/** A version read under a lease stays the current one until the holder himself changes it. */
function checkContentions(writes: readonly Write[], leases: readonly KnownLease[]): string[] {
  const byToken = new Map(leases.map((lease) => [lease.token, lease]))
  return writes.flatMap(({ agent, token, reply, basedOnSentAt, marker }) => {
    const lease = token === undefined ? undefined : byToken.get(token)
    const isForeign = reply?.status === 'contention' && lease !== undefined && (basedOnSentAt ?? -Infinity) > lease.from
    return isForeign
      ? [`${lease.file}: contention for ${marker}: somebody wrote under ${describe(lease)} (${agent})`]
      : []
  })
}

function startingFrom(writes: readonly Write[], from: number, until: number): Write[] {
  let [low, high] = [0, writes.length]
  while (low < high) {
    const middle = (low + high) >> 1
    if ((writes[middle] as Write).sentAt < from) low = middle + 1
    else high = middle
  }
  const found: Write[] = []
  for (let index = low; index < writes.length && (writes[index] as Write).sentAt < until; index += 1)
    found.push(writes[index] as Write)
  return found
}
