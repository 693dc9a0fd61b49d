// A shell command that its harness has reported: from its start to its end, and a little longer.
import { dirname } from 'node:path'
import type { Author } from '../versions/author.ts'
import type { Moment } from './file-clock.ts'
import type { Surveys } from './tree-changes.ts'

/** What a command line says of the files that it writes. */
export interface Effect {
  /** True if it writes nothing else. */
  readonly isBounded: boolean
  /** Canonical paths that it names as written, or removed. */
  readonly files: ReadonlySet<string>
  /** Folders in which it may write any file, and files that it names without saying what it does to them. */
  readonly places: readonly string[]
  /** True if it may leave a process running behind its end. */
  readonly leavesProcess: boolean
}

/** Of a command line that says nothing. */
export const anyEffect: Effect = { isBounded: false, files: new Set(), places: [], leavesProcess: false }

export interface CommandStart {
  readonly agentId: string
  /** Of the harness; undefined if it does not number its calls. */
  readonly callId: string | undefined
  /** As it is shown: shortened, without secrets. */
  readonly text: string
  readonly changeSet: string
  readonly effect: Effect
  /** What its session is told at its end. */
  readonly note?: string
}

export interface OpenCommand extends CommandStart {
  /** Larger than that of every command that began before. */
  readonly number: number
  readonly begun: Moment
  /** Files that it names and that were not there when it began. */
  readonly absent: Set<string>
  /** Names at which nothing was then, not even a folder. */
  readonly free: ReadonlySet<string>
  /** True if it writes to no other files than those that were looked at then. */
  readonly isWhole: boolean
  /** What differed from HEAD then; undefined if that was not looked at in time. */
  readonly before: Surveys | undefined
  /** The name under which it goes on in the background; undefined while it is in the foreground. */
  task?: string
  ended?: Moment
}

/** Behind the end that is reported, its changes may still be noticed. */
export const graceMs = 500

/** Whether no file was there when the command began, as far as it names the place. */
export function wasAbsent({ absent, free }: OpenCommand, path: string): boolean {
  if (absent.has(path)) return true
  for (let folder = dirname(path); folder !== dirname(folder); folder = dirname(folder))
    if (free.has(folder)) return true
  return false
}

export const isOpen = ({ ended }: OpenCommand): boolean => ended === undefined

export function authorOf(command: OpenCommand, operation: string): Author {
  const { agentId, changeSet, text } = command
  return { agentId, operation, changeSet, command: text }
}
