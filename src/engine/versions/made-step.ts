// What a change has made at one path, and what is known of the version that comes of it.
import type { FileIdentity } from '../files/identity.ts'
import type { Author } from './author.ts'
import type { TrackedFile } from './remembered-versions.ts'
import { isSomethingThere, type Entry, type Version, type Was } from './version.ts'

/** For how long a change by another program may go unnoticed at most, while files in use are watched. */
const unnoticedMs = 2000

/** What a change has made at one path. */
export interface MadeStep {
  /** Canonical. */
  readonly path: string
  readonly now: Now
  readonly renamedFrom?: string | undefined
  readonly renamedTo?: string | undefined
  /** See `Version.restores`. */
  readonly restores?: number | undefined
  /** See `Version.takesBack`. */
  readonly takesBack?: readonly number[] | undefined
  /** What the change has removed or replaced, if that was no version. */
  readonly over?: Entry | undefined
  /** True if a file was there before of which no version is known. */
  readonly wasThere?: boolean
  /** True if the server has just made the change: the times of the file are those of the change. */
  readonly isOwn?: boolean
}

/** What is at a path. */
export type Now =
  | { readonly kind: 'file'; readonly hash: string; readonly identity: FileIdentity }
  | { readonly kind: 'entry'; readonly entry: Entry }
  | { readonly kind: 'none' }

export const nothing: Now = { kind: 'none' }

/** What else is known of a version that comes to a path. */
export function factsOfArrival(
  tracked: TrackedFile,
  author: Author | undefined,
  { renamedFrom, restores, takesBack, over, wasThere, now: there }: MadeStep,
  before: number | undefined
): Pick<Version, 'renamedFrom' | 'restores' | 'takesBack' | 'was' | 'modes' | 'isCreated'> {
  const last = tracked.versions.at(-1)
  const isFirst = last === undefined && author !== undefined && wasThere !== true
  const isCreated = over === undefined && (last === undefined ? isFirst : !isSomethingThere(last))
  const modes = restores === undefined ? otherModes(before, there) : undefined
  const isReplaced = !isCreated && (renamedFrom !== undefined || restores !== undefined)
  const was = isReplaced ? wasBefore(tracked, over) : undefined
  return {
    ...(renamedFrom !== undefined && { renamedFrom }),
    ...(restores !== undefined && { restores }),
    ...(takesBack !== undefined && { takesBack }),
    ...(was !== undefined && { was }),
    ...(modes !== undefined && { modes }),
    ...(isCreated && { isCreated })
  }
}

/** The time of an external change, kept within what is possible: an mtime can be set to anything, and moves with the file. */
export function timeOfChange(
  { mtimeNs, ctimeNs }: FileIdentity,
  isOfMode: boolean,
  last: Version | undefined,
  now: number
): number {
  return Math.max(Math.min(toMs(isOfMode ? ctimeNs : mtimeNs), now), last?.at ?? 0)
}

/** Its times may be those of a later change, such as one of its mode, and what is noticed may have begun before: the watcher waits for the end. */
export function sinceWhen({ mtimeNs, ctimeNs }: FileIdentity): number {
  return Math.min(toMs(mtimeNs), toMs(ctimeNs)) - unnoticedMs
}

export const toMs = (ns: bigint) => Number(ns / 1_000_000n)

/** What is known of a file that leaves a path. */
export function factsOfEnd(
  tracked: TrackedFile,
  { renamedTo, takesBack, over }: MadeStep
): Pick<Version, 'renamedTo' | 'takesBack' | 'was'> {
  const was = wasBefore(tracked, over)
  return {
    ...(renamedTo !== undefined && { renamedTo }),
    ...(takesBack !== undefined && { takesBack }),
    ...(was !== undefined && { was })
  }
}

export function otherModes(before: number | undefined, there: Now): Version['modes'] {
  const since = there.kind === 'file' ? there.identity.mode : undefined
  return differentModes(before, since)
}

export function differentModes(before: number | undefined, since: number | undefined): Version['modes'] {
  return before === undefined || since === undefined || before === since ? undefined : [before, since]
}

export function isNews({ now, over }: MadeStep, last: Version | undefined, author: Author | undefined): boolean {
  if (now.kind === 'none') return over !== undefined || last === undefined || isSomethingThere(last)
  if (author !== undefined) return true
  if (now.kind === 'file') return last?.hash !== now.hash
  return now.entry === 'unread' ? last?.isUnread !== true : last?.link !== now.entry.link
}

/** @param over what is there, if it is no version */
function wasBefore(tracked: TrackedFile, over: Entry | undefined): Was | undefined {
  if (over !== undefined) return over === 'unread' ? undefined : over
  const link = tracked.versions.at(-1)?.link
  return link === undefined ? modeOf(tracked) : { link }
}

export function modeOf({ mode }: TrackedFile): Was | undefined {
  return mode === undefined ? undefined : { mode }
}
