// The files of a log: the current one under its own name, and beside it those that were set aside, some of them compressed.
import { statSync } from 'node:fs'
import { basename, dirname, extname, join } from 'node:path'
import { appName, paths } from '../../support/user-paths.ts'
import { listFolder } from '../../support/list-folder.ts'

export interface LogFile {
  readonly path: string
  readonly bytes: number
  /** When its last line was written. */
  readonly modifiedAt: Date
  /** True for the file that is written to. */
  readonly isCurrent: boolean
  /** True if it has to be unpacked with gzip. */
  readonly isCompressed: boolean
}

/** `daemon.log_file` as a path; undefined if the log goes to standard error. */
export function logPathOf(setting: string | null): string | undefined {
  if (setting === null) return undefined
  return setting === 'auto' ? join(paths.logFolder, `${appName}.log`) : setting
}

/**
 * The files of the log with this path, the oldest first, so that they can be read one after the other.
 * @returns an empty list if there is no such folder
 */
export function logFiles(path: string): LogFile[] {
  const folder = dirname(path)
  const files: LogFile[] = []
  for (const name of listFolder(folder)) {
    const isCurrent = name === basename(path)
    if (!isCurrent && !isSetAside(name, path)) continue
    const stat = statSync(join(folder, name), { throwIfNoEntry: false })
    if (stat?.isFile() !== true) continue
    const isCompressed = name.endsWith('.gz')
    files.push({ path: join(folder, name), bytes: stat.size, modifiedAt: stat.mtime, isCurrent, isCompressed })
  }
  return files.sort((a, b) => Number(a.isCurrent) - Number(b.isCurrent) || (a.path < b.path ? -1 : 1))
}

/** The name that a log file gets when it is set aside; these sort by time. */
export function setAsideName(path: string, now: Date, pid: number, number: number): string {
  const time = now.toISOString().replaceAll(':', '-').replace('Z', '')
  const extension = extname(path)
  const count = String(number).padStart(3, '0')
  return `${path.slice(0, path.length - extension.length)}.${time}.${count}-${pid}${extension}`
}

function isSetAside(name: string, path: string): boolean {
  const extension = extname(path)
  const start = `${basename(path, extension)}.`
  const plain = name.endsWith('.gz') ? name.slice(0, -'.gz'.length) : name
  if (!plain.startsWith(start) || !plain.endsWith(extension)) return false
  const middle = plain.slice(start.length, plain.length - extension.length)
  return /^\d{4}-\d\d-\d\dT\d\d-\d\d-\d\d\.\d{3}\.\d{3}-\d+$/.test(middle)
}
