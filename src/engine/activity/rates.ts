// How much happened when, by agent or by folder: changes from the log, meetings as they were counted.
import { dirname } from 'node:path'
import type { Rates } from '../../../schemas/activity.ts'
import { inSlices } from '../../support/slices.ts'
import { timestamp } from '../../support/timestamp.ts'
import type { FileStore } from '../files/file-store.ts'
import { shownPath } from '../notices/shown-path.ts'
import type { History } from '../versions/history.ts'
import { stripOf, type ActivityLog } from './activity.ts'

type Kind = 'changes' | 'contentions' | 'merges' | 'waits'
type Counts = Readonly<Record<Kind, number[]>>

interface Sources {
  readonly activity: ActivityLog
  readonly history: History
  readonly files: FileStore
}

const kinds: readonly Kind[] = ['changes', 'contentions', 'merges', 'waits']
/** More could not be told apart by their colours. */
const maxGroups = 6

export async function ratesOf(sources: Sources, spanMinutes: number, by: 'agent' | 'folder'): Promise<Rates> {
  const { activity, history, files } = sources
  const strip = stripOf(spanMinutes, Date.now())
  const emptyCounts = (): Counts => ({
    changes: strip.empty(),
    contentions: strip.empty(),
    merges: strip.empty(),
    waits: strip.empty()
  })
  const counted = new Map<string, Counts>()
  const folders = new Map<string, string>()

  function countsOf(path: string, agentId: string | undefined): Counts {
    const name = by === 'agent' ? (agentId ?? '') : folderOf(path)
    let counts = counted.get(name)
    if (counts === undefined) counted.set(name, (counts = emptyCounts()))
    return counts
  }

  function folderOf(path: string): string {
    const folder = dirname(path)
    let shown = folders.get(folder)
    if (shown === undefined) folders.set(folder, (shown = dirname(shownPath(path, files)).replace(/^\.$/, '')))
    return shown
  }

  function add(counts: number[], at: number, count: number): void {
    const slice = strip.sliceOf(at)
    if (slice !== undefined && count > 0) counts[slice] = (counts[slice] ?? 0) + count
  }

  await inSlices(history.paths(), (path) => {
    const versions = history.versions(path)
    for (let index = versions.length - 1; index >= 0; index -= 1) {
      const { at, agentId, isFirstSight, renamedTo } = versions[index]!
      if (at < strip.from) break
      // A rename is one change, of the file at its new path.
      if (!isFirstSight && renamedTo === undefined) add(countsOf(path, agentId).changes, at, 1)
    }
  })
  await inSlices(activity.meetings(), ([at, { path, agentId, contentions, merges, waits }]) => {
    if (at < strip.from) return
    const counts = countsOf(path, agentId)
    add(counts.contentions, at, contentions)
    add(counts.merges, at, merges)
    add(counts.waits, at, waits)
  })
  const groups = by === 'agent' ? counted : atOneDepth(counted, emptyCounts)
  const busiest = [...groups].sort(([one, a], [other, b]) => sumOf(b) - sumOf(a) || (one < other ? -1 : 1))
  const others = busiest.slice(maxGroups).map(([, counts]) => counts)
  const { forgottenAt } = history
  return {
    from: timestamp(strip.from),
    to: timestamp(strip.to),
    groups: busiest.slice(0, maxGroups).map(([name, counts]) => ({ name, ...counts })),
    ...(others.length > 0 && { rest: others.reduce(putTogether, emptyCounts()) }),
    ...(forgottenAt !== undefined && { changes_known_since: timestamp(forgottenAt) }),
    meetings_known_since: timestamp(activity.countedSince)
  }
}

/** Folders as deep down as leaves few enough of them. */
function atOneDepth(counted: ReadonlyMap<string, Counts>, emptyCounts: () => Counts): Map<string, Counts> {
  const deepest = Math.max(1, ...[...counted.keys()].map((folder) => folder.split('/').length))
  const cut = (folder: string, depth: number) => folder.split('/').slice(0, depth).join('/')
  let depth = 1
  for (let next = 2; next <= deepest; next += 1)
    if (new Set([...counted.keys()].map((folder) => cut(folder, next))).size <= maxGroups) depth = next
  const groups = new Map<string, Counts>()
  for (const [folder, counts] of counted) {
    const name = cut(folder, depth)
    groups.set(name, putTogether(groups.get(name) ?? emptyCounts(), counts))
  }
  return groups
}

/** @param sum gains the counts */
function putTogether(sum: Counts, counts: Counts): Counts {
  for (const kind of kinds)
    for (const [slice, count] of counts[kind].entries()) sum[kind][slice] = (sum[kind][slice] ?? 0) + count
  return sum
}

const sumOf = (counts: Counts): number =>
  kinds.reduce((sum, kind) => counts[kind].reduce((all, count) => all + count, sum), 0)
