// Long work on the event loop in slices: after each, everything else can run.
import { setImmediate } from 'node:timers/promises'

export type Slices = ReturnType<typeof createSlices>
/** Await it between two pieces of work. @throws the reason of the signal */
export type Pause = Slices['pause']

const sliceMs = 5
const runLength = 4096
const itemsPerPause = 512

/** @param signal ends the work */
export function createSlices(signal?: AbortSignal) {
  let until = performance.now() + sliceMs

  const isOver = () => performance.now() >= until
  async function next(): Promise<void> {
    await setImmediate()
    signal?.throwIfAborted()
    until = performance.now() + sliceMs
  }
  return {
    isOver,
    /** Begins the next one. */
    next,
    pause: async (): Promise<void> => (isOver() ? next() : undefined)
  }
}

/** Uses very many items. */
export async function inSlices<Item>(
  items: Iterable<Item>,
  use: (item: Item) => void,
  signal?: AbortSignal
): Promise<void> {
  const slices = createSlices(signal)
  for (const item of items) {
    use(item)
    if (slices.isOver()) await slices.next()
  }
}

/** Sorts runs, then merges them pair by pair: a sort of very many items at once would hold the event loop. */
export async function sortInSlices<Item>(
  items: readonly Item[],
  compare: (a: Item, b: Item) => number,
  pause: Pause
): Promise<Item[]> {
  let runs: Item[][] = []
  for (let at = 0; at < items.length; at += runLength) {
    runs.push(items.slice(at, at + runLength).sort(compare))
    await pause()
  }
  while (runs.length > 1) {
    const merged: Item[][] = []
    for (let at = 0; at < runs.length; at += 2)
      merged.push(await mergeRuns(runs[at] ?? [], runs[at + 1] ?? [], compare, pause))
    runs = merged
  }
  return runs[0] ?? []
}

async function mergeRuns<Item>(
  left: readonly Item[],
  right: readonly Item[],
  compare: (a: Item, b: Item) => number,
  pause: Pause
): Promise<Item[]> {
  const merged: Item[] = []
  let at = 0
  for (const item of right) {
    while (at < left.length && compare(left[at]!, item) <= 0) merged.push(left[at++]!)
    merged.push(item)
    if (merged.length % itemsPerPause === 0) await pause()
  }
  while (at < left.length) merged.push(left[at++]!)
  return merged
}
