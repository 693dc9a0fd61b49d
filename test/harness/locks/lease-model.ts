// The lock table written a second time, as plainly as its rules read: lists, no shortcuts, every question asked anew. Random
// histories run through it and through the real one side by side.
import type { LockMode } from '../../../src/engine/locks/lock.ts'
import { assertStuck, findCircles } from './lease-model-graph.ts'
import {
  blockersIn,
  only,
  type Circle,
  type Line,
  type ModelRequest,
  type ModelPlace,
  type ModelTable
} from './lease-rules.ts'

export interface Ask {
  readonly name: string
  readonly agentId: string | undefined
  readonly isLease: boolean
  readonly keys: readonly { readonly key: string; readonly mode: LockMode }[]
  readonly timeoutMs: number
  readonly ttlMs: number
  readonly graceMs: number
}

export class LeaseModel implements ModelTable {
  readonly lines = new Map<string, Line>()
  readonly requests: ModelRequest[] = []
  readonly ends: string[] = []
  readonly leasesBind: boolean
  now: number
  #tokens = 0
  #armings = 0

  constructor(now: number, leasesBind: boolean) {
    this.now = now
    this.leasesBind = leasesBind
  }

  ask({ name, agentId, isLease, keys, timeoutMs, ttlMs, graceMs }: Ask): void {
    const places: ModelPlace[] = []
    const request: ModelRequest = {
      name,
      agentId,
      isLease,
      places,
      asked: keys[0]?.mode ?? 'shared',
      graceMs,
      ttlMs,
      timeoutAt: this.now + timeoutMs,
      granted: 0,
      state: 'waiting',
      isParked: false,
      token: undefined,
      endsAt: undefined,
      armed: 0,
      lease: undefined,
      claims: [],
      latest: undefined,
      replaced: undefined,
      code: undefined,
      circle: undefined
    }
    for (const { key, mode } of keys) places.push({ request, key, mode })
    places.sort((one, other) => (one.key < other.key ? -1 : 1))
    this.requests.push(request)
    this.#enter(request)
    if (request.state === 'waiting') this.#arm(request, request.timeoutAt)
  }

  leaseOf(key: string, agentId: string | undefined): ModelRequest | undefined {
    if (agentId === undefined) return undefined
    return this.#line(key).holders.find(({ request }) => request.isLease && request.agentId === agentId)?.request
  }

  leasesOf(agentId: string): ModelRequest[] {
    const leases = this.requests.filter((request) => request.isLease && request.agentId === agentId)
    return leases.filter(({ state }) => state === 'held').sort((one, other) => (one.token ?? 0) - (other.token ?? 0))
  }

  release(request: ModelRequest): void {
    if (request.state === 'held') this.#remove(request)
  }

  releaseKey(request: ModelRequest, key: string): void {
    const others = request.places.filter((place) => place.key !== key)
    if (!others.some((place) => this.#line(place.key).holders.includes(place))) return this.release(request)
    const line = this.#line(key)
    line.holders = line.holders.filter((holder) => holder.request !== request)
    this.#promote(key)
  }

  cancel(request: ModelRequest): void {
    this.#fail(request, 'CANCELLED')
  }

  undo(request: ModelRequest): void {
    this.cancel(request)
    const { lease } = request
    const claim = lease?.claims.indexOf(request) ?? -1
    if (lease === undefined || claim === -1) return
    lease.claims.splice(claim, 1)
    if (lease.state !== 'held') return
    if (lease.latest === request) Object.assign(lease, request.replaced)
    if (lease.claims.length === 0) return this.release(lease)
    if (lease.claims.some(({ asked }) => asked === 'exclusive')) return
    const place = only(lease.places)
    place.mode = 'shared'
    this.#promote(place.key)
  }

  breakLeases(key: string): void {
    for (const { request } of this.#line(key).holders.filter((holder) => holder.request.isLease)) {
      if (request.state !== 'held') continue
      this.#remove(request)
      this.ends.push(`${request.agentId} lost ${key}: broken`)
    }
  }

  renew(lease: ModelRequest, ttlMs: number): void {
    lease.ttlMs = ttlMs
    this.#arm(lease, this.now + ttlMs)
  }

  resume(request: ModelRequest, timeoutMs: number): void {
    const { lease } = request
    request.isParked = false
    request.timeoutAt = this.now + timeoutMs
    if (lease?.state === 'held') this.#prolong(lease, this.now + lease.ttlMs)
    if (request.state === 'waiting') this.#arm(request, request.timeoutAt)
  }

  advance(ms: number): void {
    const until = this.now + ms
    for (;;) {
      const due = this.requests.filter(({ endsAt }) => endsAt !== undefined && endsAt <= until)
      const [next] = due.sort((one, other) => (one.endsAt ?? 0) - (other.endsAt ?? 0) || one.armed - other.armed)
      if (next === undefined) break
      this.now = next.endsAt ?? this.now
      next.endsAt = undefined
      this.#end(next)
    }
    this.now = until
  }

  #end(request: ModelRequest): void {
    if (request.state === 'held') {
      this.#remove(request)
      if (request.isLease) this.ends.push(`${request.agentId} lost ${only(request.places).key}: expired`)
    } else if (request.isLease && !request.isParked && request.graceMs > 0) {
      request.isParked = true
      request.timeoutAt += request.graceMs
      this.#arm(request, request.timeoutAt)
    } else this.#fail(request, 'LOCK_TIMEOUT')
  }

  #enter(request: ModelRequest): void {
    for (let place = request.places[request.granted]; place !== undefined; place = request.places[request.granted]) {
      const own = this.leaseOf(place.key, request.agentId)
      if (own !== undefined) this.#prolong(own, this.now + own.ttlMs)
      if (own !== undefined && request.isLease && (place.mode === 'shared' || only(own.places).mode === 'exclusive'))
        return this.#join(request, own)
      const line = this.#line(place.key)
      if (blockersIn(this, line, place).length > 0 || isBehindOperations(line, request))
        return this.#wait(request, place, line)
      line.holders.push(place)
      request.granted += 1
    }
    this.#grant(request)
  }

