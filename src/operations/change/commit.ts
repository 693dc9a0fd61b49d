// Commits the steps of a change, and records their versions as the caller's.
import type { Committed } from '../../engine/commit/commits.ts'
import type { CommitHooks } from '../../engine/commit/hooks.ts'
import { versionBefore, type Step } from '../../engine/commit/step.ts'
import type { OperationContext } from '../../engine/call/context.ts'
import { unknownIdentity, type FileIdentity } from '../../engine/files/identity.ts'
import { type MadeStep, type Now, nothing } from '../../engine/versions/made-step.ts'
import type { Author } from '../../engine/versions/author.ts'
import type { Entry } from '../../engine/versions/version.ts'
import { nameOnDisk } from '../../engine/files/name-on-disk.ts'
import { entryAt } from './entry-version.ts'
import { authorOf } from './file-version.ts'

/** `sent`: the caller has sent all of the new version. `named`: it knows which version is there, though it may not have seen it. */
export type Sight = 'sent' | 'named' | undefined

interface CommitOptions {
  readonly operation: string
  /** See `Author.command`. */
  readonly command?: string | undefined
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
  { operation, command, assertHeld, answer, finalAnswer, sightOf }: CommitOptions
): Promise<void> {
  const { commits, caller, receipt, signal } = context
  const author = { ...authorOf(caller, operation), ...(command !== undefined && { command }) }
  const links = steps.map(linksOf)
  const hooks: CommitHooks = {
    assertHeld,
    mayCopy: finalAnswer !== undefined,
    announce: receipt && ((intent) => receipt.begin(intent, answer())),
    onMade(identities, way) {
      if (finalAnswer === undefined) receipt?.made()
      const made = steps.map((step, index) => {
        const identity = steps.length === 1 || way !== undefined ? identities[0] : identities[index]
        return { step, path: pathNow(step), ...links[index]!, identity, isLeft: way === 'source-left' }
      })
      record(context, author, made, sightOf)
    },
    ...author
  }
  const { outcome, unsure } = await commits.commit(steps, hooks, signal)
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
  readonly step: Step
  /** Canonical. */
  readonly path: string
  readonly identity: FileIdentity | undefined
  /** True if a rename has left the file at its old name, too. */
  readonly isLeft: boolean
}

/** Some file systems give a new file another name than was asked for: in small letters. */
function pathNow({ place: { root, path }, before, after }: Step): string {
  return before.kind === 'none' && after.kind !== 'none' ? nameOnDisk(root, path, path) : path
}

/** One entry of the log, and what agents know of what it has made. */
function record(
  context: OperationContext,
  author: Author,
  made: readonly Made[],
  sightOf: CommitOptions['sightOf']
): void {
  const { bases, history, reads, caller } = context
  for (const { step, path } of made) {
    const version = bytesOf(step.after)
    if (version !== undefined) bases.keep(version.hash, version.bytes)
    const before = versionBefore(step)?.hash
    // Before the entry, so that the caller has made what it writes of a version that it knows.
    if (before !== undefined && step.after.kind === 'bytes' && sightOf(step) === 'named')
      reads.recordNamed(caller.agentId, { path, given: step.path, hash: before })
  }
  history.append(author, made.filter(isLogged).map(toLogged))
  for (const one of made) noteSight(context, one, sightOf(one.step))
}

function bytesOf(after: Step['after']) {
  if (after.kind === 'bytes') return after
  return after.kind === 'moved' ? after.version : undefined
}

/** The old name of a file that it still has has not changed. */
function isLogged({ step, isLeft }: Made): boolean {
  return !isLeft || step.after.kind !== 'none'
}

function toLogged({ step, path, identity = unknownIdentity, over, moved, isLeft }: Made): MadeStep {
  const { after, renamedTo, restores, takesBack } = step
  const from = after.kind === 'moved' && after.version !== undefined ? after.from.path : step.renamedFrom
  const renamedFrom = isLeft ? undefined : from
  return { path, now: nowOf(after, identity, moved), over, renamedFrom, renamedTo, restores, takesBack, isOwn: true }
}

function nowOf(after: Step['after'], identity: FileIdentity, moved: Entry | undefined): Now {
  if (after.kind === 'none') return nothing
  if (after.kind === 'link') return { kind: 'entry', entry: { link: after.target } }
  const version = bytesOf(after)
  return version === undefined
    ? { kind: 'entry', entry: moved ?? 'unread' }
    : { kind: 'file', hash: version.hash, identity }
}

function noteSight({ reads, caller: { agentId } }: OperationContext, { step, path, isLeft }: Made, sight: Sight): void {
  const { path: given, after, isMoved } = step
  if (after.kind === 'bytes') {
    const named = { path, given, hash: after.hash }
    if (sight === 'sent') reads.recordSent(agentId, named)
    else if (sight === 'named') reads.recordNamed(agentId, named)
  }
  // Where names are exchanged, a reader of either looks again.
  if (after.kind === 'moved' && after.version !== undefined && !isLeft && isMoved !== true)
    reads.move(after.from.path, path, given, agentId)
}
