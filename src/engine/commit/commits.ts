// Everything that changes the disk: the steps of a change, all or none, and the end of what killed processes have left.
import type { FileStore } from '../files/file-store.ts'
import type { Root } from '../files/roots.ts'
import type { OperationError } from '../../errors.ts'
import { createDurability } from './durability.ts'
import type { CommitHooks, RenameOutcome } from './hooks.ts'
import { whileHeldOpen } from './held-open.ts'
import { createNotes } from './notes.ts'
import type { OwnFolder } from '../files/directory.ts'
import { createOneStep } from './one-step.ts'
import { createSettle } from './settle.ts'
import { createStages } from './stages.ts'
import type { Step } from './step.ts'
import { createTogether } from './together.ts'
import { createWriter } from './write-file.ts'

export interface CommitOptions {
  /** crud.durability */
  readonly durability: string
  /** Bytes. */
  readonly maxFileBytes: number
  /** Bytes; see ReadLimits. */
  readonly maxSyncBytes: number
  /** Opens the server's own folder below a root, where changes under way are noted; without it they are not. */
  readonly openOwnFolder?: (root: Root) => OwnFolder
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
  const { openOwnFolder, isStaged = false, onUnfinished = () => () => {}, maxFileBytes } = options
  const [first] = files.roots
  const durability = createDurability(options.durability)
  const stages =
    isStaged && openOwnFolder !== undefined
      ? createStages(files.roots, (root) => openOwnFolder(root).hold())
      : undefined
  const notes =
    first && openOwnFolder && createNotes(openOwnFolder(first), durability, stages?.of(first.real), first.real)
  const writer = createWriter({ ...options, durability, stages })
  const parts = { writer, durability, stages, notes, onUnfinished }
  const makeAlone = createOneStep(parts)
  const makeTogether = createTogether(parts)
  const { isFull } = durability
  const { settle, judge } = createSettle({ notes, open: files.openCanonical, stages, isFull, maxFileBytes })

  async function commit(steps: readonly Step[], hooks: CommitHooks): Promise<Committed> {
    const alone = makeAlone(steps, hooks)
    if (alone === undefined) return { unsure: await makeTogether(steps, hooks) }
    const { identity, outcome, unsure } = await alone
    if (outcome !== 'unchanged') hooks.onMade([identity], outcome)
    return { outcome, unsure }
  }

  return {
    /** Undefined if one host serves the tree. */
    stages,
    /**
     * Makes all steps of a change, or none. Waits for a while if another program holds a file of them open.
     * @param signal ends that wait
     * @throws StaleFileError if another program has changed a file meanwhile; OperationError. Then nothing was changed.
     */
    commit: (steps: readonly Step[], hooks: CommitHooks, signal?: AbortSignal): Promise<Committed> =>
      whileHeldOpen(() => commit(steps, hooks), signal),
    settle,
    judge,
    /** Refuses every further change and removes the temporary files that are still there. */
    close: () => writer.close()
  }
}
