// Tickets of lock_wait: the places of a wait that was cut, until somebody goes on waiting in them.
import { randomBytes } from 'node:crypto'
import type { LeaseGroup } from './lease-group.ts'

export interface Ticket {
  readonly id: string
  readonly group: LeaseGroup
}

export type Tickets = ReturnType<typeof createTickets>

/** Only its agent can use a ticket. One whose places have all been given up is forgotten. */
export function createTickets() {
  const groups = new Map<string, LeaseGroup>()

  return {
    /** @param id of the ticket with which the group was waited for before, if there was one */
    keep(group: LeaseGroup, id = `ticket-${randomBytes(8).toString('hex')}`): string {
      for (const [known, { isAlive }] of groups) if (!isAlive) groups.delete(known)
      groups.set(id, group)
      return id
    },
    /** Takes it out: nobody else can wait with it now. Undefined where it is not known, or another agent's. */
    claim(id: string, agentId: string): Ticket | undefined {
      const group = groups.get(id)
      if (group === undefined || group.options.agentId !== agentId) return undefined
      groups.delete(id)
      return group.isAlive ? { id, group } : undefined
    },
    /** Gives up every place that is kept for this agent. */
    drop(agentId: string): void {
      for (const [id, group] of groups) {
        if (group.options.agentId !== agentId) continue
        groups.delete(id)
        group.leave()
      }
    },
    /** Gives up the places that are kept for this agent at these keys. */
    leave(agentId: string, keys: ReadonlySet<string>): void {
      for (const group of groups.values()) if (group.options.agentId === agentId) group.leave(keys)
    }
  }
}
