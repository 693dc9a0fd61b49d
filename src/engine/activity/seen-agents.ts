// The agents that have called lately: what they are, how often they did what, and their last calls. Bounded, without any content.
import type { AgentFacts, TreeActivity } from '../../../schemas/activity.ts'
import { shortened } from '../../support/cut-text.ts'
import { timestamp } from '../../support/timestamp.ts'

/** How a call comes, and by which program. */
export interface CameBy {
  readonly transport: string
  /** As the program names itself, with its version. */
  readonly client?: string | undefined
}

export interface EndedCall {
  readonly operation: string
  readonly path: unknown
  /** `ok`, `merged`, `contention`, or the code of an error. */
  readonly outcome: string
  readonly isReading: boolean
}

interface Seen extends CameBy {
  readonly since: number
  transport: string
  client: string | undefined
  at: number
  operation: string
  path: unknown
  readonly counts: AgentFacts['counts']
  /** The latest last. */
  calls: (EndedCall & { readonly at: number })[]
}

type Count = keyof AgentFacts['counts']

const maxPathLength = 300
const maxClientLength = 100
const maxCalls = 10
/** Of calls whose outcome has a count of its own. */
const noRefusals: ReadonlySet<string> = new Set(['ok', 'merged', 'contention', 'CANCELLED'])

/** @param maxAgents those not seen for longest are forgotten first */
export function createSeenAgents(maxAgents: number, now: () => number) {
  const agents = new Map<string, Seen>()

  /** A quarter at once: to look for the one not seen for longest at each new name would cost more. */
  function forget(): void {
    const oldestFirst = [...agents].sort(([, one], [, other]) => one.at - other.at)
    for (const [agentId] of oldestFirst.slice(0, Math.ceil(maxAgents / 4))) agents.delete(agentId)
  }

  function add(agentId: string, operation: string, path: unknown, transport: string): Seen {
    if (agents.size >= maxAgents) forget()
    const counts = { calls: 0, reads: 0, changes: 0, contentions: 0, merges: 0, refusals: 0 }
    const at = now()
    const seen: Seen = {
      since: at,
      at,
      operation,
      path: keepPath(path),
      transport,
      client: undefined,
      counts,
      calls: []
    }
    agents.set(agentId, seen)
    return seen
  }

  return {
    /** On each call: kept as cheap as a lookup. @param path as the caller spelt it; a list stands for its first */
    saw(agentId: string, operation: string, path: unknown, { transport, client }: CameBy): void {
      const seen = agents.get(agentId) ?? add(agentId, operation, path, transport)
      seen.at = now()
      seen.operation = operation
      seen.path = keepPath(path)
      seen.transport = transport
      if (client !== undefined && client !== seen.client) seen.client = shortened(client, maxClientLength, '…')
    },
    ended(agentId: string, { path, ...call }: EndedCall): void {
      const seen = agents.get(agentId)
      if (seen === undefined) return
      seen.counts.calls += 1
      if (call.isReading) seen.counts.reads += 1
      if (!noRefusals.has(call.outcome)) seen.counts.refusals += 1
      seen.calls.push({ ...call, path: keepPath(path), at: now() })
      // Cut by halves: a shift for each call would cost more.
      if (seen.calls.length >= 2 * maxCalls) seen.calls = seen.calls.slice(-maxCalls)
    },
    count(agentId: string | undefined, what: Count, times = 1): void {
      const seen = agentId === undefined ? undefined : agents.get(agentId)
      if (seen !== undefined) seen.counts[what] += times
    },
    list(limit: number): TreeActivity['agents'] {
      const latestFirst = [...agents].sort(([, one], [, other]) => other.at - one.at)
      return latestFirst.slice(0, limit).map(([agent_id, { at, operation, path }]) => ({
        agent_id,
        last_seen: timestamp(at),
        operation,
        ...describePath(path)
      }))
    },
    factsOf(agentId: string): AgentFacts | undefined {
      const seen = agents.get(agentId)
      if (seen === undefined) return undefined
      const { since, transport, client, counts, calls } = seen
      return {
        agent_id: agentId,
        first_seen: timestamp(since),
        transport,
        ...(client !== undefined && { client }),
        counts: { ...counts },
        calls: calls
          .slice(-maxCalls)
          .toReversed()
          .map(({ at, operation, path, outcome }) => ({ at: timestamp(at), operation, ...describePath(path), outcome }))
      }
    }
  }
}

/** A list of ten thousand paths is not kept for its first. */
function keepPath(path: unknown): unknown {
  const first: unknown = Array.isArray(path) ? path[0] : path
  return typeof first === 'string' ? shortened(first, maxPathLength, '…') : undefined
}

function describePath(path: unknown): { path?: string } {
  return typeof path === 'string' ? { path } : {}
}
