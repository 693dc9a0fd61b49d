// Whether a file is still the one that was read, according to stat.
import type { BigIntStats } from 'node:fs'
import { isSameFile } from '../../support/same-file.ts'

/** Distinguishes one version of a file from another. */
type Stamps = Pick<BigIntStats, 'dev' | 'ino' | 'size' | 'mtimeNs' | 'ctimeNs'>

export interface FileIdentity extends Readonly<Stamps> {
  /** Zero where the file system does not say when a file was made. It does not distinguish versions. */
  readonly birthtimeNs: bigint
  /** Permission bits; they do not distinguish versions. Undefined if the file was not examined. */
  readonly mode?: number
  /** False if the file had changed so shortly before that a further change may carry the very same times. */
  readonly isTrusted: boolean
  /** True if it had not changed for so long that a program which writes through a memory map would have to change its times again. */
  readonly isSettled?: boolean
}

/** File systems stamp changes with a coarse clock (a scheduler tick, up to 10 ms; FAT 2 s for mtime, yet it has no ctime to agree with). */
const clockGrainNs = 50_000_000n

/**
 * A write through a memory map changes the times only if its page has been written to the disk since the one before: by default Linux does
 * that after 30 to 35 seconds. File systems in memory (tmpfs) never do, nor do their times show such writes.
 */
const writebackNs = 60_000_000_000n

export function identityOf(stat: BigIntStats, nowMs = Date.now()): FileIdentity {
  const { dev, ino, size, mtimeNs, ctimeNs, birthtimeNs } = stat
  const age = BigInt(Math.trunc(nowMs)) * 1_000_000n - ctimeNs
  const mode = Number(stat.mode) & 0o7777
  const isTrusted = age > clockGrainNs
  return { dev, ino, size, mtimeNs, ctimeNs, birthtimeNs, mode, isTrusted, isSettled: age > writebackNs }
}

/** Of a file that could not be examined: it equals no other, so that the next look reads the bytes. */
export const unknownIdentity: FileIdentity = {
  dev: 0n,
  ino: 0n,
  size: -1n,
  mtimeNs: 0n,
  ctimeNs: 0n,
  birthtimeNs: 0n,
  isTrusted: false
}

export function isSameIdentity(a: Stamps, b: Stamps): boolean {
  return isSameFile(a, b) && a.size === b.size && a.mtimeNs === b.mtimeNs && a.ctimeNs === b.ctimeNs
}
