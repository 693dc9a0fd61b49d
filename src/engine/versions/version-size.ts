// What versions take in memory.
import type { Version } from './history.ts'

/** An object that is written out takes less memory than one to which members were added. */
export function compact(version: Version): Version {
  const { hash, at, agentId, operation, isFirstSight, seq, ...more } = version
  const isPlain = Object.values(more).every((member) => member === undefined)
  return isPlain ? { hash, at, agentId, operation, isFirstSight, seq } : version
}

// Measured: what a file takes beside its path, and a version beside its names.
export const fileBytes = 900
const versionBytes = 320

export function sizeOfVersion({ renamedFrom = '', renamedTo = '', was, changeSet = '' }: Version): number {
  return versionBytes + renamedFrom.length + renamedTo.length + changeSet.length + (was?.link?.length ?? 0)
}

export function sizeOfVersions(versions: readonly Version[]): number {
  return versions.reduce((sum, version) => sum + sizeOfVersion(version), 0)
}
