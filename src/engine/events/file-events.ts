// Changes of files as events: as they happen, and from the log for followers that come back.
import { inSlices } from '../../support/slices.ts'
import { timestamp } from '../../support/timestamp.ts'
import type { History, VersionChange } from '../versions/history.ts'
import { commandOf } from '../versions/modification.ts'
import type { Publish } from './event-hub.ts'
import { loggedId, type FileEvent, type Recalled } from './tree-event.ts'

/** Skips changes that are part of very many: they are reported together elsewhere. @returns ends it */
export function followHistory(history: History, publish: Publish): () => void {
  return history.onEntry(({ isBulk, steps }) => {
    if (!isBulk) for (const step of steps) publish(toFileChanged(step), step)
  })
}

/** @param after `seq` of the last version that the follower knows of @param limit of the events, of which the newest are kept */
export async function recallChanges(history: History, after: number, limit: number): Promise<Recalled> {
  const upTo = history.newest
  const found: VersionChange[] = []
  /** When the last known change was made. */
  let knownAt: number | undefined
  await inSlices(history.paths(), (path) => {
    const versions = history.versions(path)
    for (let index = versions.length - 1; index >= 0; index -= 1) {
      const version = versions[index]!
      if (version.seq === after) knownAt = version.at
      if (version.seq <= after) break
      const previousHash = version.isCreated === true ? null : versions[index - 1]?.hash
      if (version.seq <= upTo && !version.isFirstSight) found.push({ ...version, path, previousHash })
    }
  })
  const { forgottenAt = -Infinity } = history
  return {
    events: found
      .sort((one, other) => one.seq - other.seq)
      .slice(-limit)
      .map((change) => ({ ...toFileChanged(change), id: loggedId(change.seq), at: timestamp(change.at) })),
    isWhole: knownAt !== undefined && forgottenAt < knownAt && found.length <= limit,
    upTo
  }
}

function toFileChanged(change: VersionChange): Omit<FileEvent, 'id' | 'at'> {
  const { path, agentId, operation, hash, previousHash, renamedFrom, changeSet } = change
  return {
    type: 'file_changed',
    path,
    agent_id: agentId,
    operation,
    hash,
    ...(previousHash !== undefined && { previous_hash: previousHash }),
    ...(changeSet !== undefined && { change_set: changeSet }),
    ...commandOf(change),
    ...(renamedFrom !== undefined && { renamed_from: renamedFrom })
  }
}
