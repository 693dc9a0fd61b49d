// What agents did on one tree while the processes that serve it came and went: every call, its answer, and the files in the end.
import type { Answer } from '../../fixtures/clients.ts'

/** Milliseconds of the machine's monotonic clock, the same for all its processes. */
export type Moment = number

export interface Call {
  readonly agent: string
  /** The way over which it was sent. */
  readonly door: string
  readonly operation: string
  readonly file: string
  readonly sentAt: Moment
  /** Undefined where no answer came. */
  answeredAt?: Moment
  answer?: Answer
  /** The line that it adds. */
  readonly line?: string
  /** The fencing token that it relies on. */
  readonly token?: number
  /** Of a call that waits. */
  readonly timeoutMs?: number
}

/** One life of one way to the tree: a connection to a process, from its start to its end. */
export interface Door {
  readonly name: string
  /** True where leases end with it. */
  readonly bindsLeases: boolean
  /** When its process was told to end, or killed. */
  endingAt?: Moment
  /** When its process had ended, if that served the tree and left in good order: leases that end with the way have ended by then. */
  leftAt?: Moment
  /** When its process stood still. */
  readonly pauses: { readonly from: Moment; until: Moment }[]
}

export interface FinalFile {
  readonly name: string
  readonly content: string
}

export interface Record {
  /** In the order in which they were sent; those of one agent one after the other. */
  readonly calls: readonly Call[]
  readonly doors: readonly Door[]
  readonly files: readonly FinalFile[]
  /** A lease whose connection no process names is kept so long. */
  readonly graceMs: number
  /** Longest time that a call may take beyond its own timeout. */
  readonly slackMs: number
}

export function now(): Moment {
  return Number(process.hrtime.bigint()) / 1e6
}

export function describeCall({ agent, operation, file, sentAt }: Call): string {
  return `${operation} of ${agent} on ${file}, sent at ${sentAt.toFixed(1)}`
}

/** How the only file of a lock operation fared. */
export function resultOf({ answer }: Pick<Call, 'answer'>): Answer | undefined {
  return (answer?.['results'] as Answer[] | undefined)?.[0]
}
