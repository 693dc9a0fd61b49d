// The wait-for graph, read off the lock table: who would wait for himself if he waited here.
import type { Acquisition } from './acquisition.ts'
import type { Agents } from './agents.ts'
import type { KeyQueue, Place } from './queue.ts'

/** One edge: who waits, for which path. */
export interface Wait {
  readonly agent: string
  readonly path: string
}

interface Step {
  readonly place: Place
  readonly queue: KeyQueue
  /** The step that led here; undefined for the first. */
  readonly from: Step | undefined
}

/**
 * A place that waits points to those who block it. Behind an operation stands that operation, which waits at one place at most;
 * behind a lease stands its agent, who will not let go of it before everything that he waits for has come.
 * @param place waits in the queue, or is about to
 * @returns the shortest cycle through the place, beginning with it; undefined where there is none
 */
export function findCycle(place: Place, queue: KeyQueue, agents: Agents): readonly Wait[] | undefined {
  const { acquisition } = place
  // Nearly everybody holds nothing that another could wait for.
  if (acquisition.granted === 0 && !agents.hasOtherLease(acquisition)) return undefined
  const closes = (blocker: Place) =>
    blocker.acquisition === acquisition || (blocker.isLease && blocker.acquisition.agentId === acquisition.agentId)
  const seen = new Set<Acquisition | string>()
  // Grows while it is gone through.
  const steps: Step[] = [{ place, queue, from: undefined }]
  for (const step of steps) {
    for (const blocker of step.queue.blockersOf(step.place)) {
      if (closes(blocker)) return trace(step)
      const node = blocker.isLease ? (blocker.acquisition.agentId as string) : blocker.acquisition
      if (seen.has(node)) continue
      seen.add(node)
      for (const next of waitsOf(blocker, agents)) {
        if (next.queue !== undefined) steps.push({ place: next, queue: next.queue, from: step })
      }
    }
  }
  return undefined
}

function* waitsOf({ acquisition, isLease }: Place, agents: Agents): Generator<Place, undefined> {
  const waiting = isLease ? agents.waitsOf(acquisition.agentId as string) : [acquisition]
  for (const { waitsAt } of waiting) if (waitsAt !== undefined) yield waitsAt
}

function trace(last: Step): Wait[] {
  const waits: Wait[] = []
  for (let step: Step | undefined = last; step !== undefined; step = step.from) {
    const { path, acquisition } = step.place
    waits.push({ agent: acquisition.agentId ?? `${acquisition.operation} without agent_id`, path })
  }
  return waits.reverse()
}
