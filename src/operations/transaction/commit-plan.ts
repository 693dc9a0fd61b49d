// Commits a plan, and records its versions as the caller's, all in the tick of the change.
import type { OperationContext } from '../../engine/context.ts'
import { unknownIdentity, type FileIdentity } from '../../engine/files/identity.ts'
import { readLink } from '../../engine/files/links.ts'
import type { PathChange } from '../../engine/files/transaction/step.ts'
import type { Author } from '../../engine/versions/version.ts'
import { authorOf } from '../change/file-version.ts'

interface CommitOptions {
  readonly operation: string
  readonly assertHeld: () => void
  /** What a repeat of the call is answered. */
  readonly answer: () => object
  /** What the caller knows of a new version by its change: all of it, or what differs from the version before. */
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
  const links = changes.map(({ place, after }) =>
    after.kind === 'none' && place.stat?.isSymbolicLink() === true ? readLink(place) : undefined
  )
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
        record(context, change, all, { identity: identities[index], link: links[index], isWhole: isWhole(change) })
    }
  })
  if (unsure !== undefined) throw unsure
}

interface Made {
  readonly identity: FileIdentity | undefined
  readonly link: string | undefined
  readonly isWhole: boolean
}

function record(
  { bases, history, reads, caller }: OperationContext,
  { place: { path: canonical }, path, before, after, renamedFrom, renamedTo }: PathChange,
  author: Author,
  { identity = unknownIdentity, link, isWhole }: Made
): void {
  switch (after.kind) {
    case 'none':
      return history.recordGone(canonical, { author, link, ...(renamedTo !== undefined && { renamedTo }) })
    case 'bytes': {
      const { hash, bytes } = after
      bases.keep(hash, bytes)
      history.record(canonical, hash, identity, { author, ...(renamedFrom !== undefined && { renamedFrom }) })
      const from = before.kind === 'file' && !isWhole ? { from: before.version.hash } : {}
      return reads.recordKnown(caller.agentId, { path: canonical, given: path, hash, ...from })
    }
    case 'moved': {
      const { version, from } = after
      if (version === undefined) return history.recordGone(canonical, { author })
      bases.keep(version.hash, version.bytes)
      history.record(canonical, version.hash, identity, { author, renamedFrom: from.path })
      // Where names are exchanged, a reader of either looks again.
      if (before.kind === 'none') reads.move(from.path, canonical, path, caller.agentId)
      return undefined
    }
    case 'link':
      return undefined
    default:
      return after satisfies never
  }
}
