// The state of a file from which on its changes are not committed.
import { external } from '../../engine/versions/author.ts'
import type { Lineage, LineageChange, State } from '../undo/lineages.ts'
import type { HeadFile, NowFile, PastHead } from './file-states.ts'
import type { KnownLife } from './known-life.ts'

export interface BaseFacts {
  /** What HEAD has at a path. */
  readonly headAt: (path: string) => HeadFile | undefined
  readonly hashOf: (bytes: Buffer) => string
  /** What commits that HEAD was before had at a path, the newest first. */
  readonly pastAt: (path: string) => readonly PastHead[]
  /** When HEAD had something else at a path the last time, at the latest, if changes that others took back are to land. Default: it may have now. */
  readonly steadyAt?: (path: string) => number
}

export interface Base {
  /** The name that HEAD has; undefined if HEAD has none of its names. */
  readonly path: string | undefined
  /** The first change that is not in HEAD, as far as is known. */
  readonly next: number
  /** True if HEAD has exactly what the file was then. */
  readonly isExact: boolean
  /** What the file was then, if an earlier HEAD had that. */
  readonly past?: PastHead
}

/**
 * The newest state that HEAD has; else the newest one that HEAD had while the file was so; else the oldest that is known. Where another
 * program has made the file what HEAD has, and then changed it again, it may have put aside what it has brought back since, as git stash
 * does; or an undo has brought it back.
 */
export function findBase(lineage: KnownLife | undefined, facts: BaseFacts): Base {
  const { headAt, hashOf, pastAt, steadyAt = () => Infinity } = facts
  if (lineage === undefined) return { path: undefined, next: 0, isExact: false }
  const { changes, state, path: last } = lineage
  const [first] = changes
  if (first === undefined) return { path: last, next: 0, isExact: isInHead(state, headAt(last), hashOf) }
  const uncommitted = placesAsHead(lineage, facts).find((index) => madeAt(changes[index]!) > steadyAt(last))
  if (uncommitted !== undefined) return { path: last, next: uncommitted, isExact: true }
  const lastExternal = changes.findLastIndex(isExternal)
  const takenBack = new Set(changes.flatMap(({ version }) => version.takesBack ?? []))
  /** It is over: what it had put aside has been brought back since. */
  const isOver = (change: LineageChange, index: number) =>
    isExternal(change) && (index < lastExternal || takenBack.has(change.version.seq))
  const findLast = (fits: (change: LineageChange) => boolean) =>
    changes.findLastIndex((change, index) => change.after.kind !== 'none' && !isOver(change, index) && fits(change))
  const exact = findLast(({ path, after }) => isInHead(after, headAt(path), hashOf))
  if (exact !== -1) return { path: changes[exact]!.path, next: exact + 1, isExact: true }
  if (isInHead(first.before, headAt(first.from), hashOf)) return { path: first.from, next: 0, isExact: true }
  const names = [first.from, ...changes.map(({ path }) => path)]
  const path = names.find((name) => headAt(name) !== undefined)
  for (const past of path === undefined ? [] : pastAt(path)) {
    const hash = hashOf(past.bytes)
    const index = findLast(
      ({ path: name, after, version }) =>
        name === path && after.kind === 'file' && after.hash === hash && version.at <= past.until
    )
    if (index !== -1) return { path, next: index + 1, isExact: false, past }
  }
  if (path !== undefined) return { path, next: 0, isExact: false }
  const gone = changes.findLastIndex(({ before, version }) => before.kind === 'none' && version.restores === undefined)
  return { path, next: Math.max(gone, 0), isExact: gone !== -1 }
}

/** The changes before which the file was as HEAD has it, as of `placesLike`. */
export function placesAsHead(life: Lineage, { headAt, hashOf }: Pick<BaseFacts, 'headAt' | 'hashOf'>): number[] {
  const head = headAt(life.path)
  return head === undefined ? [] : placesLike(life, (state) => isInHead(state, head, hashOf))
}

/** The changes before which the file was so, and since which only agents have changed it, none by an undo, and nothing but its content. */
export function placesLike(
  { changes }: { readonly changes: readonly LineageChange[] },
  isLike: (state: State) => boolean
): number[] {
  const isOther = ({ version, from, path, before, after }: LineageChange) =>
    version.takesBack !== undefined || from !== path || before.kind !== 'file' || after.kind !== 'file'
  const begin = 1 + changes.findLastIndex((change) => isExternal(change) || isOther(change))
  return changes.flatMap(({ before }, index) => (index >= begin && isLike(before) ? index : []))
}

/** At the earliest, in milliseconds since the epoch. */
export function madeAt({ version: { at, changedAt = at } }: LineageChange): number {
  return Math.min(at, changedAt)
}

const isExternal = ({ version }: LineageChange) => version.agentId === external.agentId

function isInHead(state: State, head: HeadFile | undefined, hashOf: BaseFacts['hashOf']): boolean {
  if (head === undefined) return false
  if (state.kind === 'link') return head.isLink && head.bytes.toString() === state.target
  return state.kind === 'file' && !head.isLink && hashOf(head.bytes) === state.hash
}

export function isSameState(state: State, now: NowFile | undefined, hashOf: BaseFacts['hashOf']): boolean {
  if (now === undefined) return state.kind === 'none'
  if (now.isLink) return state.kind === 'link' && state.target === now.bytes.toString()
  return state.kind === 'file' && state.hash === hashOf(now.bytes)
}

export function isSame(one: State, other: State): boolean {
  if (one.kind === 'file') return other.kind === 'file' && one.hash === other.hash
  return one.kind === 'link' && other.kind === 'link' && one.target === other.target
}
