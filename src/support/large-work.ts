// Large pieces of work on the event loop, one in each of its rounds: between two of them everything else is served.

/** Work on no more bytes or characters than this is done at once: it takes about a millisecond. */
export const largeBytes = 262_144

/** What can be cut is worked on in pieces of this many bytes or characters. */
export const pieceBytes = 524_288

const waiting: (() => void)[] = []

/**
 * Resolves when it is the caller's turn, in the order of the calls. What the caller does until its next `await` is one
 * piece, and no other begins in the same round.
 */
export function largeTurn(): Promise<void> {
  return new Promise((resolve) => {
    waiting.push(resolve)
    if (waiting.length === 1) setImmediate(grant)
  })
}

function grant(): void {
  // An immediate that is set here runs in the next round, after everything that has arrived meanwhile.
  if (waiting.length > 1) setImmediate(grant)
  waiting.shift()?.()
}
