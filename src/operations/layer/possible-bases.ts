// From which versions a command may have started: an overlay shows a newer version of a file at a first look, so it is not known for certain.
import type { LayerEntry } from '../../engine/layers/layer-contents.ts'
import type { Layer } from '../../engine/layers/layers.ts'
import type { Version } from '../../engine/versions/version.ts'
import { isSameState, stateOfVersion, type PathState } from './path-state.ts'

/** Of the log, and of the file system at the path. */
interface KnownOfPath {
  /** Oldest first. */
  readonly versions: readonly Version[]
  /** Device of the file system. */
  readonly dev: bigint
}

/** What times tell. */
interface Order {
  /** True if what has this ctime has been there since before the command began. */
  readonly isOld: (changedAt: number | undefined) => boolean
  /** False if the command had written the file before a version with this `changedAt` was made: then it saw its own. */
  readonly isShown: (changedAt: number | undefined) => boolean
}

/** File systems keep times as fine as seconds, or as nanoseconds. */
const otherGrainMs = 2000

/**
 * Every state that the path has had between the start of the command and its last write there, as far as the log and the times of the file say.
 * Once the command has written a file, it sees its own and no newer version.
 * @returns undefined if one of them is not known
 */
export function possibleBases(
  { path, writtenAt }: Pick<LayerEntry, 'path' | 'writtenAt'>,
  { versions, dev }: KnownOfPath,
  layer: Pick<Layer, 'seq' | 'startedAt' | 'dev' | 'end'>
): readonly PathState[] | undefined {
  const { seq, end } = layer
  const found = end?.found[path]
  if (end === undefined || found === undefined) return undefined
  const { isOld, isShown } = orderOf(layer, dev, writtenAt)
  if (isOld(found.changedAt)) return [found.state]
  const first = firstState(versions, seq, isOld)
  if (first === undefined) return versions.length === 0 && found.state === null ? [null] : undefined
  const states = [first]
  let isLogged = isSameState(first, found.state)
  for (const version of versions.filter((one) => one.seq > seq)) {
    const state = stateOfVersion(version)
    const isFound = state !== undefined && isSameState(state, found.state)
    // What was made at the end may have been logged behind it.
    if (version.seq > end.seq && !isFound) continue
    if (state === undefined) return undefined
    isLogged ||= isFound
    if (isShown(version.changedAt)) states.push(state)
  }
  if (!isLogged) states.push(found.state)
  return states.filter((state, at) => states.findIndex((other) => isSameState(state, other)) === at)
}

/**
 * One file system stamps all changes by one clock, which never goes back unless it is set, and a version is stamped before it is shown. So what was
 * stamped later than the command's last write was not shown before it; equal times say nothing.
 */
function orderOf(
  { startedAt, dev, end }: Pick<Layer, 'startedAt' | 'dev' | 'end'>,
  other: bigint,
  writtenAt: number
): Order {
  if (end?.isClockSetBack === true) return { isOld: () => false, isShown: () => true }
  const isOneClock = dev === other
  const oldest = isOneClock ? startedAt : startedAt - otherGrainMs
  return {
    isOld: (changedAt) => changedAt !== undefined && changedAt < oldest,
    isShown: (changedAt) => !isOneClock || changedAt === undefined || changedAt <= writtenAt
  }
}

/** When the command began. Undefined if that is not known. */
function firstState(versions: readonly Version[], seq: number, isOld: Order['isOld']): PathState | undefined {
  const before = versions.findLast((version) => version.seq <= seq)
  if (before !== undefined) return stateOfVersion(before)
  const [first] = versions
  if (first?.isFirstSight === true) return isOld(first.changedAt) ? stateOfVersion(first) : undefined
  return first?.isCreated === true ? null : undefined
}
