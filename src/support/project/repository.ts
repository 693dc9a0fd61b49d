// Finds the repository of a folder, and accepts no other: a user who can write to the folder can let `.git` lead anywhere.
import { lstatSync, realpathSync } from 'node:fs'
import { basename, dirname, isAbsolute, join, relative, resolve, sep } from 'node:path'
import { orUndefined } from '../attempt.ts'
import { readSmall } from './read-small.ts'

/** All are real paths. */
export interface Repository {
  /** The folder that has `.git`. */
  readonly workTree: string
  readonly gitDir: string
  /** Where configuration, refs and objects are; another folder than `gitDir` in a linked worktree. */
  readonly commonDir: string
}

/** Undefined if the folder is in no repository, or if `.git` leads to one that does not know of it. */
export function findRepository(folder: string): Repository | undefined {
  for (let here = folder; ; here = dirname(here)) {
    const path = join(here, '.git')
    if (lstatSync(path, { throwIfNoEntry: false }) !== undefined) return orUndefined(() => openRepository(here, path))
    if (dirname(here) === here) return undefined
  }
}

function openRepository(folder: string, path: string): Repository | undefined {
  const workTree = realpathSync(folder)
  const [, target = path] = /^gitdir: (.+)/.exec(readSmall(path) ?? '') ?? []
  const gitDir = realpathSync(resolve(folder, target))
  const commonDir = realpathSync(resolve(gitDir, readSmall(join(gitDir, 'commondir'))?.trim() ?? ''))
  const isOwn = isInside(workTree, gitDir)
    ? isInside(workTree, commonDir)
    : pointsBack(gitDir, workTree) && (commonDir === gitDir || isLinked(gitDir, commonDir))
  if (!isOwn || hasLinks(gitDir) || hasLinks(commonDir) || isHeadLinked(gitDir, commonDir)) return undefined
  return { workTree, gitDir, commonDir }
}

/** The part of a linked worktree in its repository is `<common>/worktrees/<name>`. */
function isLinked(gitDir: string, commonDir: string): boolean {
  return commonDir === dirname(dirname(gitDir)) && basename(dirname(gitDir)) === 'worktrees'
}

/** Git records the folder of the files in the repository of a linked worktree (`gitdir`) and of a submodule (`core.worktree`). */
function pointsBack(gitDir: string, workTree: string): boolean {
  const link = readSmall(join(gitDir, 'gitdir'))?.trim()
  if (link !== undefined) return basename(link) === '.git' && realpathSync(resolve(gitDir, dirname(link))) === workTree
  const [, files] =
    /^\[core\][^[]*^\s*worktree\s*=\s*"?([^"\n]+?)"?\s*$/m.exec(readSmall(join(gitDir, 'config')) ?? '') ?? []
  return files !== undefined && realpathSync(resolve(gitDir, files)) === workTree
}

/** The files that Git reads for us. Through a link in place of one of these it would read another repository. */
const entries = [
  'HEAD',
  'config',
  'config.worktree',
  'commondir',
  'gitdir',
  'index',
  'info',
  'objects',
  'packed-refs',
  'refs',
  'reftable'
]

function hasLinks(folder: string): boolean {
  return entries.some((name) => isLink(join(folder, name)))
}

/** A ref can name another; beyond this depth Git gives up. */
const maxRefDepth = 5

/** True if a link lies on the way from HEAD to the commit. */
function isHeadLinked(gitDir: string, commonDir: string): boolean {
  let text = readSmall(join(gitDir, 'HEAD'))
  for (let depth = 0; depth < maxRefDepth; depth += 1) {
    const [, ref] = /^ref:\s*(\S+)/.exec(text ?? '') ?? []
    if (ref === undefined) return false
    const parts = ref.split('/')
    const steps = parts.map((_part, index) => join(commonDir, ...parts.slice(0, index + 1)))
    if (steps.some(isLink)) return true
    text = readSmall(join(commonDir, ref))
  }
  return true
}

function isLink(path: string): boolean {
  return lstatSync(path, { throwIfNoEntry: false })?.isSymbolicLink() === true
}

function isInside(folder: string, path: string): boolean {
  const way = relative(folder, path)
  return way !== '' && way.split(sep)[0] !== '..' && !isAbsolute(way)
}
