// The wait-for graph, read off the lock table: which request would wait for itself if it waited here.
import type { Acquisition, QueueEntry } from './acquisition.ts'
import type { Agents } from './agents.ts'
import type { KeyQueue } from './queue.ts'

/** One edge: the agent that waits, and the path. */
export interface Wait {
  readonly agent: string
  readonly path: string
}

/** A request of a cycle, and the cycle, which begins with it. */
export interface Victim {
  readonly entry: QueueEntry
  readonly cycle: readonly Wait[]
}

/**
 * The node of an operation is the operation itself, which waits in one queue at most. The node of a lease is its agent, which
 * keeps the lease until everything that the agent waits for is granted.
 */
type Node = Acquisition | string

interface Step {
  readonly entry: QueueEntry
  readonly queue: KeyQueue
  /** The step that led here; undefined for the first. */
  readonly from: Step | undefined
}

export class WaitForGraph {
  readonly #queues: ReadonlyMap<string, KeyQueue>
  readonly #agents: Agents

  constructor(queues: ReadonlyMap<string, KeyQueue>, agents: Agents) {
    this.#queues = queues
    this.#agents = agents
  }

  /**
   * @param entry waits in the queue, or is about to
   * @returns the shortest cycle through the entry, beginning with it; undefined if there is none
   */
  findCycle(entry: QueueEntry, queue: KeyQueue): readonly Wait[] | undefined {
    const { acquisition } = entry
    if (!this.#isWaitedFor(acquisition, queue)) return undefined
    const seen = new Set<Node>()
    // Grows during the iteration.
    const steps: Step[] = [{ entry, queue, from: undefined }]
    for (const step of steps) {
      for (const blocker of step.queue.blockersOf(step.entry)) {
        const node = nodeOf(blocker)
        if (node === acquisition || node === acquisition.agentId) return trace(step)
        if (seen.has(node)) continue
        seen.add(node)
        for (const [next, queue] of this.#waitsOf(node)) steps.push({ entry: next, queue, from: step })
      }
    }
    return undefined
  }

  /** @returns the waiter whose refusal breaks the shortest cycle through the queue: a longer one around it may end with it */
  findVictim(queue: KeyQueue): Victim | undefined {
    if (!this.#hasCycle(queue)) return undefined
    let victim: Victim | undefined
    for (const entry of queue.waiters()) {
      const cycle = this.findCycle(entry, queue)
      if (cycle !== undefined && cycle.length < (victim?.cycle.length ?? Infinity)) victim = { entry, cycle }
    }
    return victim
  }

  /** Whether any waiter of the queue is in a cycle. One traversal serves all waiters; `findCycle` would need one for each. */
  #hasCycle(queue: KeyQueue): boolean {
    const isDone = new Map<Node, boolean>()
    for (const entry of queue.waiters()) {
      const node = nodeOf(entry)
      if (isDone.has(node) || !this.#isWaitedFor(entry.acquisition, queue)) continue
      isDone.set(node, false)
      const path = [{ node, next: this.#nodesBehind(node) }]
      for (let last = path.at(-1); last !== undefined; last = path.at(-1)) {
        const { value: node } = last.next.next()
        if (node === undefined) {
          isDone.set(last.node, true)
          path.pop()
        } else if (!isDone.has(node)) {
          isDone.set(node, false)
          path.push({ node, next: this.#nodesBehind(node) })
        } else if (isDone.get(node) === false) return true
      }
    }
    return false
  }

  *#nodesBehind(node: Node): Generator<Node, undefined> {
    for (const [entry, queue] of this.#waitsOf(node))
      for (const blocker of queue.blockersOf(entry)) yield nodeOf(blocker)
  }

  *#waitsOf(node: Node): Generator<[entry: QueueEntry, queue: KeyQueue], undefined> {
    const waiting = typeof node === 'string' ? this.#agents.waitsOf(node) : [node]
    for (const { waitsAt } of waiting)
      if (waitsAt?.state === 'waiting') yield [waitsAt, this.#queues.get(waitsAt.key) as KeyQueue]
  }

  /**
   * Whether the request or its agent has more that another request could wait for than its place in this queue. Every cycle contains
   * such a request. It becomes the victim, and nearly all other requests skip the search. In a long queue, check also that a request
   * does wait for it: of the members of a cycle in this queue, the last is waited for elsewhere.
   */
  #isWaitedFor(acquisition: Acquisition, queue: KeyQueue): boolean {
    const { agentId, granted } = acquisition
    if (granted > 0) return true
    if (agentId === undefined || !this.#agents.hasOtherLease(acquisition)) return false
    const [leases, waits] = [this.#agents.leasesOf(agentId), this.#agents.waitsOf(agentId)]
    if (leases.size + waits.size > queue.depth) return true
    for (const { key } of leases) if ((this.#queues.get(key)?.depth ?? 0) > 0) return true
    for (const other of waits)
      if (other.isLease && other !== acquisition && other.waitsAt?.behind !== undefined) return true
    return false
  }
}

function nodeOf({ acquisition, isLease }: QueueEntry): Node {
  return isLease ? (acquisition.agentId as string) : acquisition
}

function trace(last: Step): Wait[] {
  const waits: Wait[] = []
  for (let step: Step | undefined = last; step !== undefined; step = step.from) {
    const { path, acquisition } = step.entry
    waits.push({ agent: acquisition.agentId ?? `${acquisition.operation} without agent_id`, path })
  }
  return waits.reverse()
}
