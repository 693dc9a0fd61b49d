// What the swarm and its clients, each a process of its own, tell one another.
import type { TransportName } from '../../fixtures/clients.ts'

export interface WorkerTask {
  /** Unique in the swarm; part of every marker. */
  readonly id: string
  readonly transport: TransportName
  readonly url: string
  /** Paths of the shared files, relative to the root. */
  readonly files: readonly string[]
  readonly rounds: number
  readonly diffFormat: 'json' | 'unified'
  readonly seed: number
}

/** An update that the server has answered with ok. */
export interface Acknowledged {
  readonly file: string
  readonly marker: string
  readonly previousHash: string
  readonly hash: string
}

export interface WorkerReport {
  readonly id: string
  readonly transport: TransportName
  readonly acknowledged: Acknowledged[]
  /** Of each finished round, how often it had to be sent again. */
  readonly retries: number[]
  /** Calls of async_read. */
  reads: number
  /** Contention answers that named lines only, since reading again is cheaper than their diff. */
  readsAdvised: number
  contentions: number
  /** Contention answers that named a patch to look at again. */
  conflicts: number
  /** Updates sent again unchanged, because patches_applicable was true. */
  resubmitted: number
  /** Contention answers as this client received them. */
  contentionBytes: number
  /** What the answers to async_read would have been instead. */
  rereadBytes: number
  /** What must not happen; the first one ends the client. */
  readonly problems: string[]
}

/** From a client to the swarm: it has read all files; it is done. The swarm says "go" in between. */
export type WorkerMessage =
  | { readonly type: 'ready' }
  | { readonly type: 'done'; readonly report: WorkerReport; readonly cpuMs: number }

export const go = 'go'

/** Stands in a line of the file exactly once if the update was acknowledged. */
export function markerOf(id: string, round: number): string {
  return `[swarm ${id} ${round}]`
}

export const markerPattern = /\[swarm [a-z0-9-]+ \d+\]/g
