// Queue places that are kept for a ticket, in their order. The ticket stays valid over a restart.
import { lockKey } from '../../engine/files/lock-key.ts'
import { systemClock } from '../../engine/locks/clock.ts'
import type { LeaseRequest } from '../../engine/locks/lease-request.ts'
import type { LockManager } from '../../engine/locks/lock-manager.ts'
import type { MemberState } from '../../engine/leases/group-state.ts'
import { LeaseGroup } from '../../engine/leases/lease-group.ts'
import { covers } from '../../engine/leases/lock-result.ts'
import type { LostLeases } from '../../engine/leases/lost-leases.ts'
import { placePrefix, type TicketState, type Tickets } from '../../engine/leases/tickets.ts'
import { hasTypes, isFields } from '../../support/json-fields.ts'
import type { LeasePart } from './lease-part.ts'
import type { PersistedPart } from './part.ts'

type Place = NonNullable<MemberState['place']>

/** No place is kept for it any more. */
interface Gone {
  readonly id: string
  readonly isGone: true
}

interface Options {
  readonly tickets: Tickets
  readonly locks: LockManager
  readonly lostLeases: LostLeases
  /** Restored before this part. */
  readonly leases: LeasePart
  /** Factor by which a restart lengthens the time that a place is kept. */
  readonly ttlMultiplier: number
  /** How long the place of a waiting call is kept until its relay asks again. */
  readonly placeGraceMs: number
}

export function createTicketPart(options: Options): PersistedPart {
  const { tickets, locks, lostLeases, leases, ttlMultiplier, placeGraceMs } = options

  function restorePlaces(states: readonly TicketState[]): Map<MemberState, LeaseRequest | undefined> {
    const places = states.flatMap(({ id, group: { options: asked, members } }) =>
      members.flatMap((member) => (member.place === undefined ? [] : [{ id, asked, member, place: member.place }]))
    )
    // Within one file, in the order of its queue.
    places.sort((one, other) => one.place.order - other.place.order)
    const restored = new Map<MemberState, LeaseRequest | undefined>()
    for (const { id, asked, member, place } of places) {
      const { path, name } = member
      // Granted after the place was written: then the grant counts. A shared lease may be what a wait for more began with.
      const held = leases.restored(asked.agentId, path)
      const granted = held?.lease !== undefined && covers(held.lease, asked.mode) ? held : undefined
      const kept = id.startsWith(placePrefix) ? keepForRelay(place) : prolong(place)
      const state = { note: undefined, ...asked, ...kept, path, name, key: lockKey(path) }
      restored.set(member, granted ?? locks.leases.restorePlace(state))
    }
    return restored
  }

  function prolong(place: Place): Place {
    return { ...place, keptUntil: place.queuedAt + (place.keptUntil - place.queuedAt) * ttlMultiplier }
  }

  /** If its turn comes meanwhile, the file is held for it as long. */
  function keepForRelay(place: Place): Place {
    return {
      ...place,
      graceMs: placeGraceMs,
      queuedAt: Math.min(place.queuedAt, systemClock.now()),
      keptUntil: systemClock.now() + placeGraceMs
    }
  }

  return {
    name: 'ticket',
    isNeededAtOnce: true,
    // The stop removes all waiters from their queues: their places do not end by that.
    isFrozenByStop: true,
    dump: () => Array.from(tickets.ids(), (id) => tickets.state(id)).filter((state) => state !== undefined),
    restore(records) {
      const states = new Map<string, TicketState>()
      for (const record of records) {
        if (isGone(record)) states.delete(record.id)
        else if (isState(record)) states.set(record.id, record)
      }
      const requests = restorePlaces([...states.values()])
      for (const { id, group } of states.values()) {
        const requestOf = new Map(
          group.members.map((member) => [
            member.path,
            requests.get(member) ?? (member.isGranted ? leases.restored(group.options.agentId, member.path) : undefined)
          ])
        )
        const restored = LeaseGroup.restore(group, ({ path }) => requestOf.get(path), { locks, lostLeases })
        if (restored.isAlive) tickets.restore(id, restored)
      }
    },
    onChange(notify) {
      const note = (id: string) =>
        notify({ key: id, records: () => [tickets.state(id) ?? { id, isGone: true }], isUrgent: true })
      const ends = [
        tickets.onChange(note),
        locks.leases.onChange(({ agentId, isParked }) => {
          // A kept place was granted, or given up.
          if (isParked) for (const id of tickets.ids(agentId)) note(id)
        })
      ]
      return () => {
        for (const end of ends) end()
      }
    }
  }
}

function isGone(record: unknown): record is Gone {
  return hasTypes(record, { id: 'string', isGone: 'boolean' })
}

function isState(record: unknown): record is TicketState {
  if (!isFields(record) || typeof record['id'] !== 'string' || !isFields(record['group'])) return false
  const { options, members } = record['group']
  const model = {
    agentId: 'string',
    operation: 'string',
    mode: 'string',
    ttlMs: 'number',
    allOrNothing: 'boolean'
  } as const
  return hasTypes(options, model) && Array.isArray(members) && members.every(isMember)
}

function isMember(value: unknown): boolean {
  if (!isFields(value) || !hasTypes(value, { filepath: 'string', path: 'string', isTold: 'boolean' })) return false
  const { place, name } = value
  if (name !== undefined && typeof name !== 'string') return false
  const model = { graceMs: 'number', queuedAt: 'number', order: 'number', keptUntil: 'number' } as const
  return place === undefined || hasTypes(place, model)
}
