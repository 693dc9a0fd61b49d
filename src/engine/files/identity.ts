// Whether a file is still the one that was read, according to stat.
import type { BigIntStats } from 'node:fs'
import { isSameFile } from '../../support/same-file.ts'

/** Distinguishes one version of a file from another. */
type Stamps = Pick<BigIntStats, 'dev' | 'ino' | 'size' | 'mtimeNs' | 'ctimeNs'>

export interface FileIdentity extends Readonly<Stamps> {
  /** Permission bits; they do not distinguish versions. Undefined if the file was not examined. */
  readonly mode?: number
  /** False if the file had changed so shortly before that a further change may carry the very same times. */
  readonly isTrusted: boolean
}

/** File systems stamp changes with a coarse clock (a scheduler tick, up to 10 ms; FAT 2 s for mtime, yet it has no ctime to agree with). */
const clockGrainNs = 50_000_000n

export function identityOf({ dev, ino, size, mtimeNs, ctimeNs, mode }: BigIntStats, nowMs = Date.now()): FileIdentity {
  const isTrusted = BigInt(Math.trunc(nowMs)) * 1_000_000n - ctimeNs > clockGrainNs
  return { dev, ino, size, mtimeNs, ctimeNs, mode: Number(mode) & 0o7777, isTrusted }
}

/** Of a file that could not be examined: it equals no other, so that the next look reads the bytes. */
export const unknownIdentity: FileIdentity = { dev: 0n, ino: 0n, size: -1n, mtimeNs: 0n, ctimeNs: 0n, isTrusted: false }

export function isSameIdentity(a: Stamps, b: Stamps): boolean {
  return isSameFile(a, b) && a.size === b.size && a.mtimeNs === b.mtimeNs && a.ctimeNs === b.ctimeNs
}
