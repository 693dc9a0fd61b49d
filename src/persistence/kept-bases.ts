// The second level of the bases: on the disk, for processes to come.
import { mkdirSync } from 'node:fs'
import type { BaseStore } from '../files/bases.ts'
import { contentHash } from '../files/read-file.ts'
import { createBaseFiles, type BaseLimits } from './base-files.ts'
import { createFreshBases } from './fresh-bases.ts'

export interface KeptBasesOptions extends BaseLimits {
  /** How long fresh bytes are gathered before they are compressed. */
  readonly debounceMs: number
  /** Told of what keeps bytes from being kept; undefined when that is over. */
  readonly onTrouble: (error: Error | undefined) => void
}

export interface KeptBases extends BaseStore {
  /** @throws Error where the folder cannot be made or read */
  readonly open: () => void
  /** Makes what was put survive a power loss, as far as it is not compressed. */
  readonly sync: () => Promise<void>
  readonly close: () => void
}

const prefix = 'sha256:'
/** What is larger survives the process a moment later: written at once it would keep everybody waiting. */
const maxSyncBytes = 1_048_576
const makeRoomEachMs = 3_600_000

export function createKeptBases(folder: string, options: KeptBasesOptions): KeptBases {
  const { debounceMs, maxBytes, onTrouble } = options
  const files = createBaseFiles(folder, options)
  const fresh = createFreshBases(folder)
  /** Being compressed. */
  const large = new Map<string, Buffer>()
  let largeBytes = 0
  let ended = new AbortController()
  let isOpen = false
  let timer: NodeJS.Timeout | undefined
  let lookedAt = 0

  function schedule(): void {
    timer ??= setTimeout(() => {
      compress()
        .then(makeRoom)
        .then(
          () => onTrouble(undefined),
          (error: Error) => !ended.signal.aborted && onTrouble(error)
        )
        .finally(() => {
          timer = undefined
          if (isOpen && fresh.size > 0) schedule()
        })
    }, debounceMs).unref()
  }

  async function compress(): Promise<void> {
    for (const hash of fresh.seal()) {
      if (ended.signal.aborted) return
      const bytes = await fresh.get(hash)
      if (bytes !== undefined && isWhole(hash, bytes)) await files.put(hash, bytes)
      if (!ended.signal.aborted) fresh.forget(hash)
    }
  }

  /** Too large to be written in one go: they are compressed at once. */
  async function putLarge(hash: string, bytes: Buffer): Promise<void> {
    large.set(hash, bytes)
    largeBytes += bytes.length
    try {
      await files.put(hash, bytes)
    } catch (error) {
      onTrouble(error as Error)
    }
    large.delete(hash)
    largeBytes -= bytes.length
  }

  function putFresh(hash: string, bytes: Buffer): void {
    try {
      fresh.put(hash, bytes)
      schedule()
    } catch (error) {
      onTrouble(error as Error)
    }
  }

  const isKept = (hash: string): boolean => fresh.has(hash) || large.has(hash) || files.has(hash)

  async function makeRoom(): Promise<void> {
    const now = performance.now()
    if (!files.mayNeedRoom() && now - lookedAt < makeRoomEachMs) return
    lookedAt = now
    await files.makeRoom(ended.signal)
  }

  return {
    open() {
      mkdirSync(folder, { recursive: true, mode: 0o700 })
      fresh.open()
      ended = new AbortController()
      isOpen = true
      schedule()
    },
    has(hash) {
      const hex = hash.slice(prefix.length)
      return isOpen && isKept(hex)
    },
    put(hash, bytes) {
      const hex = hash.slice(prefix.length)
      if (!isOpen || isKept(hex) || fresh.size + largeBytes + bytes.length > maxBytes) return
      if (bytes.length > maxSyncBytes) void putLarge(hex, bytes)
      else putFresh(hex, bytes)
    },
    async get(hash) {
      if (!isOpen) return undefined
      const hex = hash.slice(prefix.length)
      // Compressed while they are read, they may be read from a file that is closed, and are where they were not a moment ago.
      const recent = large.get(hex) ?? (await fresh.get(hex).catch(() => undefined))
      if (recent !== undefined && isWhole(hex, recent)) return recent
      const stored = await files.get(hex)
      if (stored === undefined || isWhole(hex, stored)) return stored
      await files.remove(hex)
      return undefined
    },
    sync: () => fresh.sync(),
    close() {
      isOpen = false
      ended.abort()
      clearTimeout(timer)
      timer = undefined
      fresh.close()
    }
  }
}

function isWhole(hash: string, bytes: Buffer): boolean {
  return contentHash(bytes) === prefix + hash
}
