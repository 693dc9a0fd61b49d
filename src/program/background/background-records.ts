// The servers that `daemon start` has put into the background, one per tree, and how each was started.
import { createHash } from 'node:crypto'
import { mkdirSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { isErrno } from '../../support/errno.ts'
import { listFolder } from '../../support/list-folder.ts'
import { replaceFile } from '../../support/replace-file.ts'
import { readText } from '../../support/read-text.ts'

export interface BackgroundRecord {
  readonly version: 1
  /** Real path of the first root. */
  readonly root: string
  /** As given. */
  readonly roots: readonly string[]
  readonly pid: number
  /** As `startOf` gives it. */
  readonly process_start: string | null
  /** ISO 8601. */
  readonly started_at: string
  /** Of `serve`, without secrets. */
  readonly args: readonly string[]
  /** From the command line; passed on by the environment. */
  readonly token?: string
  /** Undefined if the log goes to the output file. */
  readonly log_file?: string
  /** Gets what the process writes outside its log. */
  readonly output_file: string
}

export type BackgroundRecords = ReturnType<typeof createBackgroundRecords>

/** @param folder of this user's data; made when something is written */
export function createBackgroundRecords(folder: string) {
  const own = join(folder, 'daemons')
  const nameOf = (root: string) => createHash('sha256').update(root).digest('hex').slice(0, 16)
  const pathOf = (root: string) => join(own, `${nameOf(root)}.json`)

  return {
    folder: own,
    outputFileOf: (root: string): string => join(own, `${nameOf(root)}.out`),
    read: (root: string): BackgroundRecord | undefined => readRecord(pathOf(root)),
    list(): BackgroundRecord[] {
      const names = listFolder(own).filter((name) => name.endsWith('.json'))
      return names.flatMap((name) => readRecord(join(own, name)) ?? [])
    },
    write(record: BackgroundRecord): void {
      mkdirSync(own, { recursive: true, mode: 0o700 })
      replaceFile(pathOf(record.root), `${JSON.stringify(record, undefined, 2)}\n`)
    },
    remove(root: string): void {
      rmSync(pathOf(root), { force: true })
      rmSync(join(own, `${nameOf(root)}.out`), { force: true })
    }
  }
}

/** Undefined if there is none, or if another version has written it. */
function readRecord(path: string): BackgroundRecord | undefined {
  try {
    const record = JSON.parse(readText(path)) as BackgroundRecord | null
    const isOurs = record?.version === 1 && typeof record.root === 'string' && Number.isInteger(record.pid)
    return isOurs && record.pid > 0 && Array.isArray(record.args) ? record : undefined
  } catch (error) {
    if (isErrno(error, 'ENOENT', 'ENOTDIR') || error instanceof SyntaxError) return undefined
    throw error
  }
}
