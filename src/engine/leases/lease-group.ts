// The files of one lock_try or lock_wait: requested together, in canonical order, each with its own outcome.
import type { Report } from '../../support/progress.ts'
import type { LockResult } from '../../../schemas/leases.ts'
import { OperationError, toOperationError } from '../../errors.ts'
import type { LeaseRequest } from '../locks/lease-request.ts'
import type { LeaseWaitOptions } from '../locks/lock.ts'
import { lockKey } from '../files/lock-key.ts'
import type { LockManager } from '../locks/lock-manager.ts'
import type { LostLeases } from './lost-leases.ts'
import type { GroupOptions, GroupState } from './group-state.ts'
import { toRequest, type LockFile } from './lease-requests.ts'
import { covers, describeHeld, describeMissing, positionReporter } from './lock-result.ts'

interface Wait extends Pick<LeaseWaitOptions, 'timeoutMs' | 'graceMs' | 'connection'> {
  readonly signal: AbortSignal
  readonly progress: Report | undefined
  /** Called for each file that was not free at once, when the wait for it is over. */
  readonly onWaited: (path: string, ms: number) => void
}

interface Member {
  readonly file: LockFile
  /** Undefined if nothing was requested, since the lease was not free. */
  request: LeaseRequest | undefined
  /** True once the agent knows that the lease is its own: then it is given back only on request. */
  isTold: boolean
  /** True once the agent has given it up: it is not requested again, and not restored. */
  isGivenUp: boolean
}

type Explain = (file: LockFile) => Pick<LockResult, 'message'>
type Parts = { readonly locks: LockManager; readonly lostLeases: LostLeases }

export class LeaseGroup {
  readonly options: GroupOptions
  readonly #locks: LockManager
  readonly #lostLeases: LostLeases
  #members: Member[]

  constructor(files: readonly LockFile[], options: GroupOptions, { locks, lostLeases }: Parts) {
    this.options = options
    this.#locks = locks
    this.#lostLeases = lostLeases
    this.#members = files.map(toMember)
  }

