// What one agent has been shown of one file.
import type { SeenRange } from './seen-ranges.ts'

/** One agent's knowledge of one file. */
export interface AgentView {
  readonly agentId: string
  /** Canonical. */
  readonly path: string
  /** As the agent spelt it. */
  readonly given: string
  /** Oldest first; together they are what it has seen. */
  sights: readonly SeenRange[]
  /** Hash of the last version that the agent knows as a whole. */
  knownHash: string | undefined
  /** The agent knows what others have changed up to this version. */
  learnedSeq: number
}
