// What a rule of the table is: for each way to change a file a check, or the reason why there is none.
import type { Case, Kind, Way } from './way.ts'
import type { WayName } from './ways.ts'
import type { WorldName } from './world.ts'

export type Check = (c: Case) => Promise<void>
export interface Reason {
  readonly reason: string
}
export type Cell = Check | Reason

export interface Rule {
  readonly title: string
  /** The server it needs. Default: `plain`. */
  readonly world?: WorldName
  /** A new kind of way needs a cell in each rule: the compiler asks for it. */
  readonly cells: Readonly<Record<Kind, (way: Way) => Cell>>
  /** The ways that are special in this. */
  readonly special?: Partial<Record<WayName, Cell>>
}

export const by = (check: Check) => () => check
export const why = (reason: string) => () => ({ reason })

/** @param term what a way must take, so that the rule applies to it */
export const ifTakes = (term: Way['takes'][number], check: Check, reason: string) => (way: Way) =>
  way.takes.includes(term) ? check : { reason }
