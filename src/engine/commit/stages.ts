// Where several hosts make changes ready. A change takes effect by one rename out of its root's stage, which the next authority takes away.
import { lstatSync, openSync, readdirSync, renameSync, unlinkSync } from 'node:fs'
import { open, rename, unlink, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { attempt } from '../../support/attempt.ts'
import { codeOf } from '../../support/errno.ts'
import { isErrno, OperationError } from '../../errors.ts'
import { below } from '../../support/relocate.ts'
import type { Shelf } from '../files/directory.ts'
import type { Root } from '../files/roots.ts'
import type { OpenEntry } from '../files/walk.ts'
import { inEpoch, stageFolder, takeStage, type Own } from './take-stage.ts'
import { isGone, makeCertainly, Unanswered } from './unanswered.ts'
import { removeWhole } from '../files/whole-folder.ts'
import { isOfThisProcess, ownFolder, temporaryName } from '../files/temporary-names.ts'

/** Of one root. Its paths name nothing any more once another authority has taken the stage. */
export interface Stage extends Shelf {
  /** A path for system calls. */
  at(name: string): string
  /** True once another authority has taken it. */
  isTaken(): boolean
  /** It is not known whether a change was made: this process must not go on as if it knew its tree. */
  doubt(): void
  /** What an error of a change means. @returns an OperationError if the stage was taken, lies on another file system, or does not answer */
  explain(error: unknown, path: string): unknown
}

export type Stages = ReturnType<typeof createStages>

const toldByNext =
  'It is not known whether the change was made. This host leaves the tree to the others: if the call has a request_id, send the very same call again, which makes the change once; else read the file, then decide.'

type Entry = Pick<OpenEntry, 'directory' | 'name'>

/** @param openOwn opens, and makes, the server's own folder below a root */
export function createStages(served: readonly Root[], openOwn: (root: Root) => Own) {
  const roots = served.map(({ real }) => real)
  const held = new Map<string, Own>()
  const touched = temporaryName()
  let epoch = -1
  let isInDoubt = false

  function stageOf(root: string): Stage {
    const at = (name: string) =>
      held.get(root)?.at(join(stageFolder, inEpoch(epoch), name)) ?? join(root, ownFolder, name)
    // Whatever keeps it from being seen, ESTALE among others.
    const isTaken = () => !attempt(() => lstatSync(at('.')))
    return {
      path: join(root, ownFolder, stageFolder),
      at,
      within: (use) => use(at),
      open: (name, flags) => openSync(at(name), flags),
      isTaken,
      stat: (name) => lstatSync(at(name), { bigint: true, throwIfNoEntry: false }),
      async sync() {
        const folder = await open(at('.'))
        try {
          await folder.sync()
        } finally {
          await folder.close()
        }
      },
      doubt: () => void (isInDoubt = true),
      explain(error, path) {
        if (error instanceof Unanswered) {
          isInDoubt = true
          const message = `The volume of this host failed (${codeOf(error.cause as Error)}) at the change of ${path}. ${toldByNext}`
          return new OperationError('AUTHORITY_LOST', message, { path, cause: error.cause })
        }
        if (isErrno(error, 'EXDEV'))
          return new OperationError(
            'WRITE_ERROR',
            `Nothing was changed: ${path} lies on another file system than ${root}, and several hosts can serve one file system only. Make that folder a root of a tree of its own.`,
            { path, cause: error }
          )
        if (!isErrno(error, 'ENOENT', 'ESTALE') || !isTaken()) return error
        const message = `Another host has taken over the tree, and ${path} was not changed. Try again: the call then reaches the host that serves it.`
        return new OperationError('OVERLOADED', message, { path, details: { retry_after_seconds: 1 }, cause: error })
      }
    }
  }

  const stages = roots.map((root) => ({ root, stage: stageOf(root) }))
  const [first] = stages as [(typeof stages)[number]]

  return {
    of(path: string): Stage {
      const found = stages.find(({ root }) => below(root, path) !== undefined)
      // Each place is below a root.
      return (found ?? first).stage
    },
    /**
     * Takes the stages of all roots from the authority before, with what it has made ready.
     * @returns the epoch that they were taken from. @throws Error that says what is in the way
     */
    take(next: number): number {
      const taken = served.map((root) => {
        // Kept open for good: paths of changes under way begin with its descriptor.
        const own = held.get(root.real) ?? openOwn(root)
        held.set(root.real, own)
        return takeStage(own, root.real, next)
      })
      epoch = next
      return Math.min(...taken)
    },
    /**
     * Makes the smallest change that there is, in the stage of each root.
     * @throws Error of the file system: it takes no changes, or another authority has taken a stage
     */
    async touch(): Promise<void> {
      await Promise.all(stages.map(({ stage }) => writeFile(stage.at(touched), '')))
    },
    /** The next authority might not find what this one has answered: this process must not go on. */
    doubt: () => void (isInDoubt = true),
    /** Whether a change is in doubt, or an answer. */
    isInDoubt: () => isInDoubt,
    /** Makes or replaces a file in the stage of the first root, by a rename as of any change. */
    async replace(name: string, text: string): Promise<void> {
      const { stage } = first
      const made = stage.at(temporaryName())
      await writeFile(made, text)
      await rename(made, stage.at(name))
    },
    /**
     * Once the changes of earlier authorities are settled, and receipts judged: removes what they have left. Do not wait for it: on GlusterFS
     * the removal of a file that a client wrote when it was cut off may never end.
     */
    async sweep(): Promise<void> {
      for (const { stage } of stages)
        for (const name of readdirSync(stage.at('.')).filter((other) => !isOfThisProcess(other)))
          await unlink(stage.at(name)).catch(() => attempt(() => removeWhole(stage, name)))
    }
  }
}

/** Removes a file by one rename into the stage. @param stage undefined if one host serves the tree */
export function removeThrough(stage: Stage | undefined, { directory, name }: Entry): void {
  if (stage === undefined)
    return makeCertainly(
      () => directory.within((at) => unlinkSync(at(name))),
      () => isGone(directory, name)
    )
  const staged = temporaryName()
  takeIntoStage(stage, staged, { directory, name })
  // If that fails, the next authority removes it.
  attempt(() => unlinkSync(stage.at(staged)))
}

/** @param staged its name in the stage. @throws Error of the file system, Unanswered */
export function takeIntoStage(stage: Stage, staged: string, { directory, name }: Entry): void {
  makeCertainly(
    () => directory.within((at) => renameSync(at(name), stage.at(staged))),
    () => isGone(directory, name)
  )
}
