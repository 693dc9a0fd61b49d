// What has happened since the start, in plain numbers: names of files and agents are not among them.
import { Durations } from '../../support/durations.ts'
import type { LeaseEnd } from '../locks/lock.ts'

/** Why a lease ended without a release. */
type LeaseLoss = LeaseEnd['cause']

export type Counts = ReturnType<typeof createCounts>

export function createCounts() {
  return {
    /** Changes that were refused since the file was another version. */
    contentions: 0,
    mergesMade: 0,
    mergesRefused: 0,
    notices: 0,
    /** Times when this process became the authority of its tree, or found another one. */
    authorityChanges: 0,
    /** Each cause is there from the start: who counts an increase needs the zero before it. */
    leasesLost: { expired: 0, disconnected: 0, broken: 0 } as Record<LeaseLoss, number>,
    /** Of operations that did not get their locks at once. */
    lockWaits: new Durations()
  }
}
