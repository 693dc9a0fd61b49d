// What forty contenders and their observer have seen: the calls of each, the lock table again and again, and the files.
import type { TransportName } from '../../fixtures/clients.ts'

/** A bound on hanging alone: a machine may be as busy as it likes. */
export const hangMs = 120_000

/** Milliseconds of the machine's monotonic clock, the same for all its processes. */
export type Moment = number

export interface Ask {
  readonly operation: string
  /** Those it concerns, also where a ticket stands for them. */
  readonly files: readonly string[]
  readonly mode?: 'shared' | 'exclusive' | undefined
  readonly allOrNothing?: boolean | undefined
  readonly ticket?: string | undefined
  /** The fencing token that the call relies on. */
  readonly token?: number | undefined
  /** The line that a write adds. */
  readonly marker?: string | undefined
  /** Of an update: when the call was sent that brought the version it was made for. */
  readonly basedOnSentAt?: Moment | undefined
}

export interface FileOutcome {
  readonly file: string
  /** True where the agent holds the lease now. */
  readonly acquired: boolean
  readonly token?: number | undefined
  readonly mode?: 'shared' | 'exclusive' | undefined
}

export interface Edge {
  readonly agent: string
  readonly file: string
}

export interface Reply {
  /** "failed" where no answer came. */
  readonly status: 'ok' | 'contention' | 'error' | 'failed'
  readonly code?: string | undefined
  readonly message?: string | undefined
  readonly outcomes?: readonly FileOutcome[] | undefined
  readonly ticket?: string | undefined
  /** Of DEADLOCK. */
  readonly cycle?: readonly Edge[] | undefined
  /** Of LEASE_LOST: why the lease ended, where it is known. */
  readonly cause?: string | undefined
  /** Leases that the answer tells are lost. */
  readonly notices?: number | undefined
}

export interface Call extends Ask {
  readonly n: number
  readonly sentAt: Moment
  /** Undefined where the agent ended before. */
  readonly answeredAt?: Moment | undefined
  readonly reply?: Reply | undefined
}

/** One after the other: an agent never has two calls under way. */
export interface AgentHistory {
  readonly id: string
  readonly transport: TransportName
  /** The same for all leases it asks for. */
  readonly ttlMs: number
  /** When a wait of it is cut, and a ticket given. */
  readonly cutMs: number
  readonly killedAt?: Moment | undefined
  /** When its process had ended, and with it its connections. */
  readonly goneAt?: Moment | undefined
  readonly calls: readonly Call[]
}

/** A holder or a waiter. */
export interface Entry {
  readonly isLease: boolean
  readonly mode: 'shared' | 'exclusive'
  readonly agent: string
  /** Milliseconds of the server's clock, as are `endsAt` and the snapshot's `serverTime`. */
  readonly since: number
  readonly endsAt?: number | undefined
  readonly token?: number | undefined
  readonly isParked: boolean
}

export interface LockedFile {
  readonly file: string
  readonly holders: readonly Entry[]
  readonly waiters: readonly Entry[]
}

/** The lock table at one moment between the two. */
export interface Snapshot {
  readonly sentAt: Moment
  readonly receivedAt: Moment
  readonly serverTime: number
  readonly files: readonly LockedFile[]
}

export interface FinalFile {
  readonly name: string
  readonly before: string
  readonly after: string
}

export interface History {
  readonly agents: readonly AgentHistory[]
  /** In the order of time. */
  readonly snapshots: readonly Snapshot[]
  readonly files: readonly FinalFile[]
  /** How long the server keeps a ticket's places. */
  readonly graceMs: number
  /** Longest time that any call may wait in a queue. */
  readonly longestWaitMs: number
  /** From the end of the last agent until nothing was held or waited for; undefined where that never came. */
  readonly emptyAfterMs: number | undefined
}

export function now(): Moment {
  return Number(process.hrtime.bigint()) / 1e6
}

/** For sentences. */
export function ms(time: number): string {
  return `${time.toFixed(1)} ms`
}

export function markerOf(agent: string, call: number, token: number | undefined): string {
  return `[${agent} ${call} ${token ?? 'no lease'}]`
}

/** Agent, number of the call, token if any. */
export const markerPattern = /\[([a-z0-9-]+) (\d+) (\d+|no lease)\]/g
