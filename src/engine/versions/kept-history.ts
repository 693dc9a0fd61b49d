// The histories of files as they outlive the process: what is kept of each, and how a later process goes on with it.
import { differentModes } from './made-step.ts'
import type { RememberedVersions } from './remembered-versions.ts'
import { asLater, type Forgotten, type Version } from './version.ts'

/** A file's history, as it outlives the process. */
export interface FileHistory {
  readonly path: string
  readonly versions: readonly Version[]
  /** Permission bits of the last version, as far as they are known. */
  readonly mode?: number | undefined
  /** Of the versions before these. */
  readonly forgotten?: Forgotten | undefined
  /** Of all files, when it was written. */
  readonly forgottenAt?: number | undefined
}

/** All that is known, the least recently used first. */
export function* dumpHistories(files: RememberedVersions): Generator<FileHistory> {
  for (const path of files.pathsByAge())
    yield {
      path,
      versions: files.versions(path),
      mode: files.peek(path)?.mode,
      forgotten: files.forgotten(path),
      forgottenAt: files.forgottenAt
    }
}

/** @param shareName the same name, as other records have it */
export function restoreHistory(
  files: RememberedVersions,
  shareName: (name: string) => string,
  { path, versions, mode, forgotten, forgottenAt }: FileHistory
): void {
  if (forgottenAt !== undefined) files.forgetUntil(forgottenAt)
  if (versions.length === 0) return
  const earlier = versions.map((version) => ({ ...version, agentId: shareName(version.agentId) }))
  const tracked = files.peek(path) ?? files.begin(path)
  const [first, ...others] = tracked.versions
  // The first version seen here is the last one known before, or else the file has changed while no server ran.
  const isSame = first?.isFirstSight === true && first.hash === versions.at(-1)?.hash
  // What has become of the mode since is not known.
  const modes = isSame && others.length === 0 ? differentModes(mode, tracked.mode) : undefined
  const own = first === undefined || (isSame && modes === undefined) ? others : [asLater(first, modes), ...others]
  tracked.mode ??= mode
  files.replace(tracked, [...earlier, ...own], forgotten)
}
