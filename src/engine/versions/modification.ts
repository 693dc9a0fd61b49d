// Who has changed a file, as answers describe it.
import type { Modification } from '../../../schemas/common.ts'
import { timestamp } from '../../support/timestamp.ts'
import type { Version } from './version.ts'

export interface Modifications {
  readonly modified_by: Modification[]
  readonly earlier_modifications?: number
}

/** In one answer: a hundred of them would cost more than many a file. */
const maxModifications = 10

export function toModification({ agentId, operation, at }: Version): Modification {
  return { agent_id: agentId, operation, at: timestamp(at) }
}

/** @param versions oldest first */
export function toModifications(versions: readonly Version[]): Modifications {
  const earlier = versions.length - maxModifications
  return {
    modified_by: versions.slice(-maxModifications).map(toModification),
    ...(earlier > 0 && { earlier_modifications: earlier })
  }
}
