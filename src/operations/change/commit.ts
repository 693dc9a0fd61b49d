// Commits the steps of a change, and records their versions as the caller's.
import type { Committed } from '../../engine/commit/commits.ts'
import type { RenameOutcome } from '../../engine/commit/rename-entry.ts'
import { versionBefore, type Step } from '../../engine/commit/step.ts'
import type { OperationContext } from '../../engine/call/context.ts'
import { unknownIdentity, type FileIdentity } from '../../engine/files/identity.ts'
import type { Author, Entry } from '../../engine/versions/version.ts'
import { entryAt } from './entry-version.ts'
import { authorOf } from './file-version.ts'

/** `sent`: the caller has sent all of the new version. `named`: it knows which version is there, though it may not have seen it. */
export type Sight = 'sent' | 'named' | undefined

interface CommitOptions {
  readonly operation: string
  /** Call it in the same tick as the change. @throws OperationError LEASE_LOST, AUTHORITY_LOST */
  readonly assertHeld: () => void
  /** What a repeat of the call is answered. */
  readonly answer: () => object
  /** The same, where the way in which the change was made is part of it: only then may a rename leave two names. */
  readonly finalAnswer?: (outcome: Committed['outcome']) => Promise<object>
  /** What the caller knows of the bytes that it has written. */
  readonly sightOf: (step: Step) => Sight
}

/** @throws StaleFileError, OperationError; nothing was changed then, or the error says that it was */
export async function commitSteps(
  context: OperationContext,
  steps: readonly Step[],
  { operation, assertHeld, answer, finalAnswer, sightOf }: CommitOptions
): Promise<void> {
  const { commits, history, caller, receipt } = context
  const author = authorOf(caller, operation)
  const links = steps.map(linksOf)
  const { outcome, unsure } = await commits.commit(steps, {
    ...author,
    assertHeld,
    mayCopy: finalAnswer !== undefined,
    announce: receipt && ((intent) => receipt.begin(intent, answer())),
    onMade(identities, way) {
      if (finalAnswer === undefined) receipt?.made()
      const isOne = steps.length === 1 || way !== undefined
      const all = isOne ? author : { ...author, group: history.nextGroup() }
      for (const [index, step] of steps.entries()) {
        const identity = isOne ? identities[0] : identities[index]
        record(context, step, all, { ...links[index]!, identity, sight: sightOf(step), way })
      }
    }
  })
  if (finalAnswer !== undefined) {
    const final = await finalAnswer(outcome)
    receipt?.made(final)
  }
  if (unsure !== undefined) throw unsure
}

/** Links that the step moves or replaces, read before it. */
interface Links {
  /** What it removes or replaces, if that is no version. */
  readonly over: Entry | undefined
  /** What is moved to the path, if that is no version. */
  readonly moved: Entry | undefined
}

function linksOf(step: Step): Links {
  const { place, after } = step
  return {
    over: entryAt(place, versionBefore(step)),
    moved: after.kind === 'moved' ? entryAt(after.from, after.version) : undefined
  }
}

interface Made extends Links {
  readonly identity: FileIdentity | undefined
  readonly sight: Sight
  readonly way: RenameOutcome | undefined
}

function record(
  { bases, history, reads, caller }: OperationContext,
  { place: { path: canonical }, path, after, isMoved, renamedFrom, renamedTo, restores }: Step,
  author: Author,
  { identity = unknownIdentity, over, moved, sight, way }: Made
): void {
  const isLeft = way === 'source-left'
  const facts = { author, over, renamedFrom: isLeft ? undefined : renamedFrom, restores }
  switch (after.kind) {
    case 'none':
      if (!isLeft) history.recordGone(canonical, { author, over, renamedTo })
      return undefined
    case 'bytes': {
      const { hash, bytes } = after
      bases.keep(hash, bytes)
      history.record(canonical, hash, identity, facts)
      const named = { path: canonical, given: path, hash }
      if (sight === 'sent') reads.recordSent(caller.agentId, named)
      else if (sight === 'named') reads.recordNamed(caller.agentId, named)
      return undefined
    }
    case 'moved': {
      const { version, from } = after
      if (version === undefined) return history.recordEntry(canonical, moved ?? 'unread', facts)
      bases.keep(version.hash, version.bytes)
      history.record(canonical, version.hash, identity, { ...facts, renamedFrom: isLeft ? undefined : from.path })
      // Where names are exchanged, a reader of either looks again.
      if (!isLeft && isMoved !== true) reads.move(from.path, canonical, path, caller.agentId)
      return undefined
    }
    case 'link':
      return history.recordEntry(canonical, { link: after.target }, facts)
    default:
      return after satisfies never
  }
}
