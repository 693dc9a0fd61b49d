// Commits a plan, and records its versions as the caller's, all in the tick of the change.
import type { OperationContext } from '../../engine/context.ts'
import { unknownIdentity, type FileIdentity } from '../../engine/files/identity.ts'
import type { PathChange } from '../../engine/commit/step.ts'
import { isWrittenBy } from '../../engine/versions/history.ts'
import type { Author, Entry } from '../../engine/versions/version.ts'
import { entryAt } from '../change/entry-version.ts'
import { authorOf } from '../change/file-version.ts'

interface CommitOptions {
  readonly operation: string
  readonly assertHeld: () => void
  /** What a repeat of the call is answered. */
  readonly answer: () => object
  /** Whether the caller has sent all of a new version. */
  readonly isWhole: (change: PathChange) => boolean
}

/** @throws StaleFileError, OperationError; nothing was changed then, or the error says that it was */
export async function commitPlan(
  context: OperationContext,
  changes: readonly PathChange[],
  { operation, assertHeld, answer, isWhole }: CommitOptions
): Promise<void> {
  const { files, history, caller, receipt } = context
  const author = authorOf(caller, operation)
  const links = changes.map(linksOf)
  const unsure = await files.commit(changes, {
    ...author,
    assertHeld,
    ...(receipt !== undefined && {
      announce: (record: string) => receipt.begin({ kind: 'transaction', record }, answer())
    }),
    onMade(identities) {
      receipt?.made()
      const all = { ...author, group: history.nextGroup() }
      for (const [index, change] of changes.entries())
        record(context, change, all, { ...links[index]!, identity: identities[index], isWhole: isWhole(change) })
    }
  })
  if (unsure !== undefined) throw unsure
}

/** Links that the change moves or replaces, read before it. */
interface Links {
  /** What it removes or replaces, if that is no version. */
  readonly over: Entry | undefined
  /** What is moved to the path, if that is no version. */
  readonly moved: Entry | undefined
}

function linksOf({ place, before, after }: PathChange): Links {
  return {
    over: entryAt(place, before.kind === 'file' ? before.version : undefined),
    moved: after.kind === 'moved' ? entryAt(after.from, after.version) : undefined
  }
}

interface Made extends Links {
  readonly identity: FileIdentity | undefined
  readonly isWhole: boolean
}

function record(
  { bases, history, reads, caller }: OperationContext,
  { place: { path: canonical }, path, before, after, renamedFrom, renamedTo, restores }: PathChange,
  author: Author,
  { identity = unknownIdentity, over, moved, isWhole }: Made
): void {
  const facts = { author, over, renamedFrom, restores }
  switch (after.kind) {
    case 'none':
      return history.recordGone(canonical, { author, over, renamedTo })
    case 'bytes': {
      const { hash, bytes } = after
      bases.keep(hash, bytes)
      history.record(canonical, hash, identity, facts)
      const named = { path: canonical, given: path, hash }
      const isSent = isWhole || (before.kind !== 'file' && isWrittenBy({ ...author, renamedFrom }, author.agentId))
      return isSent ? reads.recordSent(caller.agentId, named) : reads.recordNamed(caller.agentId, named)
    }
    case 'moved': {
      const { version, from } = after
      if (version === undefined) return history.recordEntry(canonical, moved ?? 'unread', facts)
      bases.keep(version.hash, version.bytes)
      history.record(canonical, version.hash, identity, { ...facts, renamedFrom: from.path })
      // Where names are exchanged, a reader of either looks again.
      if (before.kind === 'none') reads.move(from.path, canonical, path, caller.agentId)
      return undefined
    }
    case 'link':
      return history.recordEntry(canonical, { link: after.target }, facts)
    default:
      return after satisfies never
  }
}
