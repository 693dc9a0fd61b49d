// The bytes behind the hashes that the server has handed out: from them come the diffs, merges and versions of the past.
import { LRUCache } from 'lru-cache'

/** Where bytes are kept beyond the memory of this process. */
export interface BaseStore {
  /** Undefined where they are not kept, or no longer what they were. */
  readonly get: (hash: string) => Promise<Buffer | undefined>
  readonly has: (hash: string) => boolean
  /** Takes them in its own time; cheap where it has them. */
  readonly put: (hash: string, bytes: Buffer) => void
}

interface BasesOptions {
  /** Bound on the bytes kept in memory; the least recently used go first. */
  readonly maxBytes: number
}

export type Bases = ReturnType<typeof createBases>

export function createBases({ maxBytes }: BasesOptions) {
  const contents =
    maxBytes > 0
      ? new LRUCache<string, Buffer>({ maxSize: maxBytes, sizeCalculation: ({ length }) => length + 200 })
      : undefined
  let store: BaseStore | undefined

  return {
    keep(hash: string, bytes: Buffer): void {
      const known = contents?.get(hash)
      if (known === undefined) contents?.set(hash, unpooled(bytes))
      // It may not have taken them the last time, and goes by when they were last handed out.
      store?.put(hash, known ?? bytes)
    },
    /** The bytes behind a hash, or undefined where they are no longer kept. */
    get: async (hash: string): Promise<Buffer | undefined> => contents?.get(hash) ?? store?.get(hash),
    has: (hash: string): boolean => contents?.has(hash) === true || store?.has(hash) === true,
    /** From now on, what is kept is kept there, too. */
    attach(next: BaseStore): void {
      store = next
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
