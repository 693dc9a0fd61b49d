// Who has made a version, and what that says of what they know.

/** The agent and the operation that made a version. */
export interface Author {
  /** `external` for a change made outside the server. */
  readonly agentId: string
  readonly operation: string
  /** The changes to which it belongs: those of a transaction, or of a task that the agent has named. */
  readonly changeSet?: string
  /** Of a change by a shell command: its text, shortened, without secrets. */
  readonly command?: string
  /** Set if it is not known which of these made it, `agentId` first. */
  readonly agents?: readonly string[]
}

export const external: Author = { agentId: 'external', operation: 'external' }

/** Operations of versions that an agent's own tools made: certainly, or as far as can be told without a report of the tool's end. */
export const nativeEdit = 'native_edit'
export const probableEdit = 'native_edit_probable'

/** The operation of versions that a shell command of an agent made. */
export const byCommand = 'command'

/** False for a version that is only probably the agent's: another one may have made it. */
export function isMadeBy({ agentId, operation, agents }: Author, agent: string): boolean {
  return agentId === agent && operation !== probableEdit && agents === undefined
}

/** True for any agent that has made the version, or is one of those of which one has. */
export function mayBeMadeBy({ agentId, agents }: Author, agent: string): boolean {
  return agentId === agent || agents?.includes(agent) === true
}

/** True if the agent has made the version, and need not have sent its content. */
export function isCommandOf(version: Author, agent: string): boolean {
  return version.operation === byCommand && isMadeBy(version, agent)
}

/** Operations that bring back what was there before. */
const restoring: readonly string[] = ['async_restore', 'async_undo']

/** True if the agent has made the version and its content: it knows what it has put there. */
export function isWrittenBy(version: Author & { readonly renamedFrom?: string | undefined }, agent: string): boolean {
  const { renamedFrom, operation } = version
  return (
    isMadeBy(version, agent) && renamedFrom === undefined && operation !== byCommand && !restoring.includes(operation)
  )
}
