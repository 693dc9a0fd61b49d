// Notes of changes of several steps, kept in the server's own folder while they last: they show what a killed process has left.
import { rmdirSync } from 'node:fs'
import { readdir } from 'node:fs/promises'
import { attempt } from '../../support/attempt.ts'
import type { Directory } from '../files/directory.ts'
import type { Durability } from './durability.ts'
import { isRecordOfDead, recordName } from '../files/temporary-names.ts'
import type { OpenEntry } from '../files/walk.ts'

/** Paths are canonical. */
export type UnfinishedChange =
  | {
      readonly kind: 'folders'
      /** Folders that are made for a new file, the outermost first. */
      readonly paths: readonly string[]
    }
  | {
      readonly kind: 'copy'
      /** The source, which is removed last. */
      readonly from: string
      readonly to: string
    }

/** Of the server's own folder. */
export interface RecordFolder {
  read(name: string): string | undefined
  write(name: string, text: string, options: { readonly isDurable: boolean }): void
  remove(name: string): void
  hold(): Directory
}

export interface Unfinished {
  /** Notes a change that begins. If the note fails, the change is made all the same. @returns ends the note */
  begin(change: UnfinishedChange): () => void
}

export function createUnfinished(folder: RecordFolder, { isFull }: Durability): Unfinished {
  return {
    begin(change) {
      const name = recordName()
      const isNoted = attempt(() =>
        // Empty folders after a power loss are worth no flush; two names of one file are.
        folder.write(name, JSON.stringify(change), { isDurable: isFull && change.kind === 'copy' })
      )
      return () => void (isNoted && attempt(() => folder.remove(name)))
    }
  }
}

/**
 * Removes the empty folders of changes that a killed process began. A copy whose source is still there is kept and reported, at each
 * start, until one of the two is gone.
 * @param open the place of an entry; the caller closes it
 * @returns a sentence for each copy
 */
export async function settleUnfinished(folder: RecordFolder, open: (path: string) => OpenEntry): Promise<string[]> {
  const own = folder.hold()
  const names = await readdir(own.self).finally(() => own.close())
  return names.filter(isRecordOfDead).flatMap((name) => {
    const change = parse(folder.read(name))
    const reported = change === undefined ? undefined : settle(change, open)
    if (reported === undefined) attempt(() => folder.remove(name))
    return reported ?? []
  })
}

function settle(change: UnfinishedChange, open: (path: string) => OpenEntry): string | undefined {
  if (change.kind === 'folders') {
    for (const path of change.paths.toReversed())
      attempt(() => at(path, open, ({ directory, name }) => rmdirSync(directory.at(name))))
    return undefined
  }
  const { from, to } = change
  if (!isThere(from, open) || !isThere(to, open)) return undefined
  return `The server was killed while it moved ${from} to ${to} on another file system: both exist. Compare them and delete one.`
}

function isThere(path: string, open: (path: string) => OpenEntry): boolean {
  let stat: OpenEntry['stat']
  attempt(() => at(path, open, (place) => (stat = place.stat)))
  return stat !== undefined
}

function at(path: string, open: (path: string) => OpenEntry, use: (place: OpenEntry) => void): void {
  const place = open(path)
  try {
    use(place)
  } finally {
    place.close()
  }
}

/** Undefined for a note that was not written completely. */
function parse(text: string | undefined): UnfinishedChange | undefined {
  try {
    const value = JSON.parse(text ?? '') as Partial<Record<string, unknown>>
    const { kind, paths, from, to } = value
    if (kind === 'copy' && typeof from === 'string' && typeof to === 'string') return { kind, from, to }
    if (kind === 'folders' && Array.isArray(paths) && paths.every((path) => typeof path === 'string'))
      return { kind, paths }
  } catch {
    // Cut off by the kill.
  }
  return undefined
}
