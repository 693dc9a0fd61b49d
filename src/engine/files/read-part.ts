// Reads a part of a regular file, from one descriptor, however large the file is: only the part is in memory.
import { fstatSync } from 'node:fs'
import { closeReader } from './close-reader.ts'
import { identityOf, isSameIdentity, type FileIdentity } from './identity.ts'
import { checkOpened, maxTornReads, openForReading, readBytes, requireRegular, type ReadLimits } from './read-file.ts'
import { explainWalkError } from './walk-error.ts'
import type { OpenEntry } from './walk.ts'

export interface FilePart {
  readonly bytes: Buffer
  /** Where it begins: at the end of the file, if that comes first. */
  readonly start: number
  /** Of the whole file, in bytes. */
  readonly size: number
  readonly identity: FileIdentity
}

/** @throws OperationError FILE_NOT_FOUND, NOT_A_FILE, ACCESS_DENIED, READ_ERROR */
export async function readPart(
  place: OpenEntry,
  path: string,
  { offset, length }: { readonly offset: number; readonly length: number },
  limits: Pick<ReadLimits, 'maxSyncBytes'>
): Promise<FilePart> {
  requireRegular(place.stat, path)
  const fd = openForReading(place, path)
  try {
    for (let attempt = 1; ; attempt += 1) {
      const before = fstatSync(fd, { bigint: true })
      checkOpened(before, place, path)
      const size = Number(before.size)
      const start = Math.min(offset, size)
      const wanted = Math.min(length, size - start)
      const bytes = await readBytes(fd, { start, length: wanted }, limits)
      const identity = identityOf(fstatSync(fd, { bigint: true }))
      // Another program writes in place right now: the part may be torn.
      const isWhole = isSameIdentity(identityOf(before), identity) && bytes.length === wanted
      if (isWhole || attempt === maxTornReads) return { bytes, start, size, identity }
    }
  } catch (error) {
    throw explainWalkError(error, path)
  } finally {
    closeReader(fd)
  }
}
