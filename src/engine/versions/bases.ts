// The bytes behind the hashes that the server has handed out, for diffs, merges and past versions.
import { LRUCache } from 'lru-cache'
import type { KnownText } from './known-text.ts'
import { createKnownTexts } from './known-texts.ts'

/** Where bytes are kept beyond the memory of this process. */
export interface BaseStore {
  /** Undefined if they are not kept, or no longer match. */
  readonly get: (hash: string) => Promise<Buffer | undefined>
  readonly has: (hash: string) => boolean
  /** Stores them in its own time; cheap if it has them. */
  readonly put: (hash: string, bytes: Buffer) => void
}

interface BasesOptions {
  /** Bound on the bytes kept in memory; the least recently used go first. A sixteenth of it each bounds the texts made of them, and what refused changes would have made. */
  readonly maxBytes: number
}

export type Bases = ReturnType<typeof createBases>

export function createBases({ maxBytes }: BasesOptions) {
  const contents = boundedBuffers(maxBytes)
  /** What changes would have made that were refused: of no version, so that it displaces none, and is not stored. */
  const refused = boundedBuffers(Math.floor(maxBytes / 16))
  const texts = createKnownTexts(Math.floor(maxBytes / 16))
  let store: BaseStore | undefined

  return {
    keep(hash: string, bytes: Buffer): void {
      const known = contents?.get(hash)
      if (known === undefined) contents?.set(hash, unpooled(bytes))
      // The store may not have taken them before, and ranks them by when they were last handed out.
      store?.put(hash, known ?? bytes)
    },
    /** What a change would have made that was refused: kept as long as there is room beside the versions. */
    keepRefused: (hash: string, bytes: Buffer): void => void refused?.set(hash, unpooled(bytes)),
    /** The bytes behind a hash, or undefined if they are no longer kept. */
    get: async (hash: string): Promise<Buffer | undefined> =>
      contents?.get(hash) ?? refused?.get(hash) ?? store?.get(hash),
    /** The same, if they are in memory. */
    inMemory: (hash: string): Buffer | undefined => contents?.get(hash),
    /** The text of bytes in UTF-8 that are kept here. @param decode called for bytes whose text is not kept */
    textOf: (bytes: Buffer, decode: () => string): KnownText => texts.of(bytes, decode),
    /** In memory: of the versions, and of the texts made of them. */
    get sizes() {
      const sizeOf = (kept: typeof contents) => kept?.calculatedSize ?? 0
      return { contents: sizeOf(contents) + sizeOf(refused), texts: texts.size }
    },
    has: (hash: string): boolean => contents?.has(hash) === true || store?.has(hash) === true,
    /** From now on, what is kept here is stored there, too. */
    attach(next: BaseStore): void {
      store = next
    }
  }
}

function boundedBuffers(maxSize: number): LRUCache<string, Buffer> | undefined {
  return maxSize > 0 ? new LRUCache({ maxSize, sizeCalculation: ({ length }) => length + 200 }) : undefined
}

/** A small buffer is often a slice of a larger one that it would keep in memory, uncounted. */
function unpooled(bytes: Buffer): Buffer {
  if (bytes.buffer.byteLength === bytes.length) return bytes
  const copy = Buffer.allocUnsafeSlow(bytes.length)
  bytes.copy(copy)
  return copy
}
