// Lists a directory page by page. The result for the first page is kept for a while, so that the next pages need no new search.
import type { BigIntStats } from 'node:fs'
import { LRUCache } from 'lru-cache'
import type { Directory } from './directory.ts'
import { findEntries, openIfThere, type Findings, type FindOptions } from './find-entries.ts'
import { compareNames } from '../../support/raw-name.ts'
import { typeOf, type EntryType, type FolderEntry } from './read-folder.ts'
import { createSlices, type Pause } from '../../support/slices.ts'

export interface ListedEntry {
  /** Name, or path relative to the listed directory, with `/` between names; as `toName` gives it. */
  readonly name: string
  readonly type: EntryType
  readonly stat: BigIntStats
}

export interface ListOptions extends FindOptions {
  /** Equal for equal searches. */
  readonly searchKey: string
  /** Names up to and including this one are left out. */
  readonly after: string | undefined
  readonly limit: number
}

export interface Page {
  readonly entries: readonly ListedEntry[]
  /** The number of all matching entries. */
  readonly total: number
  readonly unreadable: readonly string[]
  /** Of the page, if more follow: what vanished since the names were read is not in the page, yet its name counts as passed. */
  readonly lastName: string | undefined
}

const maxKeptBytes = 64 * 1024 * 1024
/** A listing is a snapshot no older than this; a later request for the next page searches again. */
const maxAgeMs = 60_000
const entryBytes = 100

export function createListing() {
  const kept = new LRUCache<string, Findings>({
    maxSize: maxKeptBytes,
    sizeCalculation: ({ found }) => found.reduce((bytes, { name }) => bytes + name.length + entryBytes, 1),
    ttl: maxAgeMs,
    ttlAutopurge: true
  })

  return {
    async list(directory: Directory, path: string, options: ListOptions): Promise<Page> {
      const { after, limit } = options
      const { pause } = createSlices(options.signal)
      const key = JSON.stringify([directory.path, options.searchKey, options.ignore])
      const known = after === undefined ? undefined : kept.get(key)
      const findings = known ?? (await findEntries(directory, path, options, pause))
      const { found, unreadable } = findings
      const start = after === undefined ? 0 : firstBehind(found, after)
      const page = found.slice(start, start + limit)
      const hasMore = start + limit < found.length
      if (!hasMore) kept.delete(key)
      else if (known === undefined) kept.set(key, findings)
      const entries = await describeAll(directory, page, pause)
      return { entries, total: found.length, unreadable, lastName: hasMore ? page.at(-1)?.name : undefined }
    },
    close: (): void => kept.clear()
  }
}

/** The index of the first entry whose name comes after this one. */
function firstBehind(found: readonly FolderEntry[], name: string): number {
  let low = 0
  let high = found.length
  while (low < high) {
    const middle = (low + high) >> 1
    if (compareNames(found[middle]!.name, name) > 0) high = middle
    else low = middle + 1
  }
  return low
}

/** The stat of each entry. Its directories are opened one by one again, so that a link put into a path is not followed. */
async function describeAll(directory: Directory, page: readonly FolderEntry[], pause: Pause): Promise<ListedEntry[]> {
  const entries: ListedEntry[] = []
  const parents = createParentChain(directory)
  try {
    for (const { name, type } of page) {
      await pause()
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
    /** The directory at a relative path; undefined if it is gone. */
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
