// The second level of the bases: on the disk, for later processes.
import { atMost } from '../../support/at-most.ts'
import { isErrno } from '../../support/errno.ts'
import { makeFolder } from '../../support/make-folder.ts'
import type { BaseStore } from '../../engine/versions/bases.ts'
import { contentHash } from '../../engine/files/content-hash.ts'
import { createBaseFiles, type BaseLimits } from './base-files.ts'
import { createFreshBases } from './fresh-bases.ts'

export interface KeptBasesOptions extends BaseLimits {
  /** How long fresh bytes are gathered before they are compressed. */
  readonly debounceMs: number
  /** Called with what keeps bytes from being stored; undefined when that is over. */
  readonly onTrouble: (error: Error | undefined) => void
}

export interface KeptBases extends BaseStore {
  /** Also called again after the folder had gone. @throws Error if it cannot be made or read */
  readonly open: () => void
  /** Makes the bytes that are not yet compressed survive a power loss. */
  readonly sync: () => Promise<void>
  /** Resolves when the bytes too large for one write are stored, and after this time at the latest. */
  readonly settle: (limitMs: number) => Promise<void>
  readonly close: () => void
}

const prefix = 'sha256:'
/** Larger bytes survive the process a moment later: written at once, they would block every other call. */
const maxSyncBytes = 1_048_576
const makeRoomEachMs = 3_600_000
/** Delay before bytes that could not be stored are stored again. */
const retryMs = 2000
/** Bound on the bytes that wait for that. */
const maxMissedBytes = 16_777_216

export function createKeptBases(folder: string, options: KeptBasesOptions): KeptBases {
  const { debounceMs, maxBytes, onTrouble } = options
  const files = createBaseFiles(folder, options)
  const fresh = createFreshBases(folder)
  /** Being compressed. */
  const large = new Map<string, Buffer>()
  let largeBytes = 0
  const storing = new Set<Promise<void>>()
  /** Could not be stored: the disk was full, or the folder gone. */
  const missed = new Map<string, Buffer>()
  let missedBytes = 0
  let ended = new AbortController()
  let isOpen = false
  let timer: NodeJS.Timeout | undefined
  let lookedAt = 0

  function schedule(inMs = debounceMs): void {
    timer ??= setTimeout(() => void work(), inMs).unref()
  }

  async function work(): Promise<void> {
    const { signal } = ended
    let nextMs = debounceMs
    try {
      await compress(signal)
      await storeMissed(signal)
      await makeRoom()
      if (!signal.aborted) onTrouble(undefined)
    } catch (error) {
      if (!signal.aborted) onTrouble(error as Error)
      nextMs = Math.max(debounceMs, retryMs)
    }
    if (signal.aborted) return
    timer = undefined
    if (fresh.size > 0 || missed.size > 0) schedule(nextMs)
  }

  async function compress(signal: AbortSignal): Promise<void> {
    let failure: Error | undefined
    for (const hash of fresh.seal()) {
      if (signal.aborted) return
      const bytes = await fresh.get(hash).catch(() => undefined)
      try {
        if (bytes !== undefined && isWhole(hash, bytes)) await files.put(hash, bytes)
      } catch (error) {
        // Something else is in its place: the other bytes can be stored.
        if (!isErrno(error, 'EISDIR', 'ENOTDIR', 'EEXIST')) throw error
        failure = error
      }
      if (!signal.aborted) fresh.forget(hash)
    }
    if (failure !== undefined) throw failure
  }

  async function storeMissed(signal: AbortSignal): Promise<void> {
    for (const [hash, bytes] of missed) {
      if (signal.aborted) return
      if (!isKept(hash)) await files.put(hash, bytes)
      forgetMissed(hash)
    }
  }

  function miss(hash: string, bytes: Buffer, error: Error): void {
    if (!isOpen) return
    onTrouble(error)
    // At least one is kept: storing it again shows whether the trouble is over.
    if (!missed.has(hash) && (missed.size === 0 || missedBytes + bytes.length <= maxMissedBytes)) {
      missed.set(hash, bytes)
      missedBytes += bytes.length
    }
    schedule(Math.max(debounceMs, retryMs))
  }

  function forgetMissed(hash: string): void {
    const bytes = missed.get(hash)
    if (missed.delete(hash)) missedBytes -= bytes?.length ?? 0
  }

  /** Too large for one write: they are compressed at once. */
  async function putLarge(hash: string, bytes: Buffer): Promise<void> {
    large.set(hash, bytes)
    largeBytes += bytes.length
    try {
      await files.put(hash, bytes)
    } catch (error) {
      miss(hash, bytes, error as Error)
    }
    large.delete(hash)
    largeBytes -= bytes.length
  }

  function putFresh(hash: string, bytes: Buffer): void {
    try {
      fresh.put(hash, bytes)
      forgetMissed(hash)
      schedule()
    } catch (error) {
      miss(hash, bytes, error as Error)
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
      makeFolder(folder)
      fresh.open()
      if (!isOpen) ended = new AbortController()
      isOpen = true
      schedule()
    },
    has(hash) {
      const hex = hash.slice(prefix.length)
      return isOpen && isKept(hex)
    },
    put(hash, bytes) {
      const hex = hash.slice(prefix.length)
      if (!isOpen || fresh.has(hex) || large.has(hex) || files.use(hex)) return
      if (fresh.size + largeBytes + bytes.length > maxBytes) return
      if (bytes.length <= maxSyncBytes) return putFresh(hex, bytes)
      const stored: Promise<void> = putLarge(hex, bytes).finally(() => storing.delete(stored))
      storing.add(stored)
    },
    async get(hash) {
      if (!isOpen) return undefined
      const hex = hash.slice(prefix.length)
      // While they are read, they may be compressed: then their file is closed, and they are where they were not a moment ago.
      const recent = large.get(hex) ?? (await fresh.get(hex).catch(() => undefined))
      if (recent !== undefined && isWhole(hex, recent)) return recent
      const stored = await files.get(hex)
      if (stored === undefined || isWhole(hex, stored)) return stored
      await files.remove(hex)
      return undefined
    },
    sync: () => fresh.sync(),
    async settle(limitMs) {
      await atMost(limitMs, Promise.all(storing))
    },
    close() {
      isOpen = false
      ended.abort()
      clearTimeout(timer)
      timer = undefined
      fresh.close()
      missed.clear()
      missedBytes = 0
    }
  }
}

function isWhole(hash: string, bytes: Buffer): boolean {
  return contentHash(bytes) === prefix + hash
}
