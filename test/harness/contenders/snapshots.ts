// Snapshots of a time, how long one had to wait for them, and what the server must have done between them at any speed.
import type { AgentHistory, Moment, Snapshot } from './history.ts'

/** Questions after whose answers a server has noticed that a connection was closed before the first of them was asked. */
const noticeLooks = 20
/** Questions after whose answers it has run the timers that were due before: it has turned between any two. */
export const timerLooks = 3

/** Snapshots that were certainly taken within this time. */
export function between(snapshots: readonly Snapshot[], from: Moment, until: Moment): Snapshot[] {
  const found: Snapshot[] = []
  for (let index = firstSince(snapshots, from); index < snapshots.length; index += 1) {
    const snapshot = snapshots[index] as Snapshot
    if (snapshot.receivedAt > until) break
    found.push(snapshot)
  }
  return found
}

/** Index of the first that was asked for at this moment or later. */
function firstSince(snapshots: readonly Snapshot[], from: Moment): number {
  let [low, high] = [0, snapshots.length]
  while (low < high) {
    const middle = (low + high) >> 1
    if ((snapshots[middle] as Snapshot).sentAt < from) low = middle + 1
    else high = middle
  }
  return low
}

/** When so many that were asked for since this moment had been answered. Infinity where there are not so many. */
export function afterLooks(snapshots: readonly Snapshot[], since: Moment, count: number): Moment {
  return snapshots[firstSince(snapshots, since) + count - 1]?.receivedAt ?? Infinity
}

/** When the server had noticed that the agent was gone. Infinity where it is not, or where that is not certain. */
export function noticedAt({ goneAt = Infinity }: AgentHistory, snapshots: readonly Snapshot[]): Moment {
  return afterLooks(snapshots, goneAt, noticeLooks)
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
