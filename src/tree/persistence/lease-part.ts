// The leases, with their fencing tokens and the connections with which they end.
import { lockKey } from '../../engine/files/lock-key.ts'
import { systemClock } from '../../engine/locks/clock.ts'
import type { Lease, LeaseState } from '../../engine/locks/lock.ts'
import type { LockManager } from '../../engine/locks/lock-manager.ts'
import type { LeaseRequest } from '../../engine/locks/lease-request.ts'
import type { Logger } from '../../support/logger.ts'
import type { LostLeases } from '../../engine/leases/lost-leases.ts'
import { hasTypes, isFields } from '../../support/json-fields.ts'
import { isStamp, shiftOf, stampNow, type Stamp } from './kept-time.ts'
import type { Change, PersistedPart } from './part.ts'

/** Without the key, which follows from the path. */
type Kept = Omit<LeaseState, 'key'> & Stamp

interface Ended {
  readonly fencingToken: number
  readonly isEnded: true
}

export interface LeasePart extends PersistedPart {
  /** The lease that was restored to an agent on a path. */
  readonly restored: (agentId: string, path: string) => LeaseRequest | undefined
}

interface Parts {
  readonly locks: LockManager
  readonly lostLeases: LostLeases
  readonly log: Logger
}

export function createLeasePart({ locks, lostLeases, log }: Parts): LeasePart {
  /** By fencing token: the part of the record that must not be lost. */
  const written = new Map<number, string>()
  const requests = new Map<string, LeaseRequest>()
  let isRestoring = false
  let notify: (change: Change) => void = () => {}

  function note(lease: Lease): void {
    const { fencingToken, isHeld } = lease
    // A place that is given up never had one.
    if (isRestoring || fencingToken === undefined || (!isHeld && !written.has(fencingToken))) return
    const state = `${lease.mode} ${lease.isParked} ${lease.note ?? ''} ${lease.connection ?? ''} ${lease.names.join('\0')}`
    const isUrgent = !isHeld || written.get(fencingToken) !== state
    if (isHeld) written.set(fencingToken, state)
    else written.delete(fencingToken)
    // If the lease only lasts longer, losing that makes it end a moment earlier.
    notify({ key: fencingToken, records: () => [lease.isHeld ? toKept(lease) : ended(fencingToken)], isUrgent })
  }

  function restoreLease(kept: Kept): boolean {
    const request = locks.leases.restore({ ...kept, key: lockKey(kept.path) })
    if (request?.lease === undefined) return false
    requests.set(idOf(kept.agentId, kept.path), request)
    written.set(kept.fencingToken, '')
    return true
  }

  /** The holder gets the same notice of a lease that ended while no process ran as it would have got then. */
  function lose(kept: Kept): void {
    const isExpired = kept.expiresAt <= systemClock.now()
    const end = isExpired
      ? { cause: 'expired' as const }
      : { cause: 'broken' as const, reason: notRestored, by: undefined }
    // A parked lease: its holder never heard of the grant.
    if (!kept.isParked) lostLeases.record(kept, end, isExpired ? kept.expiresAt : Date.now())
    notify({ key: kept.fencingToken, records: () => [ended(kept.fencingToken)] })
  }

  return {
    name: 'lease',
    isNeededAtOnce: true,
    restored: (agentId, path) => requests.get(idOf(agentId, path)),
    dump: () => Array.from(locks.leases.all(), toKept),
    restore(records) {
      const leases = new Map<number, Kept>()
      for (const record of records) {
        if (isEnded(record)) leases.delete(record.fencingToken)
        else if (isKept(record)) leases.set(record.fencingToken, toOwnClock(record))
      }
      isRestoring = true
      const lost = [...leases.values()].filter((kept) => !restoreLease(kept))
      isRestoring = false
      for (const kept of lost) lose(kept)
      if (leases.size > 0) log.info({ restored: leases.size - lost.length, ended: lost.length }, 'leases restored')
    },
    onChange(next) {
      notify = next
      return locks.leases.onChange(note)
    }
  }
}

const notRestored = 'the server was restarted, and the file is taken'

function idOf(agentId: string, path: string): string {
  return `${agentId}\0${path}`
}

function toOwnClock(kept: Kept): Kept {
  const shift = shiftOf(kept)
  return { ...kept, acquiredAt: kept.acquiredAt + shift, expiresAt: kept.expiresAt + shift }
}

function toKept(lease: Lease): Kept {
  const { path, names, agentId, mode, operation, note, connection, fencingToken, ttlMs, graceMs } = lease
  const { acquiredAt, expiresAt, isParked } = lease
  return {
    path,
    ...(names.length > 0 && { names }),
    agentId,
    mode,
    operation,
    note,
    ...(connection !== undefined && { connection }),
    fencingToken,
    ttlMs,
    graceMs,
    acquiredAt,
    expiresAt,
    isParked,
    ...stampNow()
  }
}

function ended(fencingToken: number): Ended {
  return { fencingToken, isEnded: true }
}

const endedTypes = { fencingToken: 'number', isEnded: 'boolean' } as const

function isEnded(record: unknown): record is Ended {
  return hasTypes(record, endedTypes)
}

const texts = { path: 'string', agentId: 'string', operation: 'string', mode: 'string', isParked: 'boolean' } as const
const numbers = {
  fencingToken: 'number',
  ttlMs: 'number',
  graceMs: 'number',
  acquiredAt: 'number',
  expiresAt: 'number'
} as const

function isKept(record: unknown): record is Kept {
  if (!isFields(record) || !hasTypes(record, texts) || !hasTypes(record, numbers)) return false
  const { names, connection } = record
  if (connection !== undefined && typeof connection !== 'string') return false
  if (names !== undefined && !(Array.isArray(names) && names.every((name) => typeof name === 'string'))) return false
  return isStamp(record)
}
