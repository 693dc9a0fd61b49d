// What a recursive removal would take: `rm -r`, `find -delete`, and `rm` of what `find` finds.
import { realpathSync } from 'node:fs'
import { basename, dirname, join, resolve } from 'node:path'
import { orUndefined } from '../../support/attempt.ts'
import { isFolder } from '../../support/is-there.ts'
import { readOptions } from '../../support/shell/options.ts'
import type { SimpleCommand } from '../../support/shell/simple-command.ts'
import { expandArguments } from './expand.ts'
import { findFiles } from './find-files.ts'

const rmOptions =
  'f|force i I interactive? r|R|recursive d|dir v|verbose one-file-system no-preserve-root preserve-root?'

export interface Removal {
  /** Absolute, with no link in the way; files and whole folders. */
  readonly paths: readonly string[]
  /** What cannot be told. */
  readonly unknown?: string
}

/** @returns undefined if the command removes nothing, or only files that it names */
export async function readRemoval(command: SimpleCommand, name: string): Promise<Removal | undefined> {
  const { words, folder, moreFrom = [] } = command
  if (name === 'find') {
    if (!words.some((word) => word?.text === '-delete')) return undefined
    const found = await findFiles(command)
    return found === undefined ? unknown('which files "find" deletes') : toRemoval(found)
  }
  const args = words.slice(1)
  const isRecursive = readOptions(
    args.map((word) => word?.text ?? ''),
    rmOptions
  ).has('recursive')
  if (moreFrom.length > 0) {
    const last = moreFrom.at(-1)!
    const found = last.words[0]?.text === 'find' ? await findFiles(last) : undefined
    if (found !== undefined) return toRemoval(found)
    return isRecursive ? unknown('which files "rm" gets as arguments') : undefined
  }
  if (!isRecursive) return undefined
  if (folder === undefined) return unknown('in which folder "rm -r" runs')
  const texts = expandArguments(args, folder)
  if (texts === undefined) return unknown('which paths "rm -r" removes')
  const named = new Set(args.flatMap((word) => (word?.pattern === undefined ? [word?.text] : [])))
  const { operands } = readOptions(texts, rmOptions)
  // A file that is named is removed as by a plain `rm`.
  const isSwept = (text: string) => !named.has(text) || isFolder(resolve(folder, text))
  return toRemoval(operands.filter(isSwept).map((text) => resolve(folder, text)))
}

function toRemoval(paths: readonly string[]): Removal {
  return { paths: paths.flatMap((path) => realPath(path) ?? []) }
}

function unknown(what: string): Removal {
  return { paths: [], unknown: what }
}

/** Of the entry itself: a link is not followed. */
function realPath(path: string): string | undefined {
  const folder = orUndefined(() => realpathSync(dirname(path)))
  return folder === undefined ? undefined : join(folder, basename(path))
}
