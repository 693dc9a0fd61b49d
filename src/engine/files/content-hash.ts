// The hash by which a version of a file is named.
import { createHash, hash as hashOf } from 'node:crypto'
import { largeBytes, largeTurn, pieceBytes } from '../../support/large-work.ts'

/** @returns `sha256:` and 64 hex digits */
export function contentHash(bytes: Buffer | string): string {
  return `sha256:${hashOf('sha256', bytes, 'hex')}`
}

/** The same; of large content in pieces, so that other calls are served between them. */
export async function hashInTurns(bytes: Buffer): Promise<string> {
  if (bytes.length <= largeBytes) return contentHash(bytes)
  const hash = createHash('sha256')
  for (let at = 0; at < bytes.length; at += pieceBytes) {
    await largeTurn()
    hash.update(bytes.subarray(at, at + pieceBytes))
  }
  return `sha256:${hash.digest('hex')}`
}
