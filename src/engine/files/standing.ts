// Holds a folder where the system has no paths through a descriptor: the process stands in the folder while it makes a call. Its working folder
// is a handle, so that names in it lead nowhere else, whatever becomes of the path.
import { linkSync, lstatSync, renameSync, unlinkSync } from 'node:fs'
import { parse, sep } from 'node:path'
import { attempt, orUndefined } from '../../support/attempt.ts'
import { isErrno } from '../../support/errno.ts'
import { isSameFile, type FileNode } from '../../support/same-file.ts'
import { temporaryName } from './temporary-names.ts'

/** An open folder. */
export interface Ground {
  readonly path: string
  /** Which folder it is, whatever is at its path now. */
  opened(): FileNode
}

/** The path of an entry for a call of the system. */
export type PathOf = (name: string) => string

/** Windows has no working folder with a longer path. There only the folders above it are held, by its open handle. */
const maxWindowsPath = 256

/** The folder in which the process stands now. */
let here: Ground | undefined
let depth = 0
/** Where it goes back to; undefined while it is there. */
let home: string | undefined

/**
 * @param use makes its calls with paths that hold until another folder is entered. It must not wait: other code relies on the working folder
 * @throws Error ENOTDIR if another folder, or none, is at the path now
 */
export function standIn<Result>(ground: Ground, use: (at: PathOf) => Result): Result {
  if (process.platform === 'win32' && ground.path.length > maxWindowsPath)
    return use((name) => ground.path + sep + name)
  depth += 1
  try {
    return use((name) => {
      enter(ground)
      return name
    })
  } finally {
    depth -= 1
    if (depth === 0) leave()
  }
}

function enter(ground: Ground): void {
  if (here === ground) return
  home ??= orUndefined(() => process.cwd()) ?? parse(ground.path).root
  here = undefined
  try {
    process.chdir(ground.path)
  } catch (error) {
    throw isErrno(error, 'ENOENT', 'ENOTDIR', 'ELOOP') ? replaced(ground, error) : error
  }
  if (!isSameFile(lstatSync('.', { bigint: true }), ground.opened())) throw replaced(ground)
  here = ground
}

function leave(): void {
  const from = home
  here = undefined
  home = undefined
  if (from !== undefined && !attempt(() => process.chdir(from))) process.chdir(parse(from).root)
}

function replaced({ path }: Ground, cause?: unknown): Error {
  const error = new Error(`another folder is at ${path}`, { cause })
  return Object.assign(error, { code: 'ENOTDIR', syscall: 'chdir', path })
}

/**
 * Gives an entry a second name in another folder. The process stands in one folder at a time: the name gets there by way of the folder that
 * is above both.
 */
export function linkAcross(from: Ground, name: string, to: Ground, newName: string): void {
  const between = temporaryName()
  const [up, other] = waysUp(from.path, to.path)
  standIn(from, (at) => {
    const entry = at(name)
    const above = lstatSync(up, { bigint: true })
    linkItself(entry, up + between)
    try {
      standIn(to, (into) => {
        const target = into(newName)
        if (!isSameFile(lstatSync(other, { bigint: true }), above)) throw replaced(to)
        renameSync(other + between, target)
      })
    } catch (error) {
      attempt(() => {
        at(name)
        unlinkSync(up + between)
      })
      throw error
    }
  })
}

/** macOS gives the second name to what a link leads to. @throws Error EXDEV for a link, as if it could have no second name */
export function linkItself(path: string, newPath: string): void {
  const entry = lstatSync(path, { bigint: true })
  if (!entry.isSymbolicLink()) {
    linkSync(path, newPath)
    if (isSameFile(lstatSync(newPath, { bigint: true, throwIfNoEntry: false }), entry)) return
    unlinkSync(newPath)
  }
  throw Object.assign(new Error(`a link, or replaced meanwhile: ${path}`), { code: 'EXDEV', syscall: 'link' })
}

/** From each folder to the innermost that is above both, or one of them. */
function waysUp(one: string, other: string): [string, string] {
  const [names, others] = [one, other].map((path) => path.split(sep).filter((name) => name !== ''))
  const different = names!.findIndex((name, index) => name !== others![index])
  const shared = different === -1 ? names!.length : different
  return [names!, others!].map((all) => `.${sep}${`..${sep}`.repeat(all.length - shared)}`) as [string, string]
}
