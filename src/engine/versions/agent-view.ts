// What one agent has been shown of one file.
import type { LineRange } from './line-ranges.ts'

/** Lines of one version that an agent has seen. */
export interface SeenRange {
  /** Of the version, in its file's history. */
  readonly seq: number
  readonly hash: string
  /** Of the version that was shown, if the agent has since been told that others changed it: then `seq` and `hash` are later. */
  readonly shownHash?: string | undefined
  /** Undefined for the whole file. */
  readonly lines?: LineRange | undefined
}

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
