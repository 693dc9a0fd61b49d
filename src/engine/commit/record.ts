// The record of a transaction: while it is there, the transaction is under way, and whoever serves the tree next finishes it.
import {
  closeSync,
  constants,
  fdatasync,
  openSync,
  readdirSync,
  readFileSync,
  renameSync,
  unlinkSync,
  writeFileSync
} from 'node:fs'
import { resolve } from 'node:path'
import { promisify } from 'node:util'
import { attempt } from '../../support/attempt.ts'
import { isErrno } from '../../support/errno.ts'
import { mapTexts } from '../../support/map-texts.ts'
import { below } from '../../support/relocate.ts'
import type { Directory } from '../files/directory.ts'
import type { Durability } from './durability.ts'
import { hashNow } from '../files/read-file.ts'
import { isOfThisProcess, processName, temporaryName } from '../files/temporary-names.ts'
import type { Stage } from './stages.ts'
import type { RecordFolder } from './unfinished.ts'
import { removeIfThere } from './write-file.ts'

const fdatasyncAsync = promisify(fdatasync)

/** What is at a path: null for nothing, the hash of a file, or `node:` and its inode number if its bytes do not matter. */
export type Mark = string | null

export interface RecordedStep {
  /** Canonical. */
  readonly path: string
  /** Name of what the path gets, beside it; null if the path loses its file. */
  readonly staged: string | null
  /** Name of a second link to what is replaced or removed, beside it; null if nothing was there. */
  readonly backup: string | null
  readonly before: Mark
  readonly after: Mark
  readonly renamedFrom?: string | undefined
  readonly renamedTo?: string | undefined
  readonly restores?: number | undefined
}

export interface TransactionRecord {
  readonly agentId: string
  readonly operation: string
  readonly changeSet?: string | undefined
  readonly steps: readonly RecordedStep[]
}

export interface OpenRecord {
  readonly name: string
  /** It failed: a process that finds the record takes back what was made. Durable once this returns. @throws Error of the file system */
  readonly turnBack: () => void
  /** The transaction is over. */
  readonly end: () => Promise<void>
}

export type Entry = { readonly directory: Directory; readonly name: string }

export function matches(entry: Entry, mark: Mark): boolean {
  const stat = entry.directory.stat(entry.name)
  if (mark === null || stat === undefined) return mark === null && stat === undefined
  if (mark.startsWith('node:')) return mark === nodeMark(stat)
  return stat.isFile() && hashNow(entry) === mark
}

/** An inode number survives renames and restarts; that of a device does not. */
export function nodeMark({ ino }: { readonly ino: bigint }): string {
  return `node:${ino}`
}

const createFlags = constants.O_WRONLY | constants.O_CREAT | constants.O_EXCL | (constants.O_NOFOLLOW ?? 0)
const pattern = /^transaction-(\d+)-([0-9a-z]+)-[0-9a-f]{16}(?:\.back)?\.json$/
const settledPattern = /^settled-transaction-.*\.(made|not-made)$/
/** Longer than any receipt is kept. */
const settledMs = 7 * 86_400_000

export type TransactionRecords = ReturnType<typeof createTransactionRecords>

/**
 * @param folder the server's own
 * @param stage undefined if one host serves the tree: else a record comes out of it, so that a late writer begins no transaction
 * @param root real path of the first root: in the records of several hosts paths are relative to it
 */
export function createTransactionRecords(
  folder: RecordFolder,
  durability: Durability,
  stage: Stage | undefined,
  root: string
) {
  return {
    /**
     * From its rename on, the transaction is made: a process that finds the record finishes it.
     * @param check called right before that, in the same tick, with the name of the record; throws to refuse
     */
    async begin(record: TransactionRecord, check: (name: string) => void): Promise<OpenRecord> {
      const name = `transaction-${processName()}.json`
      const own = folder.hold()
      const temporary = (stage ?? own).at(temporaryName())
      try {
        const fd = openSync(temporary, createFlags, 0o600)
        try {
          writeFileSync(
            fd,
            JSON.stringify(stage === undefined ? record : movePaths(record, (path) => below(root, path) ?? path))
          )
          if (durability.isFull) await fdatasyncAsync(fd)
        } finally {
          closeSync(fd)
        }
        check(name)
        renameSync(temporary, own.at(name))
      } catch (error) {
        attempt(() => removeIfThere(temporary))
        own.close()
        throw stage === undefined ? error : stage.explain(error, record.steps[0]?.path ?? name)
      }
      let present = name
      const turnBack = () => {
        const turned = name.replace(/\.json$/, '.back.json')
        renameSync(own.at(present), own.at(turned))
        present = turned
        if (durability.isFull) own.syncNow()
      }
      const end = async () => {
        removeIfThere(own.at(present))
        if (durability.isFull) await own.sync()
        own.close()
      }
      try {
        if (durability.isFull) await own.sync()
      } catch (error) {
        await end().catch(() => {})
        throw error
      }
      return { name, turnBack, end }
    },
    /** Those that earlier processes have left; undefined for one that cannot be read. */
    left(): { name: string; record: TransactionRecord | undefined }[] {
      const own = folder.hold()
      try {
        return readdirSync(own.self)
          .filter((name) => pattern.test(name) && !isOfThisProcess(name))
          .map((name) => {
            const record = parse(readFileSync(own.at(name), 'utf8'))
            return { name, record: record && stage ? movePaths(record, (path) => resolve(root, path)) : record }
          })
      } finally {
        own.close()
      }
    },
    /** Keeps the end of a transaction, for receipts that are looked at later. */
    settle(name: string, verdict: 'made' | 'not-made' | 'damaged'): void {
      const own = folder.hold()
      try {
        renameSync(own.at(name), own.at(`settled-${name}.${verdict}`))
        if (durability.isFull) own.syncNow()
        for (const old of readdirSync(own.self)) {
          const stat = settledPattern.test(old) ? own.stat(old) : undefined
          if (stat !== undefined && Date.now() - Number(stat.mtimeMs) > settledMs)
            attempt(() => unlinkSync(own.at(old)))
        }
      } finally {
        own.close()
      }
    },
    /** Whether a transaction of an earlier process was made. One whose record never came into its place was not. */
    wasMade(name: string): boolean {
      const own = folder.hold()
      try {
        return pattern.test(name) && own.stat(`settled-${name}.made`) !== undefined
      } finally {
        own.close()
      }
    }
  }
}

const pathNames: ReadonlySet<string> = new Set(['path', 'renamedFrom', 'renamedTo'])

function movePaths(record: TransactionRecord, move: (path: string) => string): TransactionRecord {
  return mapTexts(record, pathNames, move) as TransactionRecord
}

function parse(text: string): TransactionRecord | undefined {
  try {
    const value = JSON.parse(text) as Partial<TransactionRecord>
    const { agentId, operation, steps } = value
    if (typeof agentId !== 'string' || typeof operation !== 'string' || !Array.isArray(steps)) return undefined
    return steps.every(isStep) ? (value as TransactionRecord) : undefined
  } catch {
    return undefined
  }
}

function isStep(value: unknown): boolean {
  const step = value as Partial<Record<keyof RecordedStep, unknown>>
  const isName = (name: unknown) => name === null || (typeof name === 'string' && !name.includes('/'))
  const isMark = (mark: unknown) => mark === null || typeof mark === 'string'
  return (
    typeof step?.path === 'string' &&
    isName(step.staged) &&
    isName(step.backup) &&
    isMark(step.before) &&
    isMark(step.after)
  )
}

export function isGone(error: unknown): boolean {
  return isErrno(error, 'ENOENT', 'ENOTDIR')
}
