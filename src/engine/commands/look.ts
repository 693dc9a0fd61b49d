// Looks at files that were not in use, for a command.
import { opendirSync } from 'node:fs'
import { join } from 'node:path'
import type { ExamineParts } from '../watcher/examine.ts'
import { linkAt } from '../versions/link-at.ts'
import { type Now, nothing } from '../versions/made-step.ts'
import { beginGlance } from '../versions/observed-version.ts'
import { OperationError } from '../../errors.ts'
import { orUndefined } from '../../support/attempt.ts'
import { isFolder, isThere } from '../../support/is-there.ts'
import type { Effect } from './open-command.ts'

/** Looked at before a command begins: its start must not wait. */
const maxLooks = 20
const maxLookBytes = 1_048_576n

interface Looked {
  /** Files that are not there. */
  readonly absent: Set<string>
  /** Names at which nothing is, not even a folder. */
  readonly free: Set<string>
  /** True if the command writes to no other files than those that were looked at. */
  readonly isWhole: boolean
}

/** Takes files that a command names into use before it changes them. */
export async function lookAt({ isBounded, files, places }: Effect, parts: ExamineParts): Promise<Looked> {
  const absent = new Set<string>()
  const free = new Set<string>()
  const paths = new Set([...files, ...places.flatMap(filesOf)])
  let isWhole = isBounded && places.length === 0 && paths.size <= maxLooks
  for (const path of [...paths].slice(0, maxLooks)) {
    if (parts.history.last(path) !== undefined) continue
    const now = await look(path, parts, maxLookBytes)
    if (now?.kind === 'none') {
      absent.add(path)
      free.add(path)
    } else if (now?.kind === 'file') parts.history.observe(path, now)
    else {
      isWhole = false
      // No file is there yet.
      if (isFolder(path)) absent.add(path)
    }
  }
  return { absent, free, isWhole }
}

/** The place itself, or of a folder the files in it, if they are few. */
function filesOf(place: string): readonly string[] {
  const folder = orUndefined(() => opendirSync(place))
  if (folder === undefined) return [place]
  const files: string[] = []
  try {
    for (let entries = 0; entries <= maxLooks; entries += 1) {
      const entry = folder.readSync()
      if (entry === null) return files
      if (entry.isFile()) files.push(join(place, entry.name))
    }
    return []
  } finally {
    folder.closeSync()
  }
}

/** What is at a path that no operation is changing; undefined if that cannot be told, or is none of our business. */
export async function look(path: string, parts: ExamineParts, maxBytes?: bigint): Promise<Now | undefined> {
  const { files, bases } = parts
  const glance = beginGlance(path, parts)
  try {
    const place = files.open(path, 'canonical')
    try {
      if (place.path !== path || !glance.isSound) return undefined
      const { stat } = place
      if (stat === undefined) return nothing
      if (stat.isSymbolicLink()) return linkAt(place)
      if (!stat.isFile() || (maxBytes !== undefined && stat.size > maxBytes)) return undefined
      const { bytes, hash, identity } = await files.read(place, path)
      bases.keep(hash, bytes)
      return glance.isSound ? { kind: 'file', hash, identity } : undefined
    } finally {
      place.close()
    }
  } catch (error) {
    if (!(error instanceof OperationError)) throw error
    // A name that no call makes is refused unless a file of it is there. A command can make one.
    const isRefused = error.code === 'INVALID_REQUEST' && glance.isSound
    if (isRefused && !isThere(path)) return nothing
    // It is outside the roots, protected, too large, or gone at this moment.
    return undefined
  }
}
