// Long work on the event loop in turns: after each, everything else can run.
import { setImmediate } from 'node:timers/promises'

/** Await it between two pieces of work. @throws the reason of the signal */
export type Turn = () => Promise<void>

const turnMs = 5
const runLength = 4096
const itemsPerTurn = 512

export function createTurns(signal: AbortSignal): Turn {
  let until = performance.now() + turnMs
  return async () => {
    if (performance.now() < until) return
    await setImmediate()
    signal.throwIfAborted()
    until = performance.now() + turnMs
  }
}

/** Sorts runs, then merges them pair by pair: a sort of very many items at once would hold the event loop. */
export async function sortInTurns<Item>(
  items: readonly Item[],
  compare: (a: Item, b: Item) => number,
  turn: Turn
): Promise<Item[]> {
  let runs: Item[][] = []
  for (let at = 0; at < items.length; at += runLength) {
    runs.push(items.slice(at, at + runLength).sort(compare))
    await turn()
  }
  while (runs.length > 1) {
    const merged: Item[][] = []
    for (let at = 0; at < runs.length; at += 2)
      merged.push(await mergeRuns(runs[at] ?? [], runs[at + 1] ?? [], compare, turn))
    runs = merged
  }
  return runs[0] ?? []
}

async function mergeRuns<Item>(
  left: readonly Item[],
  right: readonly Item[],
  compare: (a: Item, b: Item) => number,
  turn: Turn
): Promise<Item[]> {
  const merged: Item[] = []
  let at = 0
  for (const item of right) {
    while (at < left.length && compare(left[at]!, item) <= 0) merged.push(left[at++]!)
    merged.push(item)
    if (merged.length % itemsPerTurn === 0) await turn()
  }
  while (at < left.length) merged.push(left[at++]!)
  return merged
}
