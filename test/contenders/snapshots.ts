// Snapshots of a time, and how long one had to wait for them.
import type { Moment, Snapshot } from './history.ts'

/** Snapshots that were certainly taken within this time. */
export function between(snapshots: readonly Snapshot[], from: Moment, until: Moment): Snapshot[] {
  let [low, high] = [0, snapshots.length]
  while (low < high) {
    const middle = (low + high) >> 1
    if ((snapshots[middle] as Snapshot).sentAt < from) low = middle + 1
    else high = middle
  }
  const found: Snapshot[] = []
  for (let index = low; index < snapshots.length; index += 1) {
    const snapshot = snapshots[index] as Snapshot
    if (snapshot.receivedAt > until) break
    found.push(snapshot)
  }
  return found
}

/**
 * Of those under way at some moment of this time: what a machine that is busy with other things lets anybody wait for the simplest
 * answer.
 */
export function longestRoundTrip(snapshots: readonly Snapshot[], from: Moment, until: Moment): number {
  let longest = 0
  for (const { sentAt, receivedAt } of snapshots)
    if (receivedAt > from && sentAt < until) longest = Math.max(longest, receivedAt - sentAt)
  return longest
}
