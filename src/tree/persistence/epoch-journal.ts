// The journals of a tree of several hosts: one file for each epoch, on the volume. A late writer adds to that of its own epoch only.
import { copyFileSync, mkdirSync, readdirSync, renameSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { ownFolder } from '../../engine/files/temporary-names.ts'

const folderName = 'hosts'
const filePattern = /^journal-(\d+)$/
/** Beside the present one. */
const keptJournals = 2

/**
 * The journal of this epoch, which begins as a copy of the last one. Call it once no earlier authority can change a file any more.
 * @param tree real path of the first root. @throws Error
 */
export function beginEpochJournal(tree: string, epoch: number): string {
  const folder = join(tree, ownFolder, folderName)
  const path = join(folder, `journal-${epoch}`)
  mkdirSync(folder, { recursive: true, mode: 0o700 })
  const earlier = epochsIn(folder).filter((other) => other < epoch)
  const [last] = earlier
  if (last !== undefined) {
    copyFileSync(join(folder, `journal-${last}`), `${path}.copy`)
    renameSync(`${path}.copy`, path)
  }
  for (const old of earlier.slice(keptJournals))
    for (const suffix of ['', '.lock', '.new', '.copy'])
      rmSync(join(folder, `journal-${old}${suffix}`), { force: true })
  return path
}

/** The latest first. */
function epochsIn(folder: string): number[] {
  const found = readdirSync(folder).flatMap((name) => filePattern.exec(name)?.[1] ?? [])
  return found.map(Number).toSorted((one, other) => other - one)
}
