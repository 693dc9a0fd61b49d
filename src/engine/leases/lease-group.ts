// The files of one lock_try or lock_wait: asked for together, in canonical order, each with its own outcome.
import type { LockResult } from '../../../schemas/locks.ts'
import { OperationError, toOperationError } from '../../errors.ts'
import type { LeaseRequest } from '../locks/lease-request.ts'
import type { LeaseOptions, LeaseWaitOptions, LockMode, PlaceState } from '../locks/lock.ts'
import { lockKey } from '../files/lock-key.ts'
import type { LockManager } from '../locks/lock-manager.ts'
import type { LostLeases } from './lost-leases.ts'
import { timestamp } from '../../support/timestamp.ts'
import { mainHolder, nameOf, toRequest, type LockFile } from './lease-requests.ts'

export interface GroupOptions extends LeaseOptions {
  readonly mode: LockMode
  readonly allOrNothing: boolean
}

interface Wait extends Pick<LeaseWaitOptions, 'timeoutMs' | 'graceMs' | 'connection'> {
  readonly signal: AbortSignal
  readonly progress: ((message: string) => void) | undefined
}

interface Member {
  readonly file: LockFile
  /** Undefined where nothing was asked for, since it was not free. */
  request: LeaseRequest | undefined
  /** True once the agent has been told that the lease is its: then it is not given back without being asked. */
  isTold: boolean
  /** True once the agent has given it up: it is not asked for again, and not restored. */
  isGivenUp: boolean
}

/** One file of a group, as it outlives the process. */
export interface MemberState {
  readonly filepath: string
  /** Canonical. */
  readonly path: string
  /** Comparable with other spellings; undefined where it is that of the path. */
  readonly name?: string | undefined
  readonly isTold: boolean
  /** Undefined where nobody waits in it any more. */
  readonly place: Pick<PlaceState, 'graceMs' | 'queuedAt' | 'order' | 'keptUntil'> | undefined
  /** True where the group has brought a lease. */
  readonly isGranted: boolean
}

