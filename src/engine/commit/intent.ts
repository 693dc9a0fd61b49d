// What a change is about to do to the disk. It is in the journal before the change, so that a later process can tell whether the change was made.
import type { BigIntStats } from 'node:fs'
import { hashNow } from '../files/read-file.ts'
import type { OpenEntry } from '../files/walk.ts'
import type { Stages } from './stages.ts'

/** A new version, which has a name of its own in the folder of the file until the change gives it the file's name. */
interface WriteIntent {
  readonly kind: 'write'
  /** Canonical, as all paths here. */
  readonly path: string
  /** That name. */
  readonly staged: string
  /** The new version, by `nodeOf`. */
  readonly node: string
  /** Null if the file is created. */
  readonly before: string | null
  readonly after: string
}

interface DeleteIntent {
  readonly kind: 'delete'
  readonly path: string
  /** What is deleted. */
  readonly node: string
}

interface RenameIntent {
  readonly kind: 'rename'
  readonly from: string
  readonly to: string
  /** What is renamed. */
  readonly node: string
}

/** Several changes, all or none: what becomes of them is decided by a record of their own. */
interface TransactionIntent {
  readonly kind: 'transaction'
  readonly record: string
}

export type Intent = WriteIntent | DeleteIntent | RenameIntent | TransactionIntent

/** `unclear`: another program has changed the file since, in a way that hides it. */
export type Verdict = 'made' | 'not-made' | 'unclear'

interface Judged {
  /** The place of an entry; the caller closes it. */
  readonly openCanonical: (path: string) => OpenEntry
  readonly wasTransactionMade: (record: string) => boolean
  readonly stages: Stages | undefined
}

/** Names a file over its renames. An inode number alone may be given to the next file. */
export function nodeOf({ dev, ino, birthtimeNs }: BigIntStats): string {
  return `${dev}:${ino}:${birthtimeNs}`
}

/** The device apart: its number is another one on another host, or after a restart of the machine. */
function isNode(stat: BigIntStats, node: string): boolean {
  const withoutDevice = (name: string) => name.slice(name.indexOf(':'))
  return withoutDevice(nodeOf(stat)) === withoutDevice(node)
}

/** Whether the change that a process was about to make when it was killed was made. */
export function judge(intent: Intent, files: Judged): Verdict {
  try {
    switch (intent.kind) {
      case 'write':
        return at(intent.path, files, (place) => judgeWrite(intent, place, files.stages))
      case 'delete':
        return at(intent.path, files, ({ stat }) => judgeDelete(intent, stat))
      case 'rename':
        return at(intent.from, files, (from) => at(intent.to, files, (to) => judgeRename(intent, from.stat, to.stat)))
      case 'transaction':
        return files.wasTransactionMade(intent.record) ? 'made' : 'not-made'
      default:
        return intent satisfies never
    }
  } catch {
    // The file cannot be reached any more.
    return 'unclear'
  }
}

/** Only the change takes the staged name away: a failed one says first, in the journal, that it was not made. */
function judgeWrite(
  { staged, node, before, after }: WriteIntent,
  place: OpenEntry,
  stages: Stages | undefined
): Verdict {
  const { stat, directory, missing } = place
  if (stat !== undefined && isNode(stat, node)) return 'made'
  if (missing.length === 0 && directory.stat(staged) !== undefined) return 'not-made'
  if (stages?.wasLeft(staged) === true) return 'not-made'
  const hash = stat?.isFile() === true ? hashNow(place) : null
  if (hash === undefined) return 'unclear'
  return hash === before && hash !== after ? 'not-made' : 'made'
}

function judgeDelete({ node }: DeleteIntent, stat: BigIntStats | undefined): Verdict {
  if (stat === undefined) return 'made'
  return isNode(stat, node) ? 'not-made' : 'unclear'
}

function judgeRename({ node }: RenameIntent, from: BigIntStats | undefined, to: BigIntStats | undefined): Verdict {
  if (to !== undefined && isNode(to, node)) return 'made'
  if (from !== undefined) return isNode(from, node) ? 'not-made' : 'unclear'
  // Copied to another file system, and the source is gone: the last step of such a rename.
  return to === undefined ? 'unclear' : 'made'
}

function at<Result>(path: string, files: Judged, use: (place: OpenEntry) => Result): Result {
  const place = files.openCanonical(path)
  try {
    return use(place)
  } finally {
    place.close()
  }
}
