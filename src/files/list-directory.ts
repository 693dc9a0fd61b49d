// Lists a directory: names and types first, then what stat says of the page that is asked for. Links are shown, never followed.
import type { BigIntStats, Dirent } from 'node:fs'
import { readdir } from 'node:fs/promises'
import { setImmediate } from 'node:timers/promises'
import ignore, { type Ignore } from 'ignore'
import { OperationError } from '../errors.ts'
import type { Directory } from './directory.ts'
import type { GlobMatcher } from './glob.ts'
import { isOwnName } from './protection.ts'
import { readNow } from './read-file.ts'

export type EntryType = 'file' | 'directory' | 'symlink' | 'other'

export interface ListedEntry {
  /** Name, or path relative to the listed directory when it is recursive, with `/` between names. */
  readonly name: string
  readonly type: EntryType
  readonly stat: BigIntStats
}

export interface FindOptions {
  readonly matches: GlobMatcher
  readonly recursive: boolean
  /** True: what .gitignore files exclude, and .git, is left out. */
  readonly ignore: boolean
  /** Entries looked at before giving up. */
  readonly maxEntries: number
  readonly signal: AbortSignal
}

export interface ListOptions extends FindOptions {
  /** Names up to and including this one are left out. */
  readonly after: string | undefined
  readonly limit: number
}

interface Found {
  readonly name: string
  readonly type: EntryType
}

/** Rules of one .gitignore, for paths below the directory it stands in. */
interface IgnoreRules {
  readonly prefix: string
  readonly rules: Ignore
}

/**
 * @returns the page, the number of entries that match in all, and the last name of the page where there are more behind it:
 * what vanished since the names were read is left out of the page, yet its name still counts as passed
 */
export async function listDirectory(
  directory: Directory,
  path: string,
  options: ListOptions
): Promise<{ entries: ListedEntry[]; total: number; lastName: string | undefined }> {
  const { found, turn } = await findEntries(directory, path, options)
  const { after } = options
  const first = after === undefined ? 0 : found.findIndex(({ name }) => compareNames(name, after) > 0)
  const start = first === -1 ? found.length : first
  const page = found.slice(start, start + options.limit)
  const hasMore = start + options.limit < found.length
  return {
    entries: await describeAll(directory, page, turn),
    total: found.length,
    lastName: hasMore ? page.at(-1)?.name : undefined
  }
}

/** The names that match, sorted, and `turn` for whoever goes through them: to be awaited at each. */
export async function findEntries(
  directory: Directory,
  path: string,
  options: FindOptions
): Promise<{ found: readonly Found[]; turn: () => Promise<void> }> {
  const found: Found[] = []
  const walk: Walk = { path, options, found, budget: options.maxEntries, turn: createTurns(options.signal) }
  await collect(directory, '', [], walk)
  return { found: found.sort((a, b) => compareNames(a.name, b.name)), turn: walk.turn }
}

/** What one listing shares over all its directories. */
interface Walk {
  readonly path: string
  readonly options: FindOptions
  readonly found: Found[]
  budget: number
  readonly turn: () => Promise<void>
}

const turnMs = 5

/** Lets everybody else run where more than 5 ms have passed, and stops when the caller has gone. */
function createTurns(signal: AbortSignal): () => Promise<void> {
  let until = performance.now() + turnMs
  return async () => {
    if (performance.now() < until) return
    await setImmediate()
    signal.throwIfAborted()
    until = performance.now() + turnMs
  }
}

async function collect(
  directory: Directory,
  prefix: string,
  inherited: readonly IgnoreRules[],
  walk: Walk
): Promise<void> {
  const { options, found } = walk
  options.signal.throwIfAborted()
  const entries = await readEntries(directory, prefix === '', walk.path)
  const rules = options.ignore ? [...inherited, ...readIgnoreRules(directory, prefix, entries)] : inherited
  for (const entry of entries) {
    if (isOwnName(entry.name)) continue
    walk.budget -= 1
    if (walk.budget < 0) throw tooMany(walk.path, options.maxEntries)
    await walk.turn()
    const name = prefix + entry.name
    const type = typeOf(entry)
    if (options.ignore && isIgnored(rules, name, type)) continue
    if (options.matches(name)) found.push({ name, type })
    if (!options.recursive || type !== 'directory') continue
    const child = openIfThere(directory, entry.name)
    if (child === undefined) continue
    try {
      await collect(child, `${name}/`, rules, walk)
    } finally {
      child.close()
    }
  }
}

