// The wait-for graph, read off the lock table: which request would wait for itself if it waited here.
import type { Acquisition } from './acquisition.ts'
import type { Agents } from './agents.ts'
import type { KeyQueue, QueueEntry } from './queue.ts'

/** One edge: the agent that waits, and the path. */
export interface Wait {
  readonly agent: string
  readonly path: string
}

/**
 * The node of an operation is the operation itself, which waits at one place at most. The node of a lease is its agent, which
 * keeps the lease until everything that the agent waits for is granted.
 */
type Node = Acquisition | string

interface Step {
  readonly entry: QueueEntry
  readonly queue: KeyQueue
  /** The step that led here; undefined for the first. */
  readonly from: Step | undefined
}

/**
 * @param place waits in the queue, or is about to
 * @returns the shortest cycle through the place, beginning with it; undefined if there is none
 */
export function findCycle(entry: QueueEntry, queue: KeyQueue, agents: Agents): readonly Wait[] | undefined {
  const { acquisition } = entry
  if (!isWaitedFor(acquisition, queue, agents)) return undefined
  const seen = new Set<Node>()
  // Grows during the iteration.
  const steps: Step[] = [{ entry, queue, from: undefined }]
  for (const step of steps) {
    for (const blocker of step.queue.blockersOf(step.entry)) {
      const node = nodeOf(blocker)
      if (node === acquisition || node === acquisition.agentId) return trace(step)
      if (seen.has(node)) continue
      seen.add(node)
      for (const next of waitsOf(node, agents)) {
        if (next.queue !== undefined) steps.push({ entry: next, queue: next.queue, from: step })
      }
    }
  }
  return undefined
}

/** Whether any waiter of the queue is in a cycle. One traversal serves all waiters; `findCycle` would need one for each. */
export function hasCycle(queue: KeyQueue, agents: Agents): boolean {
  const isDone = new Map<Node, boolean>()
  for (const entry of queue.waiters()) {
    const node = nodeOf(entry)
    if (isDone.has(node) || !isWaitedFor(entry.acquisition, queue, agents)) continue
    isDone.set(node, false)
    const path = [{ node, next: nodesBehind(node, agents) }]
    for (let last = path.at(-1); last !== undefined; last = path.at(-1)) {
      const { value: node } = last.next.next()
      if (node === undefined) {
        isDone.set(last.node, true)
        path.pop()
      } else if (!isDone.has(node)) {
        isDone.set(node, false)
        path.push({ node, next: nodesBehind(node, agents) })
      } else if (isDone.get(node) === false) return true
    }
  }
  return false
}

function* nodesBehind(node: Node, agents: Agents): Generator<Node, undefined> {
  for (const entry of waitsOf(node, agents)) {
    for (const blocker of entry.queue?.blockersOf(entry) ?? []) yield nodeOf(blocker)
  }
}

/**
 * Whether the request or its agent has more that another request could wait for than its place in this queue. Every cycle contains
 * such a request. It becomes the victim, and nearly all other requests skip the search. In a long queue, check also that a request
 * does wait for it: of the members of a cycle in this queue, the last is waited for elsewhere.
 */
function isWaitedFor(acquisition: Acquisition, queue: KeyQueue, agents: Agents): boolean {
  const { agentId, granted } = acquisition
  if (granted > 0) return true
  if (agentId === undefined || !agents.hasOtherLease(acquisition)) return false
  const [leases, waits] = [agents.leasesOf(agentId), agents.waitsOf(agentId)]
  if (leases.size + waits.size > queue.depth) return true
  for (const { entry } of leases) if (entry.queue === queue || (entry.queue?.depth ?? 0) > 0) return true
  for (const other of waits)
    if (other.isLease && other !== acquisition && other.waitsAt?.behind !== undefined) return true
  return false
}

function nodeOf({ acquisition, isLease }: QueueEntry): Node {
  return isLease ? (acquisition.agentId as string) : acquisition
}

function* waitsOf(node: Node, agents: Agents): Generator<QueueEntry, undefined> {
  const waiting = typeof node === 'string' ? agents.waitsOf(node) : [node]
  for (const { waitsAt } of waiting) if (waitsAt !== undefined) yield waitsAt
}

function trace(last: Step): Wait[] {
  const waits: Wait[] = []
  for (let step: Step | undefined = last; step !== undefined; step = step.from) {
    const { path, acquisition } = step.entry
    waits.push({ agent: acquisition.agentId ?? `${acquisition.operation} without agent_id`, path })
  }
  return waits.reverse()
}
