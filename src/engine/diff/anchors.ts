// Anchors of a patience diff: elements that occur exactly once on either side, as many as keep their order.

export interface Anchor {
  readonly base: number
  readonly current: number
}

/** Positions in ascending order on both sides; n log n. */
export function uniqueAnchors(base: readonly number[], current: readonly number[]): Anchor[] {
  const inCurrent = uniquePositions(current)
  const pairs: Anchor[] = []
  for (const [id, position] of uniquePositions(base)) {
    const found = inCurrent.get(id)
    if (found !== undefined) pairs.push({ base: position, current: found })
  }
  return longestIncreasing(pairs)
}

/** The positions of elements that occur once, ascending. */
function uniquePositions(ids: readonly number[]): Map<number, number> {
  const positions = new Map<number, number>()
  const repeated = new Set<number>()
  for (let position = 0; position < ids.length; position++) {
    const id = ids[position]!
    if (positions.has(id)) repeated.add(id)
    else positions.set(id, position)
  }
  for (const id of repeated) positions.delete(id)
  return positions
}

/** A longest subsequence whose `current` increases; the pairs come with `base` ascending. */
function longestIncreasing(pairs: readonly Anchor[]): Anchor[] {
  // tails[n] is the index of the pair that best ends a subsequence of n + 1 pairs: the one with the smallest `current`.
  const tails: number[] = []
  const previous = new Int32Array(pairs.length)
  for (let index = 0; index < pairs.length; index++) {
    let low = 0
    let high = tails.length
    while (low < high) {
      const middle = (low + high) >> 1
      if (pairs[tails[middle]!]!.current < pairs[index]!.current) low = middle + 1
      else high = middle
    }
    previous[index] = low > 0 ? tails[low - 1]! : -1
    tails[low] = index
  }
  const chain: Anchor[] = []
  for (let index = tails.at(-1) ?? -1; index >= 0; index = previous[index]!) chain.push(pairs[index]!)
  return chain.reverse()
}
