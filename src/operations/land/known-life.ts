// The life of a file with what is still known of changes that the history has forgotten.
import type { History } from '../../engine/versions/history.ts'
import type { Lineage, LineageChange } from '../undo/lineages.ts'

export interface KnownLife extends Lineage {
  /** Who made the versions before its changes; nobody if these are all. */
  readonly forgotten?: readonly string[]
}

/** The content of the last version that is forgotten is what the first change found, and may still be kept. */
export function withForgotten(lineage: Lineage, history: Pick<History, 'versions' | 'forgotten'>): KnownLife {
  const [first, ...others] = lineage.changes
  if (first?.before.kind !== 'unknown' || history.versions(first.from)[0]?.seq !== first.version.seq) return lineage
  const forgotten = history.forgotten(first.from)
  if (forgotten === undefined || forgotten.hash === null) return lineage
  const before: LineageChange['before'] = { kind: 'file', hash: forgotten.hash }
  return { ...lineage, changes: [{ ...first, before }, ...others], forgotten: forgotten.agents }
}
