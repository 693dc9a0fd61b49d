// What one agent has been shown of one file.
import type { SeenRange } from './seen-ranges.ts'
import type { SeenVersion, ShownStep } from './seen-versions.ts'

/** One agent's knowledge of one file. */
export interface AgentView {
  readonly agentId: string
  /** Canonical. */
  readonly path: string
  /** As the agent spelt it. */
  readonly given: string
  /** The parts of the file of which the agent gets notices, oldest first. They count from the version of the last notice. */
  sights: readonly SeenRange[]
  /** What it has seen, by version: the latest last. */
  seen: readonly SeenVersion[]
  /** The differences that it was shown, the latest last. */
  steps: readonly ShownStep[]
  /** The agent knows what others have changed up to this version. */
  learnedSeq: number
}
