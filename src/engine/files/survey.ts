// The facts that list_files gives of one folder's files (FES 2.2). The facts of a file are kept while the file is the same.
import type { BigIntStats } from 'node:fs'
import { isErrno } from '../../errors.ts'
import { mayAccess } from './access.ts'
import type { Directory } from './directory.ts'
import { identityOf, isSameIdentity, type FileIdentity } from './identity.ts'
import { showName } from '../../support/raw-name.ts'
import { readEntry, type ReadLimits } from './read-file.ts'

export interface SurveyedFile {
  readonly name: string
  /** Bytes. */
  readonly size: number
  /** ISO 8601, UTC. */
  readonly modified: string
  readonly isReadable: boolean
  readonly isWritable: boolean
  /** The counter's result; -1 if the file cannot be read or is larger than the limit. */
  readonly lines: number
}

/** Number of lines, -1 if the bytes are not text. */
export type LineCounter = (bytes: Buffer) => number

export interface SurveyOptions extends ReadLimits {
  readonly hardlinks: string
  /** True for a path, relative to its root, that is never written. */
  readonly isProtected: (path: string) => boolean
}

interface Facts {
  readonly identity: FileIdentity
  /** Its path then. */
  readonly path: string
  readonly file: SurveyedFile
}

/** The place of one listed file: an entry of an open directory. */
interface SurveyEntry {
  readonly name: string
  readonly stat: BigIntStats
  readonly directory: Directory
  /** Its name in the directory; differs from `name` if that is a link. */
  readonly entryName: string
  /** Its real path, relative to its root. */
  readonly path: string
  /** False if its directory may not be written. */
  readonly isReplaceable: boolean
}

/** One listing: every file is added, then it is finished. */
export type Survey = ReturnType<ReturnType<typeof createSurveyor>['begin']>

/** The facts of one folder, from one listing to the next. */
export function createSurveyor(options: SurveyOptions) {
  let known = new Map<string, Facts>()

  function begin(count: LineCounter) {
    const found = new Map<string, Facts>()
    const files: SurveyedFile[] = []
    return {
      async add(entry: SurveyEntry): Promise<void> {
        const facts = recall(entry) ?? (await look(entry, count))
        if (facts.identity.isTrusted) found.set(entry.name, facts)
        files.push(entry.isReplaceable ? facts.file : { ...facts.file, isWritable: false })
      },
      /** A file whose name is not UTF-8, so that no operation reaches it. */
      addUnreachable(name: string, stat: BigIntStats): void {
        const [size, modified] = [Number(stat.size), stat.mtime.toISOString()]
        files.push({ name: showName(name).name, size, modified, isReadable: false, isWritable: false, lines: -1 })
      },
      /** The files in the order in which they were added. Facts of files that are gone are forgotten. */
      finish(): readonly SurveyedFile[] {
        known = found
        return files
      }
    }
  }

  /** Mode, access lists and number of names change the ctime, so that they need no second look either. */
  function recall({ name, stat, path }: SurveyEntry): Facts | undefined {
    const facts = known.get(name)
    return facts !== undefined && facts.path === path && isSameIdentity(facts.identity, stat) ? facts : undefined
  }

  /** All facts are of the file as it was opened, even if it has changed since `stat`. */
  async function look(entry: SurveyEntry, count: LineCounter): Promise<Facts> {
    const { directory, entryName } = entry
    try {
      const { stat, identity, bytes } = await readEntry(directory, entryName, options)
      return describe(entry, stat, identity, bytes === undefined ? -1 : count(bytes))
    } catch (error) {
      // Whether the process may open another file says nothing about this one.
      if (isErrno(error, 'EMFILE', 'ENFILE')) throw error
      // A failure for any other reason may succeed the next time.
      const identity = identityOf(entry.stat)
      const isLasting = isErrno(error, 'EACCES', 'EPERM')
      return describe(entry, entry.stat, { ...identity, isTrusted: identity.isTrusted && isLasting }, -1)
    }
  }

  function describe(entry: SurveyEntry, stat: BigIntStats, identity: FileIdentity, lines: number): Facts {
    const { name, directory, entryName, path } = entry
    const isRefused = (options.hardlinks === 'refuse' && stat.nlink > 1n) || options.isProtected(path)
    const file = {
      name,
      size: Number(stat.size),
      modified: stat.mtime.toISOString(),
      isReadable: mayAccess(directory, entryName, stat, 'read'),
      isWritable: mayAccess(directory, entryName, stat, 'write') && !isRefused,
      lines
    }
    return { identity, path, file }
  }

  return { begin }
}
