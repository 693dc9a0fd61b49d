// What list_files tells of the files of one folder (FES 2.2). What was read of a file is kept for as long as the file is the same.
import type { BigIntStats } from 'node:fs'
import { mayAccess } from './access.ts'
import type { Directory } from './directory.ts'
import { identityOf, isSameIdentity, type FileIdentity } from './identity.ts'
import { readEntry, type ReadLimits } from './read-file.ts'

export interface SurveyedFile {
  readonly name: string
  readonly stat: BigIntStats
  readonly isReadable: boolean
  readonly isWritable: boolean
  /** What the counter gave; -1 where the file cannot be read or is larger than the limit. */
  readonly lines: number
}

/** Number of lines, -1 where the bytes are not text. */
export type LineCounter = (bytes: Buffer) => number

type Facts = Pick<SurveyedFile, 'isReadable' | 'isWritable' | 'lines'> & { readonly identity: FileIdentity }

/** Where one listed file stands: an entry of an open directory. */
export interface SurveyEntry {
  readonly name: string
  readonly stat: BigIntStats
  readonly directory: Directory
  /** Its name in the directory; another one where `name` is a link. */
  readonly entryName: string
}

export type Survey = ReturnType<typeof createSurvey>

/** The facts of one folder, from one listing to the next. */
export function createSurvey(limits: ReadLimits) {
  let known = new Map<string, Facts>()

  /** Facts of the files that are there now; those of files that are gone are forgotten. */
  async function describe(
    entries: AsyncIterable<SurveyEntry> | Iterable<SurveyEntry>,
    count: LineCounter
  ): Promise<SurveyedFile[]> {
    const found = new Map<string, Facts>()
    const files: SurveyedFile[] = []
    for await (const entry of entries) {
      const facts = recall(entry) ?? (await look(entry, count))
      found.set(entry.name, facts)
      const { isReadable, isWritable, lines } = facts
      files.push({ name: entry.name, stat: entry.stat, isReadable, isWritable, lines })
    }
    known = found
    return files
  }

  /** Mode and access lists change the ctime, so that they need no second look either. */
  function recall({ name, stat }: SurveyEntry): Facts | undefined {
    const facts = known.get(name)
    if (facts === undefined || !facts.identity.isTrusted) return undefined
    return isSameIdentity(facts.identity, stat) ? facts : undefined
  }

  async function look({ stat, directory, entryName }: SurveyEntry, count: LineCounter): Promise<Facts> {
    const path = directory.at(entryName)
    const content = await readEntry(directory, entryName, limits)
    return {
      identity: content?.identity ?? identityOf(stat),
      isReadable: mayAccess(path, stat, 'read'),
      isWritable: mayAccess(path, stat, 'write'),
      lines: content === undefined ? -1 : count(content.bytes)
    }
  }

  return { describe }
}
