// The steps that the operations on files share: read and remember a version, record a change.
import { contentHash, type FileVersion } from '../files/read-file.ts'
import type { FileIdentity } from '../files/identity.ts'
import type { Place } from '../files/walk.ts'
import type { OperationContext } from './context.ts'

/** Reads the file at a place and remembers its bytes as a base. A version nobody here has made is noted as an external change. */
export async function readVersion(
  { files, bases }: OperationContext,
  place: Place,
  path: string
): Promise<FileVersion> {
  const version = await files.read(place, path)
  bases.remember(place.path, version.hash, version.bytes, version.identity)
  return version
}

/** Remembers a version that this call has made. @returns its hash */
export function recordVersion(
  { bases, caller }: OperationContext,
  operation: string,
  place: Place,
  bytes: Buffer,
  identity: FileIdentity
): string {
  const hash = contentHash(bytes)
  bases.remember(place.path, hash, bytes, identity, { agentId: caller.agentId ?? 'anonymous', operation })
  return hash
}

/** For answers of changing operations: other names that keep the old bytes. */
export function linksBroken({ links }: FileVersion): { links_broken?: number } {
  return links > 1 ? { links_broken: links - 1 } : {}
}

export function timestamp(): string {
  return new Date().toISOString()
}
