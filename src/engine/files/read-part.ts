// Reads a part of a regular file, however large the file is: only the part is in memory.
import { identityOf, type FileIdentity } from './identity.ts'
import { readRange, type ByteRange, type ReadLimits } from './read-file.ts'
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
  wanted: { readonly offset: number; readonly length: number },
  limits: Pick<ReadLimits, 'maxSyncBytes'>
): Promise<FilePart> {
  const { bytes, start, stat } = await readRange(place, path, limits, (size) => within(size, wanted))
  return { bytes, start, size: Number(stat.size), identity: identityOf(stat) }
}

function within(size: number, { offset, length }: { readonly offset: number; readonly length: number }): ByteRange {
  const start = Math.min(offset, size)
  return { start, length: Math.min(length, size - start) }
}
