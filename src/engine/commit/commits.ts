// Everything that changes the disk: the steps of a change, all or none, and the end of what killed processes have left.
import type { FileStore } from '../files/file-store.ts'
import type { Root } from '../files/roots.ts'
import type { OperationError } from '../../errors.ts'
import { createDurability } from './durability.ts'
import { createOneStep } from './one-step.ts'
import { createTransactionRecords } from './record.ts'
import type { RenameOutcome } from './rename-entry.ts'
import { settleTransactions, type Settled } from './settle.ts'
import { createStages } from './stages.ts'
import type { Step } from './step.ts'
import { createTogether, type CommitHooks } from './together.ts'
import { createUnfinished, settleUnfinished, type RecordFolder } from './unfinished.ts'
import { createWriter } from './write-file.ts'

export interface CommitOptions {
  /** crud.durability */
  readonly durability: string
  /** Bytes. */
  readonly maxFileBytes: number
  /** Bytes; see ReadLimits. */
  readonly maxSyncBytes: number
  /** Opens the server's own folder below a root, where changes of several steps are noted; without it they are not. */
  readonly openOwnFolder?: (root: Root) => RecordFolder
  /** Some of a failed transaction's changes could not be taken back yet. @returns called once they have been */
  readonly onUnfinished?: (message: string) => () => void
  /** True if several hosts serve the tree: then changes are made in stages, which the next authority takes away. */
  readonly isStaged?: boolean
}

export interface Committed {
  /** Of a rename that one call of the system has made. */
  readonly outcome?: RenameOutcome | undefined
  /** A doubt about what was made. */
  readonly unsure: OperationError | undefined
}

export type Commits = ReturnType<typeof createCommits>

export function createCommits(files: Pick<FileStore, 'roots' | 'openCanonical'>, options: CommitOptions) {
  const { openOwnFolder, isStaged = false, onUnfinished = () => () => {} } = options
  const [first] = files.roots
  const ownFolder = first && openOwnFolder?.(first)
  const durability = createDurability(options.durability)
  const unfinished = ownFolder && createUnfinished(ownFolder, durability)
  const stages =
    isStaged && openOwnFolder !== undefined
      ? createStages(files.roots, (root) => openOwnFolder(root).hold())
      : undefined
  const root = first?.real ?? ''
  const records = ownFolder && createTransactionRecords(ownFolder, durability, stages?.of(root), root)
  const writer = createWriter({ ...options, durability, stages })
  const parts = { writer, durability, unfinished, stages, records, onUnfinished }
  const makeAlone = createOneStep(parts)
  const makeTogether = createTogether(parts)

  return {
    /** Undefined if one host serves the tree. */
    stages,
    /**
     * Makes all steps of a change, or none.
     * @throws StaleFileError if another program has changed a file meanwhile; OperationError. Then nothing was changed.
     */
    async commit(steps: readonly Step[], hooks: CommitHooks): Promise<Committed> {
      const alone = makeAlone(steps, hooks)
      if (alone === undefined) return { unsure: await makeTogether(steps, hooks) }
      const { identity, outcome, unsure } = await alone
      if (outcome !== 'unchanged') hooks.onMade([identity], outcome)
      return { outcome, unsure }
    },
    /** Clears away what changes of a killed process left; returns a sentence for each thing that it cannot clear. */
    settleUnfinished: async (): Promise<readonly string[]> =>
      ownFolder === undefined ? [] : settleUnfinished(ownFolder, files.openCanonical),
    /** Finishes the transactions of killed processes, all or none. Call it before anything else is done with the tree. */
    settleTransactions(keep: (hash: string, bytes: Buffer) => void): Settled[] {
      if (records === undefined) return []
      const { isFull } = durability
      const { maxFileBytes } = options
      const settled = settleTransactions({ records, open: files.openCanonical, stages, isFull, maxFileBytes, keep })
      // What is staged for one that is left is needed still.
      if (!settled.some(({ isLeft }) => isLeft)) stages?.sweep()
      return settled
    },
    /** Whether a transaction of a killed process was made, by the name of its record. */
    wasTransactionMade: (record: string): boolean => records?.wasMade(record) === true,
    /** Refuses every further change and removes the temporary files that are still there. */
    close: () => writer.close()
  }
}
