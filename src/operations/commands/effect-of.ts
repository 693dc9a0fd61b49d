// Which files a command line says that it writes.
import { basename, dirname, join } from 'node:path'
import type { OperationContext } from '../../engine/call/context.ts'
import { anyEffect, type Effect } from '../../engine/commands/open-command.ts'
import { isOperationError } from '../../errors.ts'
import { orUndefined } from '../../support/attempt.ts'
import { toFolder, type Argument, type CommandLine, type SimpleCommand } from '../../support/shell/simple-command.ts'
import { callOf, foldersOf, nothing, writesOf, type Writes } from './programs.ts'

/** Of a line that names more, no more is known than that it may write anything. */
const maxPaths = 200
const maxPathLength = 4096

/** A process that the command does not wait for. */
const leaving = /(?:^|[^&>|])&(?![&>])|\b(?:nohup|setsid|disown|coproc|daemon)\b/

/** @param line the same command, as it is read */
export function effectOf(
  command: string,
  line: CommandLine | undefined,
  { files }: Pick<OperationContext, 'files'>
): Effect {
  const leavesProcess = leaving.test(command)
  if (line === undefined) return { ...anyEffect, leavesProcess }
  const named = new Set<string>()
  const places = new Set<string>()
  let isBounded = line.unknown.length === 0
  for (const one of line.commands) {
    const { folder } = one
    const writes = effectOfOne(one)
    isBounded &&= writes.isBounded && folder !== undefined
    for (const [set, paths] of [
      [named, writes.files],
      [places, writes.places]
    ] as const)
      for (const path of paths) {
        const canonical = toCanonical(path, folder)
        if (canonical !== undefined) set.add(canonical)
      }
  }
  if (named.size + places.size > maxPaths) return { ...anyEffect, leavesProcess }
  return { isBounded, files: named, places: [...places], leavesProcess }

  function toCanonical(path: string, folder: string | undefined): string | undefined {
    if (path === '' || path.length > maxPathLength || path.includes('\0')) return undefined
    const absolute = toFolder(folder, path)
    if (absolute === undefined) return undefined
    return canonicalOf(absolute)
  }

  function canonicalOf(absolute: string): string | undefined {
    try {
      return files.resolve(absolute, 'entry').path
    } catch (error) {
      // The command may put a folder where that file is.
      if (isOperationError(error, 'NOT_A_FILE')) {
        const folder = canonicalOf(dirname(absolute))
        return folder === undefined ? undefined : join(folder, basename(absolute))
      }
      // No call makes a file of such a name, as one with a backslash; a command does.
      if (isOperationError(error, 'INVALID_REQUEST'))
        return orUndefined(() => join(files.resolve(dirname(absolute), 'entry').path, basename(absolute)))
      // Outside the roots nothing is recorded.
      return files.roots.find(({ real }) => real === absolute)?.real
    }
  }
}

function effectOfOne(command: SimpleCommand): Writes {
  const { words, outputs, moreFrom } = command
  const call = callOf(command)
  // Assignments alone.
  const own: Writes =
    words.length === 0 ? nothing : call === undefined ? { isBounded: false, files: [], places: [] } : writesOf(call)
  const isReader = own === nothing
  const isTold = isReader || words.every((word) => word !== undefined)
  const patterns = words.filter((word) => word?.pattern !== undefined)
  const appended = moreFrom === undefined || isReader ? [] : moreFrom.flatMap(foldersFrom)
  return {
    isBounded: own.isBounded && isTold && outputs.every((word) => word !== undefined && word.pattern === undefined),
    files: [...own.files.filter((path) => !patterns.some((word) => word?.text === path)), ...textsOf(outputs)],
    // What a pattern stands for lies in its folder.
    places: [...own.places, ...(isReader ? [] : patterns.map((word) => folderOf(word!.text))), ...appended]
  }
}

/** Where the names come from that `find` or a pipe appends. */
function foldersFrom(command: SimpleCommand): readonly string[] {
  const call = callOf(command)
  return call?.name === 'find' ? foldersOf(call.args) : ['.']
}

function folderOf(pattern: string): string {
  const plain = /^[^*?[{]*/.exec(pattern)?.[0] ?? ''
  return dirname(`${plain}x`)
}

function textsOf(words: readonly Argument[]): readonly string[] {
  return words.flatMap((word) => (word === undefined || word.pattern !== undefined ? [] : [word.text]))
}
