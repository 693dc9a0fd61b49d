// The changed files of which agents have not been told yet.
import type { AgentView } from './agent-view.ts'

/** Of one agent. */
interface Unreported {
  /** Files that have changed one by one. */
  readonly single: Set<AgentView>
  /** Files that have changed among very many at once. */
  readonly bulk: Set<AgentView>
}

export function createUnreportedViews() {
  const byAgent = new Map<string, Unreported>()

  return {
    add(view: AgentView, isBulk: boolean): void {
      const known = byAgent.get(view.agentId) ?? { single: new Set(), bulk: new Set() }
      byAgent.set(view.agentId, known)
      const { single, bulk } = known
      if (!isBulk) {
        bulk.delete(view)
        single.add(view)
      } else if (!single.has(view)) bulk.add(view)
    },
    /** @returns whether it was there */
    remove(view: AgentView): boolean {
      const known = byAgent.get(view.agentId)
      if (known === undefined) return false
      const wasThere = known.single.delete(view) || known.bulk.delete(view)
      if (known.single.size === 0 && known.bulk.size === 0) byAgent.delete(view.agentId)
      return wasThere
    },
    has: (agentId: string): boolean => byAgent.has(agentId),
    /** Changed one by one, in the order of their changes. They stay until `remove`. */
    single: (agentId: string): readonly AgentView[] => [...(byAgent.get(agentId)?.single ?? [])],
    /** Changed among very many at once. */
    bulk: (agentId: string): readonly AgentView[] => [...(byAgent.get(agentId)?.bulk ?? [])],
    count(agentId: string): number {
      const known = byAgent.get(agentId)
      return known === undefined ? 0 : known.single.size + known.bulk.size
    }
  }
}
