// Makes several steps, all or none: staged and synced, then noted, then renamed into place in one tick, then synced again.
import { OperationError } from '../../errors.ts'
import { attempt } from '../../support/attempt.ts'
import { createAfterChange, notDurable } from './after-change.ts'
import type { Durability } from './durability.ts'
import type { CommitHooks } from './hooks.ts'
import type { Notes } from './notes.ts'
import { makeParents, missingFolders, type MadeParents } from './parents.ts'
import type { Shelf } from '../files/directory.ts'
import type { Stages } from './stages.ts'
import type { Writer } from './write-file.ts'
import { Unanswered } from './unanswered.ts'
import { explainWriteError } from './write-error.ts'
import { prepareStep, type PreparedStep, type Step } from './step.ts'
import { prepareSwap, withInner } from './swap.ts'

interface Parts {
  readonly writer: Writer
  readonly durability: Durability
  readonly stages: Stages | undefined
  /** Undefined without a folder of the server's own: then a kill leaves what it leaves. */
  readonly notes: Notes | undefined
  /** Some of a transaction's changes could not be taken back. @returns called once they have been */
  readonly onUnfinished: (message: string) => () => void
}

/** Steps whose staged files may be open at once. */
const mostOpen = 256
/** Between two attempts to take back what another program holds. */
const retryMs = 1000

export function createTogether({ writer, durability, stages, notes, onUnfinished }: Parts) {
  /**
   * @returns a doubt about what was made
   * @throws StaleFileError if another program has changed a file meanwhile; OperationError. Then nothing was changed.
   */
  return async (changes: readonly Step[], hooks: CommitHooks): Promise<OperationError | undefined> => {
    const steps: PreparedStep[] = []
    const parents: MadeParents[] = []
    const note = notes?.begin(hooks)
    let isNoted = false
    let withdraw: (() => void) | undefined
    let current = changes[0]?.path ?? ''

    /** Steps whose staged files are synced and closed. */
    let synced = 0

    async function prepare(): Promise<void> {
      const groups = withInner(changes, ({ place }) => place.path)
      await note?.noteFolders([...new Set([...groups.keys()].flatMap(({ place }) => missingFolders(place)))])
      for (const [change, inner] of groups) {
        current = change.path
        const made = makeParents(change.place, durability)
        parents.push(made)
        const stage = stages?.of(made.place.path)
        if (inner.length === 0) await add(await prepareStep(writer, change, made, stage))
        else await prepareSwap(change, inner, { writer, place: made.place, stage, isFull: durability.isFull, add })
      }
      await syncStaged()
      const order = new Map(changes.map((change, index) => [change, index]))
      steps.sort((one, other) => order.get(one.change)! - order.get(other.change)!)
      if (durability.isFull) await Promise.all(foldersOf(steps).map((folder) => folder.sync()))
    }

    async function add(step: PreparedStep): Promise<void> {
      steps.push(step)
      if (steps.length - synced >= mostOpen) await syncStaged()
    }

    function check(): void {
      writer.assertOpen(current)
      hooks.assertHeld()
      for (const step of steps) step.check()
    }

    /** What has been made must not be open: then the system may not let it be taken back. */
    async function syncStaged(): Promise<void> {
      const files = steps.slice(synced).flatMap((step) => step.files)
      synced = steps.length
      await Promise.all(files.map(({ fd }) => durability.syncContent(fd)))
      for (const file of files) file.close()
    }

    /** In one tick. What replaces comes before what removes: a removal that is made shows that all else is. */
    function apply(): void {
      check()
      for (const step of inOrder(steps)) {
        current = step.change.path
        step.apply()
      }
      hooks.onMade(steps.map((step) => step.identity()))
    }

    /** The names as they were, durable before the note goes. */
    async function takeBack(): Promise<void> {
      for (const step of inOrder(steps).reverse()) step.undo()
      if (isNoted && durability.isFull) await Promise.all(foldersOf(steps).map((folder) => folder.sync()))
      await Promise.all(steps.map((step) => step.clear()))
      for (const each of parents.toReversed()) each.undo()
      await note?.end()
    }

    /** From here on the transaction has failed, for a later process too: what is still made of it is taken back as soon as that works. */
    function takeBackLater(): void {
      attempt(() => note?.turnBack())
      const paths = steps.map(({ change }) => change.path).join(', ')
      const end = onUnfinished(
        `A transaction failed, and some of its changes cannot be taken back yet: ${paths}. Another program may hold one of the files open: close it. The server tries again every second.`
      )
      const retry = async (): Promise<void> => {
        try {
          await takeBack()
        } catch {
          setTimeout(() => void retry(), retryMs).unref()
          return
        }
        closePlaces()
        end()
      }
      setTimeout(() => void retry(), retryMs).unref()
    }

    function closePlaces(): void {
      for (const { place } of parents) place.close()
    }

    try {
      await prepare()
      const noted = steps.map((step) => step.noted)
      await note?.noteSteps(noted, () => {
        check()
        withdraw = hooks.announce?.({ note: note.name })
      })
      isNoted = note !== undefined
      apply()
    } catch (error) {
      const stage = stages?.of(changes[0]?.place.path ?? '')
      if (stage !== undefined && (error instanceof Unanswered || (isNoted && stage.isTaken()))) {
        stage.doubt()
        note?.leave()
        closePlaces()
        throw lost(current, error)
      }
      try {
        await takeBack()
      } catch (cause) {
        takeBackLater()
        withdraw?.()
        throw notTakenBack(current, cause)
      }
      // Only now: a note that a later process finds would be carried out.
      withdraw?.()
      closePlaces()
      const known = error instanceof Unanswered ? error.cause : error
      throw explainWriteError(stage === undefined ? known : stage.explain(known, current), current)
    }
    const after = createAfterChange()
    const places = steps.map(({ place }) => place)
    await durability.syncAllNames(places, foldersOf(steps), after)
    await note?.end().catch((error: unknown) => after.note(notDurable, error))
    await Promise.all(steps.map((step) => step.clear()))
    closePlaces()
    return after.toError('WRITE_ERROR', current, () => hashOf(steps.at(-1)))
  }
}

function hashOf(step: PreparedStep | undefined): string | undefined {
  const after = step?.change.after
  return after?.kind === 'bytes' ? after.hash : undefined
}

function inOrder(steps: readonly PreparedStep[]): PreparedStep[] {
  const isRemoval = ({ noted }: PreparedStep) => noted.after === null
  return [...steps.filter((step) => !isRemoval(step)), ...steps.filter(isRemoval)]
}

/** Of what is staged, too. */
function foldersOf(steps: readonly PreparedStep[]): Shelf[] {
  const all = steps.flatMap(({ place: { directory }, shelf }): Shelf[] => [directory, shelf])
  return [...new Map(all.map((folder) => [folder.path, folder])).values()]
}

/** The next authority finds the note, if it is there. */
function lost(path: string, cause: unknown): OperationError {
  const message = `This host lost the tree during a transaction, at ${path}. The next host makes all of its changes, or none: read the files, then decide.`
  return new OperationError('AUTHORITY_LOST', message, { path, cause })
}

function notTakenBack(path: string, cause: unknown): OperationError {
  const message = `A transaction failed at ${path}, and the system does not let its first changes be taken back yet: another program may hold a file open. The server takes them back as soon as it can, its next start at the latest, and makes none of the others. Wait until /health names no transaction, then read the files.`
  return new OperationError('WRITE_ERROR', message, { path, details: { applied: true, unfinished: true }, cause })
}
