// Finds the matching entries below a directory, as deep as needed. Links are found, never followed.
import { isErrno, OperationError } from '../../errors.ts'
import type { Directory } from './directory.ts'
import { isIgnored, readIgnoreRules, type IgnoreRules } from './ignore-rules.ts'
import { isOwnName } from './protection.ts'
import { compareNames, showName } from '../../support/raw-name.ts'
import { readFolder, type EntryType, type FolderEntry } from './read-folder.ts'
import { sortInSlices, type Pause } from '../../support/slices.ts'

/** What to find. Paths are relative to the directory, with `/` between names. */
export interface Search {
  readonly matches: (path: string, type: EntryType) => boolean
  /** Whether anything below this directory may match. */
  readonly reaches: (folder: string) => boolean
  /** False: `.git` is left out at any depth. */
  readonly includesGit: boolean
}

export interface FindOptions {
  readonly search: Search
  /** True: what .gitignore files exclude, and .git, is left out. */
  readonly ignore: boolean
  /** Entries examined before giving up. */
  readonly maxEntries: number
  readonly signal: AbortSignal
  /** Called with numbers of further entries that were examined. */
  readonly onExamined?: ((count: number) => void) | undefined
}

const reportedAtOnce = 256

export interface Findings {
  /** By their paths relative to the directory, in byte order. */
  readonly found: readonly FolderEntry[]
  /** Paths of the directories that the system denies listing: what is in them is missing. */
  readonly unreadable: readonly string[]
}

/** @throws the system's error if the directory, or one below it that may be listed, cannot be read now: never an incomplete result */
export async function findEntries(
  directory: Directory,
  path: string,
  options: FindOptions,
  pause: Pause
): Promise<Findings> {
  const walk: Walk = { path, options, found: [], unreadable: [], budget: options.maxEntries, pause }
  await collect(directory, '', [], walk)
  const found = await sortInSlices(walk.found, (a, b) => compareNames(a.name, b.name), pause)
  return { found, unreadable: walk.unreadable }
}

/** The state of one search over all its directories. */
interface Walk {
  readonly path: string
  readonly options: FindOptions
  readonly found: FolderEntry[]
  readonly unreadable: string[]
  budget: number
  readonly pause: Pause
}

async function collect(
  directory: Directory,
  prefix: string,
  inherited: readonly IgnoreRules[],
  walk: Walk
): Promise<void> {
  const { options, found } = walk
  const { search } = options
  options.signal.throwIfAborted()
  const entries = await readFolder(directory)
  const rules = options.ignore ? [...inherited, ...readIgnoreRules(directory, prefix, entries)] : inherited
  for (const entry of entries) {
    if (isOwnName(entry.name)) continue
    walk.budget -= 1
    if (walk.budget < 0) throw tooMany(walk.path, options.maxEntries)
    if (options.onExamined !== undefined && walk.budget % reportedAtOnce === 0) options.onExamined(reportedAtOnce)
    await walk.pause()
    if (entry.name === '.git' && (options.ignore || !search.includesGit)) continue
    const name = prefix + entry.name
    const { type } = entry
    if (options.ignore && isIgnored(rules, name, type)) continue
    if (search.matches(name, type)) found.push({ name, type })
    if (type === 'directory' && search.reaches(name)) await collectBelow(directory, entry.name, prefix, rules, walk)
  }
}

async function collectBelow(
  directory: Directory,
  name: string,
  prefix: string,
  rules: readonly IgnoreRules[],
  walk: Walk
): Promise<void> {
  let child: Directory | undefined
  try {
    child = openIfThere(directory, name)
    if (child !== undefined) await collect(child, `${prefix}${name}/`, rules, walk)
  } catch (error) {
    if (!isErrno(error, 'EACCES', 'EPERM')) throw error
    walk.unreadable.push(showName(prefix + name).name)
  } finally {
    child?.close()
  }
}

/** Undefined if the directory has vanished or has become a link. */
export function openIfThere(directory: Directory, name: string): Directory | undefined {
  try {
    return directory.openChild(name)
  } catch (error) {
    if (isErrno(error, 'ENOENT', 'ENOTDIR', 'ELOOP', 'EMLINK')) return undefined
    throw error
  }
}

function tooMany(path: string, maxEntries: number): OperationError {
  const message = `More than ${maxEntries} entries below ${path} (crud.max_list_entries). List a part of it with async_list, or ask the operator to raise the limit.`
  return new OperationError('OVERLOADED', message, { path, details: { max_entries: maxEntries } })
}