  #wait(request: ModelRequest, place: ModelPlace, line: Line): void {
    if (this.now >= request.timeoutAt) return this.#fail(request, 'LOCK_TIMEOUT')
    line.waiters.push(place)
    const circle = this.#circleThrough(place)
    if (circle === undefined) return
    line.waiters.pop()
    this.#fail(request, 'DEADLOCK')
  }

  #circleThrough(place: ModelPlace): Circle | undefined {
    const circle = findCircles(this, place)
    if (circle !== undefined) assertStuck(this, place)
    return (place.request.circle = circle)
  }

  #grant(request: ModelRequest): void {
    const [place] = request.places
    const holders = request.isLease && place !== undefined ? this.#line(place.key).holders : []
    const own = holders.find(
      (holder) => holder.request.isLease && holder !== place && holder.request.agentId === request.agentId
    )
    if (own !== undefined && place !== undefined) {
      holders.splice(holders.indexOf(place), 1)
      return this.#join(request, own.request)
    }
    this.#tokens += 1
    request.token = this.#tokens
    request.state = 'held'
    if (request.isLease) {
      request.lease = request
      request.claims.push(request)
    }
    this.#arm(request, this.now + lifetime(request))
    if (request.isLease && place !== undefined) this.#promote(place.key)
  }

  /** An agent has one lease on a key: whatever more it asks for changes that one. */
  #join(request: ModelRequest, own: ModelRequest): void {
    const place = only(own.places)
    const isStronger = request.asked === 'exclusive' && place.mode === 'shared'
    if (isStronger) place.mode = 'exclusive'
    own.claims.push(request)
    request.replaced = { ttlMs: own.ttlMs, latest: own.latest }
    own.latest = request
    own.ttlMs = request.ttlMs
    this.#prolong(own, this.now + lifetime(request))
    request.lease = own
    request.state = 'gone'
    request.endsAt = undefined
    if (isStronger) this.#promote(place.key)
  }

  #fail(request: ModelRequest, code: string): void {
    if (request.state !== 'waiting') return
    request.code = code
    this.#remove(request)
  }

  #remove(request: ModelRequest): void {
    request.state = 'gone'
    request.endsAt = undefined
    const keys = request.places.map(({ key }) => key).filter((key) => this.#takeOut(request, key))
    for (const key of keys) this.#promote(key)
  }

  #takeOut(request: ModelRequest, key: string): boolean {
    const line = this.#line(key)
    const isOther = (place: ModelPlace) => place.request !== request
    const before = line.holders.length + line.waiters.length
    line.holders = line.holders.filter(isOther)
    line.waiters = line.waiters.filter(isOther)
    return line.holders.length + line.waiters.length < before
  }

  #promote(key: string): void {
    const line = this.#line(key)
    for (;;) {
      const next = line.waiters.find((place) => blockersIn(this, line, place).length === 0)
      if (next !== undefined) {
        line.waiters = line.waiters.filter((place) => place !== next)
        line.holders.push(next)
        next.request.granted += 1
        this.#enter(next.request)
        continue
      }
      const lengthOf = (place: ModelPlace) =>
        this.#isWaitedFor(place.request) ? (this.#circleThrough(place)?.shortest ?? Infinity) : Infinity
      const [victim] = line.waiters
        .map((place) => ({ place, length: lengthOf(place) }))
        .filter(({ length }) => length < Infinity)
        .sort((one, other) => one.length - other.length)
      if (victim === undefined) return
      this.#fail(victim.place.request, 'DEADLOCK')
    }
  }

  /** Apart from standing in this line, which no circle can close by. */
  #isWaitedFor(request: ModelRequest): boolean {
    const isHolder = this.requests.some(
      (other) => other.isLease && other !== request && other.agentId === request.agentId && other.state !== 'gone'
    )
    return request.granted > 0 || isHolder
  }

  #line(key: string): Line {
    const line = this.lines.get(key) ?? { holders: [], waiters: [] }
    this.lines.set(key, line)
    return line
  }

  #arm(request: ModelRequest, endsAt: number): void {
    this.#armings += 1
    request.armed = this.#armings
    request.endsAt = endsAt
  }

  #prolong(lease: ModelRequest, endsAt: number): void {
    if (lease.endsAt === undefined || endsAt > lease.endsAt) this.#arm(lease, endsAt)
  }
}

/** Who waits there is about to run, in this very turn: the order of the line is kept even then. */
function isBehindOperations({ holders, waiters }: Line, { isLease }: ModelRequest): boolean {
  return waiters.length > 0 && !isLease && ![...holders, ...waiters].some(({ request }) => request.isLease)
}

function lifetime({ isLease, isParked, ttlMs, graceMs }: ModelRequest): number {
  return isLease && isParked ? Math.min(ttlMs, graceMs) : ttlMs
}
