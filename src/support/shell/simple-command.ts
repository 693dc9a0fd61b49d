// A simple command of a command line: a name and its arguments.
import { resolve } from 'node:path'
import type { Field } from './words.ts'

/** One argument; undefined if it cannot be told: it may be none, or several. */
export type Argument = Field | undefined

export interface SimpleCommand {
  /** The name and its arguments; wrappers such as `sudo` are taken away. */
  readonly words: readonly Argument[]
  /** Undefined if it cannot be told. */
  readonly folder: string | undefined
  /** Variables that are set for it in the command line. */
  readonly variables: ReadonlyMap<string, string | undefined>
  /** Files that its output is redirected to. */
  readonly outputs: readonly Argument[]
  /** The commands whose output `xargs` or `find -exec` appends as arguments. */
  readonly moreFrom?: readonly SimpleCommand[]
  /** What its standard input is, if it is given in the line. */
  readonly input?: string | undefined
  /** The commands that write its standard input. */
  readonly pipedFrom: readonly SimpleCommand[]
}

export interface CommandLine {
  readonly commands: readonly SimpleCommand[]
  /** Why some of it cannot be told. */
  readonly unknown: readonly string[]
}

export function toFolder(folder: string | undefined, path: string): string | undefined {
  return path.startsWith('/') ? resolve(path) : folder === undefined ? undefined : resolve(folder, path)
}
