// What is kept of a change that its caller has named.
import type { ErrorOnWire } from '../../errors.ts'
import type { Intent } from '../commit/note.ts'

/** What a change was answered. */
export type Outcome = { readonly result: object } | { readonly error: ErrorOnWire }

/** Of one change: of a call, or of one file of a batch. Plain JSON. */
export interface Receipt {
  readonly agentId: string
  readonly requestId: string
  /** Of the file in a batch, else 0. */
  readonly index: number
  /** Of the operation and the whole input. */
  readonly digest: string
  /** When it was answered, in milliseconds since the epoch: for people. */
  readonly at: number
  readonly outcome: Outcome
  /** Present until it is known that the change was made. */
  readonly intent?: Intent
}

/** Names a change. */
export interface ReceiptKey {
  readonly agentId: string
  readonly requestId: string
}
