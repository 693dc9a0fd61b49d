// What the processes of the contenders, and whoever started them, tell one another.
import type { TransportName } from '../../fixtures/clients.ts'

export interface ContenderTask {
  /** Also its agent_id. */
  readonly id: string
  readonly transport: TransportName
  /** How it says who it is: with each call, or once for the connection. */
  readonly identity: 'input' | 'header'
  readonly url: string
  /** Relative to the root. */
  readonly files: readonly string[]
  readonly ttlSeconds: number
  readonly journal: string
  readonly seed: number
}

/** From a process: its contenders are connected; they have given everything back. */
export type ContenderMessage = 'ready' | 'done'

/** To a process. */
export type Command = 'go' | 'finish'
