// Who has changed a file, as answers describe it.
import type { CommandFacts, ModeFacts, Modification } from '../../../schemas/common.ts'
import { timestamp } from '../../support/timestamp.ts'
import type { Author } from './author.ts'
import type { Version } from './version.ts'

export interface Modifications {
  readonly modified_by: Modification[]
  readonly earlier_modifications?: number
}

/** In one answer: a hundred of them would cost more than many a file. */
const maxModifications = 10

export function toModification(version: Version): Modification {
  const { agentId, operation, at } = version
  return { agent_id: agentId, operation, at: timestamp(at), ...commandOf(version) }
}

/** What answers say of a change that a shell command made, or that one of several agents made. */
export function commandOf({ command, agents }: Author): CommandFacts {
  const text = command === undefined ? {} : { command }
  if (agents !== undefined) return { ...text, attribution: 'one_of', agents: [...agents] }
  return command === undefined ? {} : { ...text, attribution: 'certain' }
}

/** What answers say of a change of the permission bits. */
export function modesAsText(modes: Version['modes']): ModeFacts {
  if (modes === undefined) return {}
  const [before, since] = modes
  return { previous_mode: toDigits(before), mode: toDigits(since) }
}

const toDigits = (mode: number) => mode.toString(8).padStart(3, '0')

/** @param versions oldest first */
export function toModifications(versions: readonly Version[]): Modifications {
  const earlier = versions.length - maxModifications
  return {
    modified_by: versions.slice(-maxModifications).map(toModification),
    ...(earlier > 0 && { earlier_modifications: earlier })
  }
}
