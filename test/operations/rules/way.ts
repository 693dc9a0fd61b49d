// What a way to change a file is, and what a cell of the table hands it.
import type { Test } from 'tap'
import type { Answer } from '../../fixtures/clients.ts'
import { hashOf } from '../../fixtures/tree.ts'
import type { World } from './world.ts'

/** How a change of content is said. */
export const forms = ['text', 'lines', 'unified', 'whole'] as const
export type Form = (typeof forms)[number]

/** What a way can say besides. */
type Term = 'merge' | 'encoding' | 'format' | 'token'

/** The change, for the version that the case has prepared unless another one is named. */
export interface Options {
  readonly form?: Form | undefined
  /** The line that it replaces: 10. */
  readonly line?: number
  /** What it puts there. */
  readonly words?: string
  /** What the file is as the caller says it. */
  readonly said?: string
  /** The version it is for; null names none, if the way lets that be. */
  readonly expected?: string | null
  /** Of an undo: the version whose change it takes back. */
  readonly undone?: string
  readonly merge?: boolean
  readonly encoding?: string
  readonly format?: 'json' | 'unified'
  readonly request?: string
  readonly token?: number
  readonly overwrite?: boolean
}

/** `content` changes what is in a file, `create` makes one, `remove` and `move` are about the name. */
export type Kind = 'content' | 'create' | 'remove' | 'move' | 'undo' | 'native'

export interface Way {
  readonly kind: Kind
  /** As the history calls it. */
  readonly operation: string
  readonly forms: readonly Form[]
  readonly takes: readonly Term[]
  /** Brings the file to where the change can be made. */
  readonly prepare: (c: Case) => Promise<void>
  readonly make: (c: Case, options: Options) => Promise<Outcome>
  /** What the file is after the change; undefined if it is gone. */
  readonly after: (text: string, options: Options) => string | undefined
}

export interface Outcome {
  /** `ok`, `contention`, the code of the failure, or `refused` by a hook. */
  readonly code: string
  /** What the answer says of the file. */
  readonly item: Answer
  readonly answer: Answer
  /** What a model is shown by a hook; over HTTP the body. */
  readonly text: string
  /** False if the answer says that what was replaced or removed is lost. */
  readonly isKept: boolean
}

/** One cell while it runs: a file of its own, and agents of its own. */
export interface Case {
  readonly t: Test
  readonly way: Way
  readonly world: World
  /** Of the file, before the change: each character is a byte. */
  readonly text: string
  /** The same as a caller says it. */
  readonly said: string
  readonly path: string
  /** The new name of a rename. */
  readonly other: string
  /** Makes the change. */
  readonly ann: string
  readonly bob: string
  readonly carl: string
  /** An answer that is `ok`. */
  must(agent: string, name: string, input: object): Promise<Answer>
  /** The agent reads the file, and changes it. */
  change(agent: string, name: string, make: (text: string) => string): Promise<void>
  /** Undefined if there is no file. */
  read(name: string): string | undefined
  /** As another program does. */
  write(content: string, name?: string): void
  /** The same cell with another text, and so another file. */
  of(text: string, said?: string): Case
  /** Another agent changes a line. @returns what is there then */
  others(line?: number): Promise<string>
  /** The agent reads the file. */
  seen(agent: string, name?: string): Promise<Answer>
  /** The change, which the test expects to be answered so. */
  makes(code: string, options?: Options): Promise<Outcome>
  /** @param content undefined if nothing is there */
  has(content: string | undefined, name?: string): void
  /** All that the change leaves of a file that had this content. */
  hasAfter(content: string, options?: Options): void
  isLink(name?: string): boolean
  hash(name?: string): string
}

/** Of texts in which each character stands for a byte. */
export const hashOfBytes = (text: string): string => hashOf(Buffer.from(text, 'latin1'))

export function replaced(text: string, { line = 10, words = 'mine' }: Options = {}): string {
  return text.replace(`line ${String(line).padStart(2, '0')}.`, words)
}
