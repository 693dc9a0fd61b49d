// What list_files tells of the files of one folder (FES 2.2). What was found out about a file is kept for as long as the file is the same.
import type { BigIntStats } from 'node:fs'
import { mayAccess } from './access.ts'
import type { Directory } from './directory.ts'
import { identityOf, isSameIdentity, type FileIdentity } from './identity.ts'
import { readEntry, type ReadLimits } from './read-file.ts'

export interface SurveyedFile {
  readonly name: string
  /** Bytes. */
  readonly size: number
  /** ISO 8601, UTC. */
  readonly modified: string
  readonly isReadable: boolean
  readonly isWritable: boolean
  /** What the counter gave; -1 where the file cannot be read or is larger than the limit. */
  readonly lines: number
}

/** Number of lines, -1 where the bytes are not text. */
export type LineCounter = (bytes: Buffer) => number

interface SurveyOptions extends ReadLimits {
  /** True for a path, relative to its root, that is never written. */
  readonly isProtected: (path: string) => boolean
}

interface Facts {
  readonly identity: FileIdentity
  readonly file: SurveyedFile
}

/** Where one listed file stands: an entry of an open directory. */
interface SurveyEntry {
  readonly name: string
  readonly stat: BigIntStats
  readonly directory: Directory
  /** Its name in the directory; another one where `name` is a link. */
  readonly entryName: string
  /** Where it really stands, relative to its root. */
  readonly path: string
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
        found.set(entry.name, facts)
        files.push(facts.file)
      },
      /** The files in the order of their adding. Facts of files that are gone are forgotten. */
      finish(): readonly SurveyedFile[] {
        known = found
        return files
      }
    }
  }

  /** Mode and access lists change the ctime, so that they need no second look either. */
  function recall({ name, stat }: SurveyEntry): Facts | undefined {
    const facts = known.get(name)
    if (facts === undefined || !facts.identity.isTrusted) return undefined
    return isSameIdentity(facts.identity, stat) ? facts : undefined
  }

  /** Size and time are those of the bytes that were counted, even where the file has changed since `stat`. */
  async function look(entry: SurveyEntry, count: LineCounter): Promise<Facts> {
    const { name, stat, directory, entryName, path } = entry
    const at = directory.at(entryName)
    const content = await readEntry(directory, entryName, options)
    const identity = content?.identity ?? identityOf(stat)
    const file = {
      name,
      size: Number(identity.size),
      modified: new Date(Number(identity.mtimeNs / 1_000_000n)).toISOString(),
      isReadable: mayAccess(at, stat, 'read'),
      isWritable: mayAccess(at, stat, 'write') && !options.isProtected(path),
      lines: content === undefined ? -1 : count(content.bytes)
    }
    return { identity, file }
  }

  return { begin }
}
