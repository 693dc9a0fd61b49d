// Which views are remembered: within a bound in bytes and number, with a fair share for each agent.
import type { AgentView } from './agent-view.ts'

export interface ViewSharesOptions {
  readonly maxViews: number
  readonly maxBytes: number
  /** Called for each view that is no longer remembered. */
  readonly onForget: (view: AgentView) => void
  /** Bytes that a view takes in memory. */
  readonly sizeOf: (view: AgentView) => number
}

/** The views of one agent. */
interface Share {
  /** By path, the least recently used first. */
  readonly views: Map<string, AgentView>
  readonly sizes: Map<AgentView, number>
  bytes: number
}

/** Agents that hold more than this share make room first. */
const heavyShare = 1 / 8

/**
 * The agent that holds most makes room, so that no agent loses its views by what another one reads. If no agent holds much,
 * the one not heard of for longest does; agents with a single view, as a flood of names makes them, count as one.
 */
export function createViewShares({ maxViews, maxBytes, onForget, sizeOf }: ViewSharesOptions) {
  /** The least recently heard of first. */
  const newcomers = new Map<string, Share>()
  const others = new Map<string, Share>()
  const heavy = new Set<Share>()
  let newcomerBytes = 0
  let bytes = 0
  let count = 0

  const isFull = () => count > maxViews || bytes > maxBytes
  const shareOf = (agentId: string): Share | undefined => others.get(agentId) ?? newcomers.get(agentId)

  function resize(share: Share, view: AgentView, size: number): void {
    const change = size - (share.sizes.get(view) ?? 0)
    if (size > 0) share.sizes.set(view, size)
    else share.sizes.delete(view)
    share.bytes += change
    bytes += change
    if (newcomers.get(view.agentId) === share) newcomerBytes += change
    if (share.bytes > maxBytes * heavyShare) heavy.add(share)
    else heavy.delete(share)
  }

  /** The agent is heard of; with a second view it is no newcomer any more. */
  function renew(agentId: string, share: Share): void {
    if (newcomers.delete(agentId)) {
      if (share.views.size < 2) {
        newcomers.set(agentId, share)
        return
      }
      newcomerBytes -= share.bytes
    }
    others.delete(agentId)
    others.set(agentId, share)
  }

  function remove(share: Share, view: AgentView): void {
    share.views.delete(view.path)
    resize(share, view, 0)
    count -= 1
    if (share.views.size === 0) {
      newcomers.delete(view.agentId)
      others.delete(view.agentId)
    }
    onForget(view)
  }

  function makeRoom(): void {
    while (isFull()) {
      const share = nextToMakeRoom()
      const [oldest] = share?.views.values() ?? []
      if (share === undefined || oldest === undefined) return
      remove(share, oldest)
    }
  }

  function nextToMakeRoom(): Share | undefined {
    let most: Share | undefined
    for (const share of heavy) if (share.bytes > (most?.bytes ?? 0)) most = share
    const [firstNewcomer] = newcomers.values()
    const areNewcomersMost = newcomerBytes > Math.max(most?.bytes ?? 0, maxBytes * heavyShare)
    if (areNewcomersMost || (most === undefined && others.size === 0)) return firstNewcomer
    return most ?? others.values().next().value
  }

  return {
    get: (agentId: string, path: string): AgentView | undefined => shareOf(agentId)?.views.get(path),
    add(view: AgentView): void {
      const { agentId, path } = view
      const share = shareOf(agentId) ?? { views: new Map(), sizes: new Map(), bytes: 0 }
      if (!others.has(agentId)) newcomers.set(agentId, share)
      share.views.set(path, view)
      count += 1
      resize(share, view, sizeOf(view))
      renew(agentId, share)
      makeRoom()
    },
    /** The agent has used it, and it may have grown. Does nothing for a view that is no longer remembered. */
    use(view: AgentView): void {
      const { agentId, path } = view
      const share = shareOf(agentId)
      if (share?.views.get(path) !== view) return
      share.views.delete(path)
      share.views.set(path, view)
      resize(share, view, sizeOf(view))
      renew(agentId, share)
      makeRoom()
    },
    remove(view: AgentView): boolean {
      const share = shareOf(view.agentId)
      if (share?.views.get(view.path) !== view) return false
      remove(share, view)
      return true
    },
    /** The least recently used of each agent first. */
    *all(): Generator<AgentView> {
      for (const shares of [newcomers, others]) for (const { views } of shares.values()) yield* views.values()
    },
    get bytes(): number {
      return bytes
    }
  }
}
