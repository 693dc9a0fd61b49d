// The wait-for graph: who waits for whom, at which file, and where to draw it. Pure.
import type { LockedFile } from './model.ts'

export interface GraphNode {
  readonly name: string
  /** How many steps from an agent that does not wait: its column. */
  readonly depth: number
  readonly row: number
}

export interface GraphEdge {
  /** Waits. */
  readonly from: string
  /** Is waited for. */
  readonly to: string
  readonly path: string
}

export interface WaitGraph {
  readonly nodes: readonly GraphNode[]
  readonly edges: readonly GraphEdge[]
  readonly columns: number
  readonly rows: number
  /** Waits that are not drawn, since there is no room for more. */
  readonly hidden: number
}

const nameless = 'without a name'

/** Each waiter waits for the holders; one that shares with them, for the waiter before it. @param maxEdges drawn at most */
export function findWaits(files: readonly LockedFile[], maxEdges: number): WaitGraph {
  const waitedFor = files.filter(({ pending_requests }) => pending_requests.length > 0)
  const all = waitedFor.flatMap(({ path, holders, pending_requests }) =>
    pending_requests.flatMap((waiter, index) => {
      const from = waiter.agent_id ?? nameless
      const blockers = new Set<string>()
      for (const holder of holders)
        if (holder.mode === 'exclusive' || waiter.mode === 'exclusive') blockers.add(holder.agent_id ?? nameless)
      blockers.delete(from)
      if (blockers.size === 0) {
        const before = pending_requests[index - 1]?.agent_id
        if (before !== undefined && before !== null && before !== from) blockers.add(before)
      }
      return [...blockers].map((to): GraphEdge => ({ from, to, path }))
    })
  )
  const edges = all.slice(0, maxEdges)
  const depths = depthsOf(edges)
  const rowsOf: number[] = []
  const nodes = [...depths]
    .sort(([, a], [, b]) => a - b)
    .map(([name, depth]): GraphNode => {
      const row = rowsOf[depth] ?? 0
      rowsOf[depth] = row + 1
      return { name, depth, row }
    })
  return { nodes, edges, columns: rowsOf.length, rows: Math.max(0, ...rowsOf), hidden: all.length - edges.length }
}

/** The longest way to an agent that does not wait. A circle, which the server refuses, ends the way. */
function depthsOf(edges: readonly GraphEdge[]): Map<string, number> {
  const next = new Map<string, string[]>()
  for (const { from, to } of edges) next.set(from, [...(next.get(from) ?? []), to])
  const depths = new Map<string, number>()
  const open = new Set<string>()
  const visit = (name: string): number => {
    const known = depths.get(name)
    if (known !== undefined) return known
    if (open.has(name)) return 0
    open.add(name)
    const depth = Math.max(0, ...(next.get(name) ?? []).map((to) => visit(to) + 1))
    open.delete(name)
    depths.set(name, depth)
    return depth
  }
  for (const { from, to } of edges) {
    visit(to)
    visit(from)
  }
  return depths
}
