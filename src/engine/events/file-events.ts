// Changes of files as events.
import type { History, VersionChange } from '../versions/history.ts'
import type { NewEvent } from './event-hub.ts'

/** Skips changes that are part of very many: they are reported together elsewhere. @returns ends it */
export function followHistory(history: History, publish: (event: NewEvent) => void): () => void {
  return history.onEntry(({ isBulk, steps }) => {
    if (!isBulk) for (const step of steps) publish(toFileChanged(step))
  })
}

function toFileChanged({
  path,
  agentId,
  operation,
  hash,
  previousHash,
  renamedFrom,
  changeSet
}: VersionChange): NewEvent {
  return {
    type: 'file_changed',
    path,
    agent_id: agentId,
    operation,
    hash,
    ...(previousHash !== undefined && { previous_hash: previousHash }),
    ...(changeSet !== undefined && { change_set: changeSet }),
    ...(renamedFrom !== undefined && { renamed_from: renamedFrom })
  }
}