/** A group as it outlives the process; its connection does not. */
export interface GroupState {
  readonly options: Omit<GroupOptions, 'connection'>
  readonly members: readonly MemberState[]
}

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

  /** @param requestOf what stands in the lock table for a file, put back there before */
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
        isTold,
        place: kept,
        isGranted: request?.lease?.isHeld === true
      }
    })
    return { options, members }
  }

  /** True while somebody waits, or has been granted something that nobody has come for yet. */
  get isAlive(): boolean {
    return this.#wanted.some(({ request }) => request !== undefined && isAlive(request))
  }

  /** The files, as they were spelt, that the agent has given up while it waited for them. */
  get givenUp(): string[] {
    return this.#members.filter(({ isGivenUp }) => isGivenUp).map(({ file }) => file.filepath)
  }

  /** True where the agent holds every one of the files. */
  get isComplete(): boolean {
    return this.#members.every((member) => this.#isHeld(member))
  }

  /** Takes what is free right now, and waits for nothing. @throws OperationError where a lease cannot be given at all */
  take(): void {
    const { mode, allOrNothing } = this.options
    const requests = this.#members.map(({ file }) => toRequest(file, mode))
    if (allOrNothing && !requests.every((request) => this.#locks.isLeasable(request, this.options))) return
    for (const [index, member] of this.#members.entries()) {
      member.request = this.#locks.tryLease(requests[index]!, this.options)
      this.#failIfRefused(member)
    }
  }

  /**
   * Waits for every file that is not held yet; those asked for before keep their places, and those given up before are left out.
   * @throws OperationError DEADLOCK, OVERLOADED or CANCELLED; what this group has taken is given back then
   */
  async wait({ timeoutMs, graceMs, connection, signal, progress }: Wait): Promise<void> {
    signal.throwIfAborted()
    this.#members = this.#wanted
    for (const member of this.#members) {
      const { file, request } = member
      const onPosition = progress && positionTeller(file, this.#members.length, progress)
      const call = { timeoutMs, graceMs, connection, onPosition }
      if (request !== undefined && isAlive(request)) request.resume(call)
      // What the agent knew to be its own, and has lost, it may not want again.
      else if (!member.isTold)
        member.request = this.#locks.requestLease(toRequest(file, this.options.mode), { ...this.options, ...call })
      this.#failIfRefused(member)
    }
    const leave = () => this.undo(signal.reason)
    signal.addEventListener('abort', leave, { once: true })
    try {
      await Promise.all(
        this.#members.map(async (member) => {
          await member.request?.settled()
          // All cannot be had any more.
          if (member.isGivenUp && this.options.allOrNothing) this.leave()
          this.#failIfRefused(member)
          // Whatever comes first must still be there when the last has come.
          member.request?.keepFor(timeoutMs)
        })
      )
    } finally {
      signal.removeEventListener('abort', leave)
    }
    signal.throwIfAborted()
    if (this.options.allOrNothing && !this.isParked && !this.isComplete) return this.undo()
    for (const member of this.#members) {
      if (member.request?.lease !== undefined) member.request.begin()
      if (!this.options.allOrNothing) member.isTold ||= this.#isHeld(member)
      else if (this.isParked) member.request?.keepForGrace()
    }
  }

  /** True where the wait was cut, and places are kept. */
  get isParked(): boolean {
    return this.#members.some(({ request }) => request?.isWaiting === true && request.isParked)
  }

  /** Keeps the places of these files alone, and of the others what the agent has been told; files that are new to the group will be asked for. */
  narrow(files: readonly LockFile[]): void {
    const known = new Map(this.#wanted.map((member) => [member.file.key, member]))
    this.#members = files.map((file) => known.get(file.key) ?? toMember(file))
    for (const { key } of files) known.delete(key)
    undoUntold(known.values())
  }

  /** Leaves the queues of these files, or all, and asks for them no more; what is held stays. @param names or keys */
  leave(names?: ReadonlySet<string>): void {
    const isMeant = ({ file }: Member) => names === undefined || names.has(file.key) || names.has(file.name ?? file.key)
    for (const member of this.#members.filter(isMeant)) {
      member.isGivenUp = true
      member.request?.cancel()
    }
  }

  /** Leaves every queue, and gives back what the group has brought. */
  undo(cause?: unknown): void {
    undoUntold(this.#members, cause)
  }

  /** @param explain what there is to say of a lease that is held */
  results(explain: (file: LockFile) => Pick<LockResult, 'message'> = () => ({})): LockResult[] {
    return this.#members.map((member) => {
      const result = this.#describe(member)
      return result.acquired ? { ...result, ...explain(member.file) } : result
    })
  }

  get #wanted(): Member[] {
    return this.#members.filter(({ isGivenUp }) => !isGivenUp)
  }

  #isHeld({ file }: Member): boolean {
    const lease = this.#locks.leaseOf(file.key, this.options.agentId)
    return lease !== undefined && (lease.mode === 'exclusive' || this.options.mode === 'shared')
  }

  #failIfRefused({ file, request, isGivenUp }: Member): void {
    const error = request?.error
    if (error === undefined || isGivenUp || (error instanceof OperationError && error.code === 'LOCK_TIMEOUT')) return
    this.undo()
    const { code, message, details, cause } = toOperationError(error)
    throw new OperationError(code, message, { path: file.filepath, details, cause })
  }

  #describe(member: Member): LockResult {
    const { filepath, key } = member.file
    const { agentId } = this.options
    const lease = this.#locks.leaseOf(key, agentId)
    if (lease !== undefined && this.#isHeld(member)) {
      const { mode, fencingToken, expiresAt } = lease
      this.#lostLeases.forget(agentId, key)
      return {
        filepath,
        acquired: true,
        holder: null,
        mode,
        fencing_token: fencingToken,
        expires_at: timestamp(expiresAt)
      }
    }
    const status = this.#locks.status(key)
    const holder = mainHolder(
      { ...status, holders: status.holders.filter((other) => other.agentId !== agentId || !other.isLease) },
      agentId
    )
    const place =
      member.request?.isWaiting === true
        ? status.waiters.findIndex((waiter) => waiter.isLease && waiter.agentId === agentId)
        : -1
    return {
      filepath,
      acquired: false,
      holder: nameOf(holder),
      ...(holder?.note !== undefined && { holder_note: holder.note }),
      ...(holder !== undefined && {
        held_since: timestamp(holder.acquiredAt),
        held_until: holder.expiresAt === undefined ? null : timestamp(holder.expiresAt)
      }),
      position: place === -1 ? status.depth + 1 : place + 1,
      queue_depth: status.depth
    }
  }
}

function toMember(file: LockFile): Member {
  return { file, request: undefined, isTold: false, isGivenUp: false }
}

function undoUntold(members: Iterable<Member>, cause?: unknown): void {
  for (const { request, isTold } of members) if (!isTold) request?.undo(cause)
}

function isAlive({ isWaiting, lease }: LeaseRequest): boolean {
  return isWaiting || lease?.isHeld === true
}

function positionTeller({ filepath }: LockFile, files: number, progress: (message: string) => void) {
  const suffix = files === 1 ? '' : ` for ${filepath}`
  return (position: number, total: number) => progress(`position ${position} of ${total}${suffix}`)
}
