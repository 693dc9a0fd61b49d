// Tickets of lock_wait: the places of a wait that was cut, until a client goes on waiting in them.
import { randomBytes } from 'node:crypto'
import type { GroupState } from './group-state.ts'
import type { LeaseGroup } from './lease-group.ts'
import { createListeners } from '../../support/listeners.ts'

export interface Ticket {
  readonly id: string
  readonly group: LeaseGroup
}

/** As it outlives the process. */
export interface TicketState {
  readonly id: string
  readonly group: GroupState
}

/** Begins the name under which the places of a call outlive the process, for its relay to ask again. */
export const placePrefix = 'call-'

export type Tickets = ReturnType<typeof createTickets>

/** Only its agent can use a ticket. A ticket is forgotten once all its places are given up. */
export function createTickets() {
  const groups = new Map<string, LeaseGroup>()
  /** Tickets that a call waits with. */
  const claimed = new Map<string, LeaseGroup>()
  /** Groups that a call waits for, with a ticket or without. */
  const waiting = new Set<LeaseGroup>()
  const { add: onChange, call: notify } = createListeners<[id: string]>()

  function forget(id: string): void {
    if (groups.delete(id)) notify(id)
  }

  function* all(): Generator<[id: string, group: LeaseGroup], undefined> {
    yield* groups
    yield* claimed
  }

  return {
    /** @param id of the ticket that the call waited with, if there was one */
    keep(group: LeaseGroup, id = `ticket-${randomBytes(8).toString('hex')}`): string {
      for (const [known, { isAlive }] of groups) if (!isAlive) forget(known)
      claimed.delete(id)
      groups.set(id, group)
      notify(id)
      return id
    },
    /** Takes it out: no other call can wait with it now. Undefined if it is not known, or another agent's. */
    claim(id: string, agentId: string): Ticket | undefined {
      const group = groups.get(id)
      if (group === undefined || group.options.agentId !== agentId) return undefined
      groups.delete(id)
      if (group.isAlive) claimed.set(id, group)
      notify(id)
      return group.isAlive ? { id, group } : undefined
    },
    /** A call waits in these places, under the name that its relay calls them again by after a take-over. */
    wait(id: string, group: LeaseGroup): void {
      claimed.set(id, group)
      notify(id)
    },
    /** No call waits with it any more, and no place is kept. */
    end(id: string): void {
      if (claimed.delete(id)) notify(id)
    },
    /** The names of the calls whose places are kept until their relays ask again. */
    places: (): string[] => [...groups.keys()].filter((id) => id.startsWith(placePrefix)),
    /** The call of this name has ended in another process: gives up its places, and leases that its agent was not told of. */
    giveUp(place: string): void {
      groups.get(place)?.undo()
      forget(place)
    },
    /** A call waits for it, and no longer waits for what its agent gives up meanwhile. @returns ends it */
    follow(group: LeaseGroup): () => void {
      waiting.add(group)
      return () => waiting.delete(group)
    },
    /** Gives up the places of this agent at these keys or under these names, or all: both kept places and those of waiting calls. */
    leave(agentId: string, names?: ReadonlySet<string>): void {
      for (const group of waiting) if (group.options.agentId === agentId) group.leave(names)
      for (const [id, group] of all()) {
        if (group.options.agentId !== agentId) continue
        group.leave(names)
        if (group.isAlive) notify(id)
        else forget(id)
      }
    },
    /** Reports every ticket that is kept, claimed or ended, or whose places have changed. @returns removes the listener */
    onChange,
    /** Undefined if no place is kept for it. */
    state(id: string): TicketState | undefined {
      const group = groups.get(id) ?? claimed.get(id)
      return group?.isAlive === true ? { id, group: group.state } : undefined
    },
    /** Of all agents, or of one. */
    *ids(agentId?: string): Generator<string, undefined> {
      for (const [id, { options }] of all()) if (agentId === undefined || options.agentId === agentId) yield id
    },
    /** Restores a ticket of an earlier process. */
    restore(id: string, group: LeaseGroup): void {
      groups.set(id, group)
    }
  }
}
