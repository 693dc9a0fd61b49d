// What one agent has been shown of one file.
import type { SeenVersion, ShownStep } from './seen-versions.ts'

/** One agent's knowledge of one file. */
export interface AgentView {
  readonly agentId: string
  /** Canonical. */
  readonly path: string
  /** As the agent spelt it. */
  readonly given: string
  /** What it has seen, by version: the latest last. */
  seen: readonly SeenVersion[]
  /** The differences that it was shown, the latest last. */
  steps: readonly ShownStep[]
  /** No change up to this version of the file's history is news: the agent knows of it, or has been told. */
  learnedSeq: number
  /** Of that version; null if no file was there, or it is not known. */
  learnedHash: string | null
}
