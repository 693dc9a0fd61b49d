// What an agent has seen of a file, as it was shown: lines of versions, and differences between versions.
import { union } from './line-ranges.ts'
import type { Spans } from './spans.ts'

/** What an agent has seen of one version. */
export interface SeenVersion {
  readonly hash: string
  /** Empty if the agent has named the version, and was shown nothing of it: then any change of it is news. */
  readonly spans: 'all' | Spans
}

/** The agent was shown all that differs between two versions. */
export interface ShownStep {
  readonly from: string
  readonly to: string
}

/** Nearly every view has none: they are in memory once. */
export const noSteps: readonly ShownStep[] = []

/** Versions of one file that are remembered as a whole (a file may be restored to the one before), in part, and differences. */
const maxWhole = 2
const maxParts = 7
const maxSteps = 8
/** More pieces than an agent reads of one version; beyond it the first pieces count as unseen. */
const maxSpans = 100

// Measured: what a version takes in memory, or a difference, and each piece.
const seenBytes = 100
const spanBytes = 48

export function sizeOfSeen(seen: readonly SeenVersion[], steps: readonly ShownStep[]): number {
  const pieces = seen.reduce((sum, { spans }) => sum + (spans === 'all' ? 0 : spans.length), 0)
  return seenBytes * (Math.max(0, seen.length - 1) + steps.length) + spanBytes * pieces
}

export function seenOf(seen: readonly SeenVersion[], hash: string | null): SeenVersion['spans'] | undefined {
  return seen.find((version) => version.hash === hash)?.spans
}

export function isOnlyNamed({ spans }: SeenVersion): boolean {
  return spans !== 'all' && spans.length === 0
}

/** What is known of a version as a whole is known of it in parts. */
export function addSeen(
  seen: readonly SeenVersion[],
  hash: string,
  spans: SeenVersion['spans']
): readonly SeenVersion[] {
  const last = seen.at(-1)
  if (last?.hash === hash && last.spans === 'all') return seen
  const known = seenOf(seen, hash)
  const all = known === 'all' || spans === 'all' ? 'all' : union([...(known ?? []), ...spans]).slice(-maxSpans)
  const others = seen.filter((one) => one.hash !== hash)
  const whole = others.filter((one) => one.spans === 'all').slice(all === 'all' ? 1 - maxWhole : -maxWhole)
  const parts = others.filter((one) => one.spans !== 'all').slice(-maxParts)
  return [...whole, ...parts, { hash, spans: all }]
}

export function addStep(steps: readonly ShownStep[], step: ShownStep): readonly ShownStep[] {
  return [...steps.filter(({ from, to }) => from !== step.from || to !== step.to), step].slice(-maxSteps)
}

/** The last version that the agent knows as a whole. */
export function lastWhole(seen: readonly SeenVersion[]): string | undefined {
  return seen.findLast(({ spans }) => spans === 'all')?.hash
}
