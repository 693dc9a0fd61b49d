// Telling events to those who follow: in order, in a later turn and a slice at a time, so that whoever makes an event never waits for them.
import type { EventFilter, EventListener, TreeEvent } from './tree-event.ts'

export interface Follower {
  readonly filter: EventFilter
  readonly listener: EventListener
  readonly onStop: (() => void) | undefined
  /** The last event that was looked at for this one. */
  position: string
  /** Number of the last event that was there before this one followed. */
  readonly since: number
}

interface Numbered {
  readonly event: TreeEvent
  readonly number: number
}

/** One event on its way: who is to be looked at next, and what other filters with the same paths have said of it. */
interface Round extends Numbered {
  readonly others: Iterator<Follower>
  readonly answers: Map<string, boolean>
}

/** Nothing else of this process is kept waiting for longer, apart from the one listener that is being told. */
const sliceMs = 5
/** Events that wait to be told; whoever makes them faster than they can be told leaves a gap. */
const maxWaiting = 10_000

/** @param makeGap the event that takes the place of those after the one with this id, which are told to nobody */
export function createEventDelivery(makeGap: (id: string) => TreeEvent) {
  const followers = new Set<Follower>()
  let waiting: Numbered[] = []
  /** How many of those that wait have been taken from the front: shifting a long list would cost more. */
  let taken = 0
  let count = 0
  let round: Round | undefined
  let lastTold = ''
  let turn: NodeJS.Immediate | undefined

  function put(event: TreeEvent): void {
    count += 1
    if (followers.size === 0) return
    if (waiting.length - taken >= maxWaiting) {
      waiting = [{ event: makeGap(lastTold), number: count }]
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
    lastTold = next.event.id
    // Who follows from now on comes later in it, and is passed over by his number.
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
    /** Number of those who follow. */
    get followers(): number {
      return followers.size
    },
    put,
    /** From the next event on. @param position the last event that there was */
    add(following: Pick<Follower, 'filter' | 'listener' | 'onStop'>, position: string): Follower {
      if (followers.size === 0) lastTold = position
      const follower = { ...following, position, since: count }
      followers.add(follower)
      return follower
    },
    /** @returns false where it is none any more */
    remove(follower: Follower): boolean {
      const isKnown = followers.delete(follower)
      if (followers.size === 0) clear()
      return isKnown
    },
    /** Tells what one slice has room for, and then that this was all. */
    close(): void {
      deliverSlice()
      clear()
      for (const { onStop } of followers) onStop?.()
      followers.clear()
    }
  }
}

/** @param answers to which the filter's is added */
export function isWanted(event: TreeEvent, filter: EventFilter, answers?: Map<string, boolean>): boolean {
  if (event.type === 'gap') return true
  const { types, agentId, matchesPath, pathKey } = filter
  if (types !== undefined && !types.has(event.type)) return false
  if (agentId !== undefined && event.agent_id !== agentId) return false
  // Nobody knows which of very many files are meant.
  if (matchesPath === undefined || !('path' in event)) return true
  if (pathKey === undefined || answers === undefined) return matchesPath(event.path)
  const known = answers.get(pathKey)
  if (known !== undefined) return known
  const answer = matchesPath(event.path)
  answers.set(pathKey, answer)
  return answer
}
