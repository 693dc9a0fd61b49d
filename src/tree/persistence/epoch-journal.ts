// The journals of a tree of several hosts: one file for each epoch, on the volume. A late writer adds to that of its own epoch only.
import { readdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs'
import { unlink } from 'node:fs/promises'
import { join } from 'node:path'
import { lockKey } from '../../engine/files/lock-key.ts'
import { ownFolder } from '../../engine/files/temporary-names.ts'
import { makeFolder } from '../../support/make-folder.ts'
import { mapTexts } from '../../support/map-texts.ts'
import { relocation } from '../../support/relocate.ts'
import { moveJournal, readTree } from './records.ts'

const filePattern = /^journal-(\d+)$/
const pathNames = new Set([
  'path',
  'given',
  'filepath',
  'from',
  'to',
  'renamedFrom',
  'renamedTo',
  'old_path',
  'new_path'
])
/** Folded as lock keys are. */
const spellingNames = new Set(['name', 'names'])
/** Beside the present one. */
const keptJournals = 2

/** @param tree real path of the first root */
export function hostsFolderOf(tree: string): string {
  return join(tree, ownFolder, 'hosts')
}

/**
 * The journal of this epoch, which begins as a copy of the last one. Call it once no earlier authority can change a file any more.
 * @param tree real path of the first root. @throws Error
 */
export function beginEpochJournal(tree: string, epoch: number): string {
  const folder = hostsFolderOf(tree)
  const path = join(folder, `journal-${epoch}`)
  makeFolder(folder)
  const earlier = epochsIn(folder).filter((other) => other < epoch)
  const [last] = earlier
  if (last !== undefined) {
    copyJournal(join(folder, `journal-${last}`), `${path}.copy`, tree)
    renameSync(`${path}.copy`, path)
  }
  for (const old of earlier.slice(keptJournals))
    for (const suffix of ['', '.lock', '.new', '.copy'])
      // Not waited for: a volume may not answer for a file that a lost host had open.
      void unlink(join(folder, `journal-${old}${suffix}`)).catch(() => {})
  return path
}

/** The last authority may have had the volume at another path. The copy is on the volume before it gets its name. */
function copyJournal(last: string, copy: string, tree: string): void {
  const bytes = readFileSync(last)
  const moved = readTree(bytes) === tree ? bytes : moveJournal(bytes, tree, moveRecord(tree))
  writeFileSync(copy, moved, { mode: 0o600, flush: true })
}

function moveRecord(to: string) {
  return (record: unknown, from: string): unknown => {
    const move = relocation(from, to)
    const moveFolded = relocation(lockKey(from), to)
    const moveName = relocation(lockKey(from), lockKey(to))
    const moved = mapTexts(record, pathNames, (path) => {
      const found = move(path)
      return found === path ? moveFolded(path) : found
    })
    return mapTexts(moved, spellingNames, moveName)
  }
}

/** The latest first. */
function epochsIn(folder: string): number[] {
  const found = readdirSync(folder).flatMap((name) => filePattern.exec(name)?.[1] ?? [])
  return found.map(Number).toSorted((one, other) => other - one)
}
