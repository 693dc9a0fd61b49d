// Delivers events to followers: in order, in a later turn and a slice at a time, so that the publisher never waits for them.
import type { EventFilter, EventListener, TreeEvent } from './tree-event.ts'

export interface Follower {
  readonly filter: EventFilter
  readonly listener: EventListener
  readonly onStop: (() => void) | undefined
  /** The last event that was examined for this follower. */
  position: string
  /** Number of the last event before this follower was added. */
  readonly since: number
}

interface Numbered {
  readonly event: TreeEvent
  readonly number: number
}

/** One event on its way: the followers still to come, and the answers of filters by their paths. */
interface Round extends Numbered {
  readonly others: Iterator<Follower>
  readonly answers: Map<string, boolean>
}

/** The rest of this process waits no longer than this, apart from the one listener that is running. */
const sliceMs = 5
/** Events that wait for delivery; if more are published than can be delivered, a gap replaces them. */
const maxWaiting = 10_000

/** @param makeGap the event that replaces those after the one with this id, which reach no follower */
export function createEventDelivery(makeGap: (id: string) => TreeEvent) {
  const followers = new Set<Follower>()
  let waiting: Numbered[] = []
  /** How many waiting events have been taken from the front: shifting a long list would cost more. */
  let taken = 0
  let count = 0
  let round: Round | undefined
  let lastDelivered = ''
  let turn: NodeJS.Immediate | undefined

  function put(event: TreeEvent): void {
    count += 1
    if (followers.size === 0) return
    if (waiting.length - taken >= maxWaiting) {
      waiting = [{ event: makeGap(lastDelivered), number: count }]
      taken = 0
    } else waiting.push({ event, number: count })
    turn ??= setImmediate(deliverSlice)
  }

  function deliverSlice(): void {
    turn = undefined
    const end = performance.now() + sliceMs
    while (performance.now() < end) {
      round ??= beginRound()
      if (round === undefined) return
      deliverNext(round)
    }
    turn = setImmediate(deliverSlice)
  }

  function beginRound(): Round | undefined {
    const next = waiting[taken]
    if (next === undefined) {
      waiting = []
      taken = 0
      return undefined
    }
    taken += 1
    lastDelivered = next.event.id
    // A follower added from now on comes later in it, and is skipped by its number.
    return { ...next, others: followers.values(), answers: new Map() }
  }

  function deliverNext({ event, number, others, answers }: Round): void {
    const { value: follower, done } = others.next()
    if (done === true) {
      round = undefined
      return
    }
    if (number <= follower.since) return
    if (isWanted(event, follower.filter, answers)) follower.listener(event)
    follower.position = event.id
  }

  function clear(): void {
    clearImmediate(turn)
    turn = undefined
    round = undefined
    waiting = []
    taken = 0
  }

  return {
    /** Number of followers. */
    get followers(): number {
      return followers.size
    },
    put,
    /** Follows from the next event on. @param position the last event so far */
    add(following: Pick<Follower, 'filter' | 'listener' | 'onStop'>, position: string): Follower {
      if (followers.size === 0) lastDelivered = position
      const follower = { ...following, position, since: count }
      followers.add(follower)
      return follower
    },
    /** @returns false if it was removed before */
    remove(follower: Follower): boolean {
      const isKnown = followers.delete(follower)
      if (followers.size === 0) clear()
      return isKnown
    },
    /** Delivers what fits into one slice, then calls every `onStop`. */
    close(): void {
      deliverSlice()
      clear()
      for (const { onStop } of followers) onStop?.()
      followers.clear()
    }
  }
}

/** @param answers gains the filter's answer */
export function isWanted(event: TreeEvent, filter: EventFilter, answers?: Map<string, boolean>): boolean {
  if (event.type === 'gap') return true
  const { types, agentId, matchesPath, pathKey } = filter
  if (types !== undefined && !types.has(event.type)) return false
  if (agentId !== undefined && event.agent_id !== agentId) return false
  // An event of very many files does not name them all.
  if (matchesPath === undefined || !('path' in event)) return true
  if (pathKey === undefined || answers === undefined) return matchesPath(event.path)
  const known = answers.get(pathKey)
  if (known !== undefined) return known
  const answer = matchesPath(event.path)
  answers.set(pathKey, answer)
  return answer
}
