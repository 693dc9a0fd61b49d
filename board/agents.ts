// The agents that the page knows: subagents under their parents, those that need looking at first, the silent ones folded. Pure.
import type { Activity, Holder, LockedFile, Waiter } from './model.ts'
import { actOf } from './words.ts'

export interface Agent {
  readonly name: string
  /** The agent for which it works, if the page knows that, too. */
  readonly parent: string | undefined
  /** By the server's clock; undefined if it is not known any more. */
  readonly seen: number | undefined
  /** Its last call. */
  readonly operation: string
  /** What that was about; empty if about nothing. */
  readonly path: string
  readonly holds: readonly { readonly path: string; readonly holder: Holder }[]
  readonly waits: readonly { readonly path: string; readonly position: number; readonly waiter: Waiter }[]
}

/** All agents that were seen, hold or wait: first those that wait, then those that hold, by name. */
export function listAgents(
  files: readonly LockedFile[],
  seen: Activity['agents'],
  short: (path: string) => string
): Agent[] {
  const agents = new Map<string, ReturnType<typeof unseenAgent>>()
  const agentOf = (name: string) => {
    let agent = agents.get(name)
    if (agent === undefined) agents.set(name, (agent = unseenAgent()))
    return agent
  }
  for (const { agent_id, last_seen, operation, path } of seen) {
    const agent = agentOf(agent_id)
    agent.seen = Date.parse(last_seen)
    agent.operation = actOf(operation)
    agent.path = short(path ?? '')
  }
  for (const { path, holders, pending_requests } of files) {
    for (const holder of holders) if (holder.agent_id !== null) agentOf(holder.agent_id).holds.push({ path, holder })
    for (const [index, waiter] of pending_requests.entries())
      if (waiter.agent_id !== null) agentOf(waiter.agent_id).waits.push({ path, position: index + 1, waiter })
  }
  const names = new Set(agents.keys())
  return underParents([...agents].map(([name, agent]) => ({ name, parent: parentOf(name, names), ...agent })))
}

/** `claude-code/1/2` works for `claude-code/1`; what no agent is called is no parent. */
function parentOf(name: string, names: ReadonlySet<string>): string | undefined {
  for (let end = name.lastIndexOf('/'); end > 0; end = name.lastIndexOf('/', end - 1))
    if (names.has(name.slice(0, end))) return name.slice(0, end)
  return undefined
}

const rankOf = ({ holds, waits }: Agent): number => (waits.length > 0 ? 0 : holds.length > 0 ? 1 : 2)

/** A family stands where its first member would. */
function underParents(agents: readonly Agent[]): Agent[] {
  const sorted = agents.toSorted((a, b) => rankOf(a) - rankOf(b) || (a.name < b.name ? -1 : 1))
  const byName = new Map(sorted.map((agent) => [agent.name, agent]))
  const eldestOf = (agent: Agent): Agent => {
    const parent = agent.parent === undefined ? undefined : byName.get(agent.parent)
    return parent === undefined ? agent : eldestOf(parent)
  }
  const families = new Map<string, Agent[]>()
  for (const agent of sorted) {
    const { name } = eldestOf(agent)
    const family = families.get(name)
    if (family === undefined) families.set(name, [agent])
    else family.push(agent)
  }
  return [...families].flatMap(([name, family]) => [
    ...family.filter((agent) => agent.name === name),
    ...family.filter((agent) => agent.name !== name)
  ])
}

const silentMs = 5 * 60_000

/** Those without a call for five minutes that neither hold nor wait, nor have a subagent that does otherwise. */
export function partSilent(
  agents: readonly Agent[],
  now: number
): { readonly active: Agent[]; readonly silent: Agent[] } {
  const awake = new Set<string>()
  const byName = new Map(agents.map((agent) => [agent.name, agent]))
  for (const agent of agents) {
    if (agent.seen !== undefined && now - agent.seen >= silentMs && rankOf(agent) === 2) continue
    for (let each: Agent | undefined = agent; each !== undefined; each = byName.get(each.parent ?? ''))
      awake.add(each.name)
  }
  const isActive = ({ name }: Agent) => awake.has(name)
  return { active: agents.filter(isActive), silent: agents.filter((agent) => !isActive(agent)) }
}

function unseenAgent() {
  return {
    seen: undefined as number | undefined,
    operation: '',
    path: '',
    holds: [] as Agent['holds'][number][],
    waits: [] as Agent['waits'][number][]
  }
}
