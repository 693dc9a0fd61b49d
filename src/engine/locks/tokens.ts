// Where fencing tokens come from.

export interface FencingTokens {
  /** For an operation, which does not outlive the process. Larger than every token before. */
  next(): number
  /**
   * For a lease: larger than every token before, those of leases in earlier processes included.
   * @throws OperationError WRITE_ERROR if that cannot be guaranteed
   */
  nextForLease(): number
}

/** Grow for as long as the process lives. */
export function createCounter(): FencingTokens {
  let last = 0
  const next = () => (last += 1)
  return { next, nextForLease: next }
}
