// Leases that ended without a release: the holder learns of it with its next answer, and does not write on unawares.
import { LRUCache } from 'lru-cache'
import type { Notice } from '../../../schemas/notices.ts'
import { lockKey } from '../files/lock-key.ts'
import { quote, quoteName } from '../locks/quote.ts'
import type { Lease, LeaseEnd } from '../locks/lock.ts'
import { timestamp } from '../../support/timestamp.ts'
import { createListeners } from '../../support/listeners.ts'

export interface LostLease {
  readonly path: string
  readonly fencingToken: number
  readonly end: LeaseEnd
  /** Milliseconds since the epoch. */
  readonly at: number
  isTold: boolean
  /** True once the agent has read the file after the loss. */
  isRead: boolean
}

interface Losses {
  /** By key. Kept until the agent knows of it and has read the file, or has a new lease, or has released it. */
  readonly byKey: Map<string, LostLease>
  /** Not yet reported. */
  readonly unreported: LostLease[]
}

/** As it outlives the process. */
export interface LossState extends LostLease {
  readonly agentId: string
}

/** Notices in one answer; of more only the count. */
const maxNotices = 5
/** Limits of agents, and of losses for each agent: beyond these the oldest are forgotten. */
const maxAgents = 1000
const maxLosses = 1000

export type LostLeases = ReturnType<typeof createLostLeases>

/** @param rememberMs how long an agent is kept from writing on, in milliseconds; 0 remembers nothing */
export function createLostLeases(rememberMs: number) {
  const agents = new LRUCache<string, Losses>({ max: maxAgents, ttl: Math.max(1, rememberMs) })
  const { add: onChange, call: notify } = createListeners<[agentId: string, key: string]>()

  /** Nearly always no agent has lost anything. */
  function lossesOf(agentId: string | undefined): Losses | undefined {
    return agentId === undefined || agents.size === 0 ? undefined : agents.get(agentId)
  }

  function record(lease: Pick<Lease, 'path' | 'agentId' | 'fencingToken'>, end: LeaseEnd, at = Date.now()): void {
    const { path, agentId, fencingToken } = lease
    if (rememberMs === 0) return
    add(agentId, { path, fencingToken, end, at, isTold: false, isRead: false })
    notify(agentId, lockKey(path))
  }

  function add(agentId: string, loss: LostLease): void {
    const losses = lossesOf(agentId) ?? { byKey: new Map<string, LostLease>(), unreported: [] }
    const key = lockKey(loss.path)
    losses.byKey.delete(key)
    losses.byKey.set(key, loss)
    if (!loss.isTold) losses.unreported.push(loss)
    const [oldest] = losses.byKey.keys()
    if (losses.byKey.size > maxLosses && oldest !== undefined) losses.byKey.delete(oldest)
    if (losses.unreported.length > maxLosses) losses.unreported.shift()
    agents.set(agentId, losses)
  }

  return {
    record,
    /** The losses that this agent does not know of yet; from now on they count as reported. */
    takeNotices(agentId: string | undefined): { notices: Notice[]; further_notices?: number } | undefined {
      const unreported = lossesOf(agentId)?.unreported.splice(0)
      if (unreported === undefined || unreported.length === 0) return undefined
      for (const loss of unreported) {
        loss.isTold = true
        notify(agentId as string, lockKey(loss.path))
      }
      const further = unreported.length - maxNotices
      return {
        notices: unreported.slice(0, maxNotices).map(toNotice),
        ...(further > 0 && { further_notices: further })
      }
    },
    /** The lease on the key that this agent has lost, and may still believe it holds. */
    find(agentId: string | undefined, key: string): LostLease | undefined {
      const loss = lossesOf(agentId)?.byKey.get(key)
      return loss?.isTold === true && loss.isRead ? undefined : loss
    },
    /** The agent has read the current file. */
    read(agentId: string | undefined, key: string): void {
      const loss = lossesOf(agentId)?.byKey.get(key)
      if (loss === undefined) return
      loss.isRead = true
      notify(agentId as string, key)
    },
    /** The agent is refused because of the loss, and so learns of it. */
    refuse(agentId: string, key: string): void {
      const losses = lossesOf(agentId)
      const loss = losses?.byKey.get(key)
      if (losses === undefined || loss === undefined) return
      loss.isTold = true
      const place = losses.unreported.indexOf(loss)
      if (place !== -1) losses.unreported.splice(place, 1)
      notify(agentId, key)
    },
    /** The agent has a new lease, or wants none any more. @param key undefined means all */
    forget(agentId: string, key?: string): void {
      const byKey = lossesOf(agentId)?.byKey
      for (const lost of key === undefined ? [...(byKey?.keys() ?? [])] : [key])
        if (byKey?.delete(lost) === true) notify(agentId, lost)
    },
    /** Reports every loss that is new, reported, read or forgotten. @returns removes the listener */
    onChange,
    /** Undefined if the agent knows of the loss and has read the file. */
    state(agentId: string, key: string): LossState | undefined {
      const loss = agents.peek(agentId)?.byKey.get(key)
      return loss === undefined || (loss.isTold && loss.isRead) ? undefined : { ...loss, agentId }
    },
    *states(): Generator<LossState, undefined> {
      for (const [agentId, { byKey }] of agents.entries())
        for (const loss of byKey.values()) if (!loss.isTold || !loss.isRead) yield { ...loss, agentId }
    },
    /** Restores a loss of an earlier process, for as long as a new one: the clocks of the two may differ. */
    restore({ agentId, ...loss }: LossState): void {
      if (rememberMs > 0) add(agentId, loss)
    }
  }
}

function toNotice(loss: LostLease): Notice {
  const { path, fencingToken, end, at } = loss
  return {
    type: 'lease_lost',
    path,
    message: `${describeLoss(loss)} Read the file again before you change it; lock_try takes a new lease.`,
    at: timestamp(at),
    fencing_token: fencingToken,
    cause: end.cause,
    ...(end.cause === 'broken' && { reason: end.reason, ...(end.by !== undefined && { by: end.by }) })
  }
}

/** A sentence. */
export function describeLoss({ path, fencingToken, end, at }: LostLease): string {
  const what = `Your lease on ${path} (fencing_token ${fencingToken}) ended at ${timestamp(at)}`
  if (end.cause === 'expired') return `${what}: it expired without a call of yours on the file.`
  if (end.cause === 'disconnected') return `${what}: the connection over which it was taken ended.`
  const who = end.by === undefined ? 'an operator' : quoteName(end.by)
  return `${what}: ${who} broke it, with the reason ${quote(end.reason)}.`
}