  /** @param requestOf the request for a file, restored in the lock table before */
  static restore(
    { options, members }: GroupState,
    requestOf: (file: LockFile) => LeaseRequest | undefined,
    parts: Parts
  ): LeaseGroup {
    const group = new LeaseGroup([], options, parts)
    group.#members = members.map(({ filepath, path, name, isTold }) => {
      const key = lockKey(path)
      const file = { filepath, path, key, name }
      return { ...toMember(file), request: requestOf(file), isTold }
    })
    return group
  }

  get state(): GroupState {
    const { connection: _, ...options } = this.options
    const members = this.#wanted.map(({ file: { filepath, path, name }, request, isTold }) => {
      const place = request?.placeState
      const kept = place && {
        graceMs: place.graceMs,
        queuedAt: place.queuedAt,
        order: place.order,
        keptUntil: place.keptUntil
      }
      return {
        filepath,
        path,
        ...(name !== undefined && { name }),
        // The group has only joined a lease that its agent had: no end of the group takes that.
        isTold: isTold || request?.hasJoinedLease === true,
        place: kept,
        isGranted: request?.lease?.isHeld === true
      }
    })
    return { options, members }
  }

  /** True while a request of the group waits, or the lease it was granted is held. */
  get isAlive(): boolean {
    return this.#wanted.some(({ request }) => request !== undefined && isAlive(request))
  }

  /** True while a request of the group waits in a queue. */
  get isWaiting(): boolean {
    return this.#waiting > 0
  }

  /** The files, as they were spelt, that the agent has given up while it waited for them. */
  get givenUp(): string[] {
    return this.#members.filter(({ isGivenUp }) => isGivenUp).map(({ file }) => file.filepath)
  }

  /** True if the agent holds every file. */
  get isComplete(): boolean {
    return this.#members.every((member) => this.#isHeld(member))
  }

  /** Takes what is free right now, and waits for nothing. @throws OperationError if a lease cannot be granted at all */
  take(): void {
    const { mode, allOrNothing } = this.options
    const requests = this.#members.map(({ file }) => toRequest(file, mode))
    if (allOrNothing && !requests.every((request) => this.#locks.leases.isFree(request, this.options))) return
    for (const [index, member] of this.#members.entries()) {
      member.request = this.#locks.leases.tryRequest(requests[index]!, this.options)
      this.#failIfRefused(member)
    }
  }

  /**
   * Waits for every file that is not held yet. Files requested before keep their places; files given up before are left out.
   * @throws OperationError DEADLOCK, OVERLOADED or CANCELLED; then this group gives back what it has taken
   */
  async wait({ timeoutMs, graceMs, connection, signal, progress, onWaited }: Wait): Promise<void> {
    // Places that were kept until now are kept for no other call.
    if (signal.aborted) this.undo(signal.reason)
    signal.throwIfAborted()
    this.#members = this.#wanted
    for (const member of this.#members) {
      const { file, request } = member
      const onPosition = progress && positionReporter(file, this.#members.length, progress)
      const call = { timeoutMs, graceMs, connection, onPosition }
      if (request !== undefined && isAlive(request)) request.resume(call)
      // The agent may not want again a lease that it knew to hold and has lost.
      else if (!member.isTold)
        member.request = this.#locks.leases.request(toRequest(file, this.options.mode), { ...this.options, ...call })
      this.#failIfRefused(member)
    }
    const leave = () => this.undo(signal.reason)
    signal.addEventListener('abort', leave, { once: true })
    try {
      await Promise.all(
        this.#members.map(async (member) => {
          if (member.request?.isWaiting === true) {
            const start = performance.now()
            await member.request.settled()
            onWaited(member.file.path, performance.now() - start)
          }
          // The agent can no longer get all of them.
          if (member.isGivenUp && this.options.allOrNothing) this.leave()
          this.#failIfRefused(member)
          // The first lease must still be held when the last one is granted.
          member.request?.keepFor(timeoutMs)
        })
      )
    } finally {
      signal.removeEventListener('abort', leave)
    }
    signal.throwIfAborted()
  }

  /**
   * What the agent is told after a wait; from now on its leases last as long as it asked for. A look at the leases ends what is overdue, which
   * may grant a kept place: then all are looked at again.
   */
  conclude(explain?: Explain): LockResult[] {
    for (;;) {
      const waiting = this.#waiting
      this.#begin()
      const results = this.results(explain)
      if (this.#waiting === waiting) return results
    }
  }

  /** True if the wait was cut, and places are kept. */
  get isParked(): boolean {
    return this.keptUntil !== undefined
  }

  /** When the first of the kept places ends, in milliseconds since 1970; undefined if none is kept. */
  get keptUntil(): number | undefined {
    const kept = this.#members.flatMap(({ request }) => (request?.isParked === true && request.placeState) || [])
    return kept.length === 0 ? undefined : Math.min(...kept.map(({ keptUntil }) => keptUntil))
  }

  /** Keeps only the places of these files, and of the others the leases that the agent knows of. New files are requested with the next wait. */
  narrow(files: readonly LockFile[]): void {
    const known = new Map(this.#wanted.map((member) => [member.file.key, member]))
    this.#members = files.map((file) => known.get(file.key) ?? toMember(file))
    for (const { key } of files) known.delete(key)
    undoUnreported(known.values())
  }

  /** Leaves the queues of these files, or all, and requests them no more; held leases stay. @param names or keys */
  leave(names?: ReadonlySet<string>): void {
    const isMeant = ({ file }: Member) => names === undefined || names.has(file.key) || names.has(file.name ?? file.key)
    for (const member of this.#members.filter(isMeant)) {
      member.isGivenUp = true
      member.request?.cancel()
    }
  }

  /** Leaves every queue, and gives back the group's leases that the agent does not know of. */
  undo(cause?: unknown): void {
    undoUnreported(this.#members, cause)
  }

  /** @param explain gives the message for a held lease */
  results(explain: Explain = () => ({})): LockResult[] {
    return this.#members.map((member) => {
      const result = this.#describe(member)
      return result.acquired ? { ...result, ...explain(member.file) } : result
    })
  }

  get #wanted(): Member[] {
    return this.#members.filter(({ isGivenUp }) => !isGivenUp)
  }

  get #waiting(): number {
    return this.#wanted.filter(({ request }) => request?.isWaiting === true).length
  }

  #begin(): void {
    if (this.options.allOrNothing && !this.isParked && !this.isComplete) return this.undo()
    for (const member of this.#members) {
      if (member.request?.lease !== undefined) member.request.begin()
      if (!this.options.allOrNothing) member.isTold ||= this.#isHeld(member)
      else if (this.isParked) member.request?.keepForGrace()
    }
  }

  #isHeld({ file }: Member): boolean {
    const lease = this.#locks.leases.find(file.key, this.options.agentId)
    return lease !== undefined && covers(lease, this.options.mode)
  }

  #failIfRefused({ file, request, isGivenUp }: Member): void {
    const error = request?.error
    if (error === undefined || isGivenUp || (error instanceof OperationError && error.code === 'LOCK_TIMEOUT')) return
    this.undo()
    const { code, message, details, cause } = toOperationError(error)
    throw new OperationError(code, message, { path: file.filepath, details, cause })
  }

  #describe({ file, request }: Member): LockResult {
    const lease = this.#locks.leases.find(file.key, this.options.agentId)
    if (lease === undefined || !covers(lease, this.options.mode))
      return describeMissing(file, this.options.agentId, this.#locks.status(file.key), request?.isWaiting === true)
    this.#lostLeases.forget(this.options.agentId, file.key)
    return describeHeld(file, lease)
  }
}

function toMember(file: LockFile): Member {
  return { file, request: undefined, isTold: false, isGivenUp: false }
}

function undoUnreported(members: Iterable<Member>, cause?: unknown): void {
  for (const { request, isTold } of members) if (!isTold) request?.undo(cause)
}

function isAlive({ isWaiting, lease }: LeaseRequest): boolean {
  return isWaiting || lease?.isHeld === true
}
