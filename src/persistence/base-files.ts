// The bytes of versions for good: compressed, each in a file that is named after their hash, so that nothing has to be loaded at the start.
import { existsSync, mkdirSync, readdirSync } from 'node:fs'
import { readdir, readFile, rename, stat, unlink, utimes, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { deflateRaw, inflateRaw } from 'node:zlib'
import { isErrno } from '../errno.ts'

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

export type BaseFiles = ReturnType<typeof createBaseFiles>

const deflate = promisify(deflateRaw)
const inflate = promisify(inflateRaw)
/** The first byte of a file. */
const plain = 0
const deflated = 1
const temporarySuffix = '.new'
/** After making room this share is taken, so that it is not made again at once. */
const roomyShare = 0.9

/** @param folder that is there. Hashes are 64 hex digits here */
export function createBaseFiles(folder: string, { maxBytes, maxAgeMs }: BaseLimits) {
  const pathOf = (hash: string) => join(folder, hash.slice(0, 2), hash.slice(2))
  /** Written since room was last made. */
  let writtenBytes = Infinity

  async function* all(signal: AbortSignal): AsyncGenerator<StoredFile, undefined> {
    for (const shard of readdirSync(folder).filter((name) => name.length === 2)) {
      for (const name of await readdir(join(folder, shard))) {
        if (signal.aborted) return
        const path = join(folder, shard, name)
        const found = await stat(path).catch(() => undefined)
        if (found?.isFile() !== true) continue
        // A process has died over it.
        if (name.endsWith(temporarySuffix)) await unlink(path)
        else yield { path, size: found.blocks * 512, usedMs: found.mtimeMs }
      }
    }
  }

  return {
    has: (hash: string): boolean => existsSync(pathOf(hash)),
    /** Not looked at: whether they still are what they were. Undefined where there are none that can be read. */
    async get(hash: string): Promise<Buffer | undefined> {
      const path = pathOf(hash)
      try {
        const stored = await readFile(path)
        const content = stored.subarray(1)
        const bytes = stored[0] === deflated ? await inflate(content) : content
        const now = new Date()
        await utimes(path, now, now).catch(() => {})
        return bytes
      } catch (error) {
        if (!isErrno(error, 'ENOENT')) await unlink(path).catch(() => {})
        return undefined
      }
    },
    /** @throws Error where they are not stored */
    async put(hash: string, bytes: Buffer): Promise<void> {
      const packed = await deflate(bytes, { level: 3 })
      const [kind, content] = packed.length < bytes.length ? [deflated, packed] : [plain, bytes]
      const path = pathOf(hash)
      mkdirSync(join(folder, hash.slice(0, 2)), { recursive: true, mode: 0o700 })
      const temporary = path + temporarySuffix
      try {
        await writeFile(temporary, Buffer.concat([Buffer.of(kind), content]), { mode: 0o600 })
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
    /** Removes what has not been used for too long, and of the rest the least recently used as far as it is too much. @returns how many files */
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
