// Keeps the bytes of files that differ from HEAD, as they are first seen: what a command discards of them can come back.
import { lstatSync, type BigIntStats } from 'node:fs'
import type { Config } from '../../../schemas/config.ts'
import { orUndefined } from '../../support/attempt.ts'
import { createSlices } from '../../support/slices.ts'
import { isSameIdentity } from '../files/identity.ts'
import { examine, type ExamineParts } from '../watcher/examine.ts'

export interface KeepBounds {
  readonly maxFiles: number
  readonly maxBytes: number
  /** Beyond it a file is not read. */
  readonly maxFileBytes: number
}

export interface Kept {
  /** Files that had to be read. */
  readonly read: number
  /** Files beyond the bounds. */
  readonly left: number
}

/** Undefined if nothing is kept. */
export function keepBoundsOf({ hooks, crud }: Pick<Config, 'hooks' | 'crud'>): KeepBounds | undefined {
  if (hooks.git === 'off') return undefined
  const { keep_files: maxFiles, keep_bytes: maxBytes } = hooks
  return { maxFiles, maxBytes, maxFileBytes: crud.max_file_size_bytes }
}

/** @param paths absolute; what is there and has not changed since the log knows it is not read again */
export async function keepUnsaved(
  paths: Iterable<string>,
  parts: ExamineParts,
  { maxFiles, maxBytes, maxFileBytes }: KeepBounds
): Promise<Kept> {
  const { pause } = createSlices()
  let [read, left, bytes] = [0, 0, 0]
  for (const path of paths) {
    await pause()
    const stat = orUndefined(() => lstatSync(path, { bigint: true }))
    if (stat?.isFile() !== true || isKept(path, stat, parts)) continue
    const size = Number(stat.size)
    if (read >= maxFiles || bytes + size > maxBytes || size > maxFileBytes) {
      left += 1
      continue
    }
    read += 1
    bytes += size
    await examine(path, () => false, parts)
  }
  return { read, left }
}

function isKept(path: string, stat: BigIntStats, { history, bases }: ExamineParts): boolean {
  const known = history.known(path)
  if (known?.identity === undefined || !known.identity.isTrusted) return false
  return isSameIdentity(stat, known.identity) && bases.has(known.hash)
}
