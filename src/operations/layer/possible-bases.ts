// From which versions a command may have started: an overlay shows a newer version of a file at a first look, so it is not known for certain.
import type { LayerEntry } from '../../engine/layers/layer-contents.ts'
import type { Layer } from '../../engine/layers/layers.ts'
import { external } from '../../engine/versions/history.ts'
import type { Version } from '../../engine/versions/version.ts'
import { isSameState, stateOfVersion, type PathState } from './path-state.ts'

/** File systems stamp changes with a coarse clock. */
const clockGrainMs = 50
/** Of a file that an unknown program has changed: its times may tell of a later change than that of its content, such as one of its mode. */
const unknownMs = 2000

/**
 * Every state that the path has had between the start of the command and its last write there, as far as the log and the times of the file say.
 * Once the command has written a file, it sees its own and no newer version.
 * @param versions of the path, oldest first
 * @returns undefined if one of them is not known
 */
export function possibleBases(
  { path, writtenAt }: Pick<LayerEntry, 'path' | 'writtenAt'>,
  versions: readonly Version[],
  { seq, startedAt, end }: Pick<Layer, 'seq' | 'startedAt' | 'end'>
): readonly PathState[] | undefined {
  const found = end?.found[path]
  if (end === undefined || found === undefined) return undefined
  const isOld = (changedAt: number | undefined) => changedAt !== undefined && changedAt < startedAt - clockGrainMs
  if (isOld(found.changedAt)) return [found.state]
  const first = firstState(versions, seq, isOld)
  if (first === undefined) return versions.length === 0 && found.state === null ? [null] : undefined
  const states = [first.state]
  const later = versions.filter((version) => version.seq > seq && version.seq <= end.seq)
  for (const version of later) {
    const state = stateOfVersion(version)
    if (state === undefined) return undefined
    if (isShown(version.changedAt, version.agentId === external.agentId, writtenAt)) states.push(state)
  }
  const isLogged = [first.state, ...later.map(stateOfVersion)].some(
    (state) => state !== undefined && isSameState(state, found.state)
  )
  if (!isLogged && isShown(found.changedAt, true, writtenAt)) states.push(found.state)
  return states.filter((state, at) => states.findIndex((other) => isSameState(state, other)) === at)
}

/** When the command began. Undefined if that is not known. */
function firstState(
  versions: readonly Version[],
  seq: number,
  isOld: (changedAt: number | undefined) => boolean
): { readonly state: PathState } | undefined {
  const before = versions.findLast((version) => version.seq <= seq)
  if (before !== undefined) return wrap(stateOfVersion(before))
  const [first] = versions
  if (first === undefined) return undefined
  if (first.isFirstSight) return isOld(first.changedAt) ? wrap(stateOfVersion(first)) : undefined
  return first.isCreated === true ? { state: null } : undefined
}

/** False if the command had written the file before. */
function isShown(changedAt: number | undefined, isUnknown: boolean, writtenAt: number): boolean {
  return changedAt === undefined || changedAt - (isUnknown ? unknownMs : 0) <= writtenAt + clockGrainMs
}

function wrap(state: PathState | undefined) {
  return state === undefined ? undefined : { state }
}
