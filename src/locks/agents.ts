// Whose requests stand in the table: the leases that an agent holds, and what it waits for.
import type { Acquisition } from './acquisition.ts'
import type { LeaseAcquisition } from './lease-acquisition.ts'

interface Entries {
  /** In the order of their grants. */
  readonly leases: Set<LeaseAcquisition>
  readonly waits: Set<Acquisition>
}

const none: Entries = { leases: new Set(), waits: new Set() }

/** An agent without any costs no memory. Requests of callers without an identity are not in it. */
export class Agents {
  readonly #entries = new Map<string, Entries>()

  leasesOf(agentId: string): ReadonlySet<LeaseAcquisition> {
    return (this.#entries.get(agentId) ?? none).leases
  }

  waitsOf(agentId: string): ReadonlySet<Acquisition> {
    return (this.#entries.get(agentId) ?? none).waits
  }

  *leases(): Generator<LeaseAcquisition, undefined> {
    for (const { leases } of this.#entries.values()) yield* leases
  }

  addLease(lease: LeaseAcquisition): void {
    this.#entriesOf(lease.agentId).leases.add(lease)
  }

  deleteLease(lease: LeaseAcquisition): void {
    this.#entriesOf(lease.agentId).leases.delete(lease)
    this.#forgetIfIdle(lease.agentId)
  }

  addWait(acquisition: Acquisition): void {
    if (acquisition.agentId !== undefined) this.#entriesOf(acquisition.agentId).waits.add(acquisition)
  }

  deleteWait(acquisition: Acquisition): void {
    const { agentId } = acquisition
    if (agentId === undefined) return
    this.#entriesOf(agentId).waits.delete(acquisition)
    this.#forgetIfIdle(agentId)
  }

  #entriesOf(agentId: string): Entries {
    const known = this.#entries.get(agentId)
    if (known !== undefined) return known
    const entries = { leases: new Set<LeaseAcquisition>(), waits: new Set<Acquisition>() }
    this.#entries.set(agentId, entries)
    return entries
  }

  #forgetIfIdle(agentId: string): void {
    const { leases, waits } = this.#entriesOf(agentId)
    if (leases.size === 0 && waits.size === 0) this.#entries.delete(agentId)
  }
}
