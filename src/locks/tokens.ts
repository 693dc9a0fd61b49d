// Where fencing tokens come from.

export interface FencingTokens {
  /** Larger than every one before. */
  next(): number
  /** The same for a lease, whose token must stay behind after a restart. @throws where that cannot be promised */
  nextForLease(): number
}

/** Grow for as long as the process lives. */
export function createCounter(): FencingTokens {
  let last = 0
  const next = () => (last += 1)
  return { next, nextForLease: next }
}
