// A command line as it is read, once, for all that is asked of it.
import { homedir } from 'node:os'
import { orUndefined } from '../../support/attempt.ts'
import { findRepository } from '../../support/project/repository.ts'
import type { CommandLine } from '../../support/shell/simple-command.ts'
import { readCommandLine } from '../../support/shell/walk.ts'

/** @returns undefined if it cannot be read at all */
export function parseCommand(command: string, cwd: string): CommandLine | undefined {
  return orUndefined(() => readCommandLine(command, { cwd, home: homedir(), topOf }))
}

/** The top of the working tree of a folder, if it is in one. */
export function topOf(folder: string): string | undefined {
  return orUndefined(() => findRepository(folder)?.workTree)
}
