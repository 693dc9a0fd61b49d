// Cleans up after a benchmark: what the helpers under test/ expect of a test.

export interface Owner {
  teardown(fn: () => unknown): void
}

/** Runs the body, then everything that was given to its owner, the last one first. */
export async function withOwner<Result>(body: (owner: Owner) => Promise<Result>): Promise<Result> {
  const cleanups: (() => unknown)[] = []
  try {
    return await body({ teardown: (fn) => cleanups.push(fn) })
  } finally {
    for (const cleanup of cleanups.toReversed()) await cleanup()
  }
}
