// What the server remembers of the files: the bytes behind every hash it has handed out, and who made which version.
import { LRUCache } from 'lru-cache'
import type { FileIdentity } from './identity.ts'

/** Who made a version. */
export interface Author {
  /** `external` for a change made outside the server. */
  readonly agentId: string
  readonly operation: string
}

interface Version extends Author {
  readonly hash: string
  /** True for a version that was there when the file was first looked at: nobody is known to have made it. */
  readonly isFirstSight?: boolean
  /** Milliseconds since the epoch. */
  readonly at: number
}

interface TrackedFile {
  identity: FileIdentity
  /** Oldest first; the last one is the version known to be there. */
  readonly versions: Version[]
}

interface BasesOptions {
  /** Bound on the bytes kept; the least recently used go first. */
  readonly maxBytes: number
  /** Bound on the files whose history is kept. */
  readonly maxFiles?: number
  /** Versions remembered of one file. */
  readonly maxVersions?: number
  readonly now?: () => number
}

export type Bases = ReturnType<typeof createBases>

const external: Author = { agentId: 'external', operation: 'external' }

export function createBases({ maxBytes, maxFiles = 10_000, maxVersions = 100, now = Date.now }: BasesOptions) {
  const contents =
    maxBytes > 0
      ? new LRUCache<string, Buffer>({ maxSize: maxBytes, sizeCalculation: ({ length }) => length + 200 })
      : undefined
  const files = new LRUCache<string, TrackedFile>({ max: maxFiles })

  /** Notes that these bytes stand at this path. Without an author a hash that was not known before is an external change. */
  function remember(path: string, hash: string, bytes: Buffer, identity: FileIdentity, author?: Author): void {
    if (contents !== undefined && contents.get(hash) === undefined) contents.set(hash, unpooled(bytes))
    const tracked = files.get(path)
    if (tracked === undefined) {
      const isFirstSight = author === undefined
      files.set(path, { identity, versions: [{ hash, at: now(), ...(author ?? external), isFirstSight }] })
      return
    }
    const isNew = tracked.versions.at(-1)?.hash !== hash
    if (author !== undefined || isNew) {
      const at = author === undefined ? Number(identity.mtimeNs / 1_000_000n) : now()
      tracked.versions.push({ hash, at, ...(author ?? external) })
      if (tracked.versions.length > maxVersions) tracked.versions.shift()
    }
    tracked.identity = identity
  }

  return {
    remember,
    /** The bytes behind a hash, or undefined where they are no longer kept. */
    get: (hash: string): Buffer | undefined => contents?.get(hash),
    /** The last version known at a path, and the identity the file had then. */
    known(path: string): { hash: string; identity: FileIdentity } | undefined {
      const tracked = files.peek(path)
      const hash = tracked?.versions.at(-1)?.hash
      return tracked === undefined || hash === undefined ? undefined : { hash, identity: tracked.identity }
    },
    /** The changes at a path after it had this hash, oldest first, as far as known. */
    modifiedSince(path: string, hash: string): { agent_id: string; operation: string; at: string }[] {
      const versions = files.peek(path)?.versions ?? []
      const base = versions.findLastIndex((version) => version.hash === hash)
      // A hash that was never known here says nothing about what was there before.
      const isForeign = base === -1 && contents?.has(hash) !== true
      return versions
        .slice(base + 1)
        .filter(({ isFirstSight }) => !(isForeign && isFirstSight === true))
        .map(({ agentId, operation, at }) => ({ agent_id: agentId, operation, at: new Date(at).toISOString() }))
    },
    forget: (path: string): boolean => files.delete(path),
    /** Number of files whose history is kept. */
    get trackedFiles(): number {
      return files.size
    }
  }
}

/** A small buffer is often a slice of a larger one that it would keep in memory, uncounted. */
function unpooled(bytes: Buffer): Buffer {
  if (bytes.buffer.byteLength === bytes.length) return bytes
  const copy = Buffer.allocUnsafeSlow(bytes.length)
  bytes.copy(copy)
  return copy
}
