import type { Modification } from '../../../schemas/common.ts'
import { timestamp } from '../../support/timestamp.ts'
import type { Version } from './history.ts'

/** A version as answers describe it. */
export function toModification({ agentId, operation, at }: Version): Modification {
  return { agent_id: agentId, operation, at: timestamp(at) }
}
