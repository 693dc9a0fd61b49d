// Permanent storage for the bytes of versions: one compressed file each, named after the hash, so that nothing is loaded at the start.
import { randomBytes } from 'node:crypto'
import { closeSync, lstatSync, readdirSync, readFile, utimesSync } from 'node:fs'
import { lstat, readdir, rename, unlink, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { deflateRaw, inflateRaw } from 'node:zlib'
import { attempt, orUndefined } from '../../support/attempt.ts'
import { isErrno } from '../../support/errno.ts'
import { makeFolder } from '../../support/make-folder.ts'
import { openOwn } from './open-own.ts'

interface StoredFile {
  readonly path: string
  /** Bytes that it takes on the disk. */
  readonly size: number
  readonly usedMs: number
}

export interface BaseLimits {
  readonly maxBytes: number
  readonly maxAgeMs: number
}

const deflate = promisify(deflateRaw)
const inflate = promisify(inflateRaw)
const readFileAsync = promisify(readFile)
/** The first byte of a file. */
const plain = 0
const deflated = 1
const temporarySuffix = '.new'
/** No process takes this long to write one file. */
const abandonedMs = 3_600_000
/** The time of last use is updated at most this often. */
const touchEachMs = 86_400_000
/** Making room goes down to this share of the limit, so that the next write does not need room again. */
const roomyShare = 0.9

/** @param folder that is there. Hashes are 64 hex digits here */
export function createBaseFiles(folder: string, { maxBytes, maxAgeMs }: BaseLimits) {
  const pathOf = (hash: string) => join(folder, hash.slice(0, 2), hash.slice(2))
  /** Written since room was last made. */
  let writtenBytes = Infinity

  async function* all(signal: AbortSignal): AsyncGenerator<StoredFile, undefined> {
    for (const shard of readdirSync(folder).filter((name) => name.length === 2)) {
      for (const name of await readdir(join(folder, shard)).catch(() => [])) {
        if (signal.aborted) return
        const path = join(folder, shard, name)
        const found = await lstat(path).catch(() => undefined)
        if (found?.isFile() !== true) continue
        const isTemporary = name.endsWith(temporarySuffix)
        if (!isTemporary) yield { path, size: found.blocks * 512, usedMs: found.mtimeMs }
        // A process has died while writing it.
        else if (Date.now() - found.mtimeMs > abandonedMs) await unlink(path).catch(() => {})
      }
    }
  }

  function lastUse(path: string): number | undefined {
    const found = orUndefined(() => lstatSync(path, { throwIfNoEntry: false }))
    return found?.isFile() === true ? found.mtimeMs : undefined
  }

  function touch(path: string): void {
    const now = new Date()
    // Else it keeps its earlier time of use.
    attempt(() => utimesSync(path, now, now))
  }

  return {
    has: (hash: string): boolean => lastUse(pathOf(hash)) !== undefined,
    /** Marks the bytes as used. @returns whether they are there */
    use(hash: string): boolean {
      const path = pathOf(hash)
      const usedMs = lastUse(path)
      if (usedMs !== undefined && Date.now() - usedMs > Math.min(touchEachMs, maxAgeMs / 2)) touch(path)
      return usedMs !== undefined
    },
    /** Does not check that the bytes still match the hash. Undefined if there are none that can be read. */
    async get(hash: string): Promise<Buffer | undefined> {
      const path = pathOf(hash)
      try {
        const stored = await readOwn(path)
        const content = stored.subarray(1)
        const bytes = stored[0] === deflated ? await inflate(content) : content
        touch(path)
        return bytes
      } catch (error) {
        if (!isErrno(error, 'ENOENT', 'EMFILE', 'ENFILE')) await unlink(path).catch(() => {})
        return undefined
      }
    },
    /** @throws Error if they are not stored */
    async put(hash: string, bytes: Buffer): Promise<void> {
      const packed = await deflate(bytes, { level: 3 })
      const [kind, content] = packed.length < bytes.length ? [deflated, packed] : [plain, bytes]
      const path = pathOf(hash)
      makeFolder(folder)
      makeFolder(join(folder, hash.slice(0, 2)))
      const temporary = `${path}-${randomBytes(4).toString('hex')}${temporarySuffix}`
      try {
        await writeFile(temporary, Buffer.concat([Buffer.of(kind), content]), { mode: 0o600, flag: 'wx' })
        await rename(temporary, path)
      } catch (error) {
        await unlink(temporary).catch(() => {})
        throw error
      }
      writtenBytes += content.length
    },
    remove: (hash: string): Promise<void> => unlink(pathOf(hash)).catch(() => {}),
    /** True at first, and after much has been written. */
    mayNeedRoom: (): boolean => writtenBytes > maxBytes * (1 - roomyShare),
    /** Removes what has been unused for too long, then the least recently used until the rest fits. @returns how many files */
    async makeRoom(signal: AbortSignal): Promise<number> {
      writtenBytes = 0
      const oldest = Date.now() - maxAgeMs
      const files: StoredFile[] = []
      let total = 0
      for await (const file of all(signal)) {
        files.push(file)
        total += file.size
      }
      files.sort((one, other) => one.usedMs - other.usedMs)
      const bound = total > maxBytes ? maxBytes * roomyShare : maxBytes
      let removed = 0
      for (const { path, size, usedMs } of files) {
        if (signal.aborted || (usedMs >= oldest && total <= bound)) break
        await unlink(path).catch(() => {})
        total -= size
        removed += 1
      }
      return removed
    }
  }
}

async function readOwn(path: string): Promise<Buffer> {
  const { fd } = openOwn(path)
  try {
    return await readFileAsync(fd)
  } finally {
    closeSync(fd)
  }
}
