// The requests in the table by agent: the leases that it holds, and what it waits for.
import type { Acquisition } from './acquisition.ts'
import { LeaseAcquisition } from './lease-acquisition.ts'

interface Entries {
  /** In the order of their grants. */
  readonly leases: Set<LeaseAcquisition>
  readonly waits: Set<Acquisition>
  /** How many of the waits are for leases. */
  leaseWaits: number
}

const none: Entries = { leases: new Set(), waits: new Set(), leaseWaits: 0 }

/** An agent without requests costs no memory. Requests without an agentId are not in it. */
export class Agents {
  readonly #entries = new Map<string, Entries>()
  /** Of all agents. */
  leaseCount = 0

  leasesOf(agentId: string): ReadonlySet<LeaseAcquisition> {
    return (this.#entries.get(agentId) ?? none).leases
  }

  waitsOf(agentId: string): ReadonlySet<Acquisition> {
    return (this.#entries.get(agentId) ?? none).waits
  }

  /** True if its agent holds a lease, or waits for another one, so that other requests may wait for the agent. */
  hasOtherLease(acquisition: Acquisition): boolean {
    const { leases, waits, leaseWaits } = this.#entries.get(acquisition.agentId ?? '') ?? none
    return leases.size > 0 || leaseWaits > (acquisition.isLease && waits.has(acquisition) ? 1 : 0)
  }

  *leases(): Generator<LeaseAcquisition, undefined> {
    for (const { leases } of this.#entries.values()) yield* leases
  }

  *leaseRequests(): Generator<LeaseAcquisition, undefined> {
    for (const { waits } of this.#entries.values())
      for (const wait of waits) if (wait instanceof LeaseAcquisition) yield wait
  }

  addLease(lease: LeaseAcquisition): void {
    this.#entriesOf(lease.agentId).leases.add(lease)
    this.leaseCount += 1
  }

  deleteLease(lease: LeaseAcquisition): void {
    if (this.#entriesOf(lease.agentId).leases.delete(lease)) this.leaseCount -= 1
    this.#forgetIfIdle(lease.agentId)
  }

  addWait(acquisition: Acquisition): void {
    if (acquisition.agentId === undefined) return
    const entries = this.#entriesOf(acquisition.agentId)
    entries.waits.add(acquisition)
    if (acquisition.isLease) entries.leaseWaits += 1
  }

  deleteWait(acquisition: Acquisition): void {
    const { agentId } = acquisition
    if (agentId === undefined) return
    const entries = this.#entriesOf(agentId)
    entries.waits.delete(acquisition)
    if (acquisition.isLease) entries.leaseWaits -= 1
    this.#forgetIfIdle(agentId)
  }

  #entriesOf(agentId: string): Entries {
    const known = this.#entries.get(agentId)
    if (known !== undefined) return known
    const entries = { leases: new Set<LeaseAcquisition>(), waits: new Set<Acquisition>(), leaseWaits: 0 }
    this.#entries.set(agentId, entries)
    return entries
  }

  #forgetIfIdle(agentId: string): void {
    const { leases, waits } = this.#entriesOf(agentId)
    if (leases.size === 0 && waits.size === 0) this.#entries.delete(agentId)
  }
}