async function readEntries(directory: Directory, isTop: boolean, path: string): Promise<Dirent[]> {
  try {
    return await readdir(directory.self, { withFileTypes: true })
  } catch (error) {
    // An unreadable directory in the depth is shown as an entry, without what is in it.
    if (!isTop) return []
    throw new OperationError('ACCESS_DENIED', `The operating system denies listing: ${path}`, { path, cause: error })
  }
}

/** Undefined where the directory has vanished, has become a link, or may not be opened. */
function openIfThere(directory: Directory, name: string): Directory | undefined {
  try {
    return directory.openChild(name)
  } catch {
    return undefined
  }
}

const maxIgnoreBytes = 262_144
const maxIgnoreLine = 256

/** The rules of a directory. A line that would make the matcher backtrack for long is left out: the file may be anybody's. */
function readIgnoreRules(directory: Directory, prefix: string, entries: readonly Dirent[]): IgnoreRules[] {
  if (!entries.some((entry) => entry.name === '.gitignore' && entry.isFile())) return []
  const bytes = readNow(directory, '.gitignore', maxIgnoreBytes)
  if (bytes === undefined) return []
  const lines = bytes.toString('utf8').split('\n')
  const harmless = lines.filter((line) => line.length <= maxIgnoreLine && line.split('**').length <= 3)
  return [{ prefix, rules: ignore().add(harmless) }]
}

/** The innermost .gitignore that has an opinion decides, as in git. */
function isIgnored(all: readonly IgnoreRules[], name: string, type: EntryType): boolean {
  if (name === '.git' || name.endsWith('/.git')) return true
  for (const { prefix, rules } of all.toReversed()) {
    const relative = name.slice(prefix.length) + (type === 'directory' ? '/' : '')
    const { ignored, unignored } = rules.test(relative)
    if (ignored || unignored) return ignored
  }
  return false
}

/** What stat says of each entry, its directories opened one by one again: a link put in the middle of a path is not followed. */
async function describeAll(
  directory: Directory,
  page: readonly Found[],
  turn: () => Promise<void>
): Promise<ListedEntry[]> {
  const entries: ListedEntry[] = []
  const parents = createParentChain(directory)
  try {
    for (const { name, type } of page) {
      await turn()
      const at = name.lastIndexOf('/')
      const stat = parents.open(name.slice(0, Math.max(at, 0)))?.stat(name.slice(at + 1))
      if (stat !== undefined && typeOf(stat) === type) entries.push({ name, type, stat })
    }
    return entries
  } finally {
    parents.close()
  }
}

/** The directories of the entry before: neighbours in a sorted page mostly share them. */
function createParentChain(root: Directory) {
  let names: string[] = []
  const opened: Directory[] = []
  const cut = (length: number) => {
    for (const directory of opened.splice(length).reverse()) directory.close()
    names = names.slice(0, length)
  }
  return {
    /** The directory at a relative path; undefined where it is no longer there. */
    open(path: string): Directory | undefined {
      const wanted = path === '' ? [] : path.split('/')
      const different = wanted.findIndex((name, index) => name !== names[index])
      cut(different === -1 ? wanted.length : different)
      for (const name of wanted.slice(opened.length)) {
        const child = openIfThere(opened.at(-1) ?? root, name)
        if (child === undefined) return undefined
        opened.push(child)
        names.push(name)
      }
      return opened.at(-1) ?? root
    },
    close: () => cut(0)
  }
}

function typeOf(entry: Pick<Dirent, 'isFile' | 'isDirectory' | 'isSymbolicLink'>): EntryType {
  if (entry.isFile()) return 'file'
  if (entry.isDirectory()) return 'directory'
  return entry.isSymbolicLink() ? 'symlink' : 'other'
}

function tooMany(path: string, maxEntries: number): OperationError {
  const message = `More than ${maxEntries} entries below ${path} (crud.max_list_entries). List a part of it with async_list, or have the limit raised.`
  return new OperationError('OVERLOADED', message, { path, details: { max_entries: maxEntries } })
}

/** Byte order of the UTF-8 forms, which is code point order; code units differ from it only beyond U+FFFF. */
export function compareNames(a: string, b: string): number {
  if (a === b) return 0
  const length = Math.min(a.length, b.length)
  for (let index = 0; index < length; index += 1) {
    const [left, right] = [a.charCodeAt(index), b.charCodeAt(index)]
    if (left !== right) return orderOf(left) - orderOf(right)
  }
  return a.length - b.length
}

/** Surrogates stand for characters above all others of the basic plane. */
function orderOf(codeUnit: number): number {
  return codeUnit >= 0xd800 && codeUnit <= 0xdfff ? codeUnit + 0x10000 : codeUnit
}
