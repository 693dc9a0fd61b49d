// The rules of a line, written down a second time: who conflicts with whom, who may pass whom.
import type { LockMode } from '../../../src/engine/locks/lock.ts'

/** What a refusal may name: the edges that there are, as `A -> a -> B`, and how many the shortest circle has. */
export interface Circle {
  readonly edges: ReadonlySet<string>
  readonly shortest: number
}

export interface ModelRequest {
  readonly name: string
  readonly agentId: string | undefined
  readonly isLease: boolean
  /** One for each key, in canonical order. */
  readonly places: readonly ModelPlace[]
  /** Of a lease: as it was asked for, whatever became of it. */
  readonly asked: LockMode
  readonly graceMs: number
  ttlMs: number
  timeoutAt: number
  granted: number
  state: 'waiting' | 'held' | 'gone'
  isParked: boolean
  token: number | undefined
  /** Undefined where nothing ends by itself. */
  endsAt: number | undefined
  armed: number
  /** The lease that it was granted as: itself, or the one that its agent had. */
  lease: ModelRequest | undefined
  readonly claims: ModelRequest[]
  /** The request that has renewed it last, and has not been undone. */
  latest: ModelRequest | undefined
  /** Of the lease that it has renewed, from before. */
  replaced: Pick<ModelRequest, 'ttlMs' | 'latest'> | undefined
  code: string | undefined
  /** What it may be told of, where it is refused for a circle. */
  circle: Circle | undefined
}

export interface ModelPlace {
  readonly request: ModelRequest
  readonly key: string
  mode: LockMode
}

export interface Line {
  holders: ModelPlace[]
  waiters: ModelPlace[]
}

export interface ModelTable {
  readonly lines: Map<string, Line>
  readonly leasesBind: boolean
}

export function doConflict({ leasesBind }: ModelTable, one: ModelPlace, other: ModelPlace): boolean {
  const [first, second] = [one.request, other.request]
  const isSameAgent = first.agentId !== undefined && first.agentId === second.agentId
  if (one.mode === 'shared' && other.mode === 'shared') return false
  if (first.isLease && second.isLease) return !isSameAgent
  if (!first.isLease && !second.isLease) return true
  const operation = first.isLease ? other : one
  return leasesBind && operation.mode === 'exclusive' && !isSameAgent
}

/** Those of the line that the place has to wait for, itself standing in it or about to join. */
export function blockersIn(table: ModelTable, line: Line, place: ModelPlace): ModelPlace[] {
  const at = line.waiters.indexOf(place)
  const ahead = at === -1 ? line.waiters : line.waiters.slice(0, at)
  return [
    ...line.holders.filter((holder) => doConflict(table, holder, place)),
    ...ahead.filter((earlier) => doConflict(table, earlier, place) && !mayPass(table, line, place, earlier))
  ]
}

function mayPass(table: ModelTable, line: Line, place: ModelPlace, earlier: ModelPlace): boolean {
  if (place.request.isLease && earlier.request.isLease && asksToShare(line, place, earlier)) return true
  if (place.request.isLease || earlier.request.isLease) return hasLeaseBefore(line, place, earlier)
  const { holders, waiters } = line
  const held = holders.filter((holder) => holder.request.isLease)
  const askedFor = waiters.slice(0, waiters.indexOf(earlier)).filter(({ request }) => request.isLease)
  return (
    held.some((lease) => doConflict(table, lease, earlier)) ||
    askedFor.some((lease) => doConflict(table, lease, earlier) && !hasLeaseBefore(line, earlier, lease))
  )
}

/** Whether the agent of the place holds a lease, or asks for one ahead of that other place. */
function hasLeaseBefore({ holders, waiters }: Line, { request }: ModelPlace, other: ModelPlace): boolean {
  const before = [...holders, ...waiters.slice(0, waiters.indexOf(other))].filter((place) => place.request.isLease)
  return request.agentId !== undefined && before.some((lease) => lease.request.agentId === request.agentId)
}

/** Whether the agent of the place has asked for a shared lease anywhere, which the other, asked for as well, is no obstacle to. */
function asksToShare({ waiters }: Line, { request }: ModelPlace, other: ModelPlace): boolean {
  const shared = waiters.filter((waiter) => waiter.request.isLease && waiter.mode === 'shared')
  return other.mode === 'shared' && shared.some((waiter) => waiter.request.agentId === request.agentId)
}

export function only(places: readonly ModelPlace[]): ModelPlace {
  const [place] = places
  if (place === undefined) throw new Error('a request without a key')
  return place
}
