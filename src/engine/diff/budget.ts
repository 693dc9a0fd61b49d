// A bound on synchronous work, counted in characters read or written: the cost of patches shows only while they are applied.

/** The work would exceed its bound: do it elsewhere, or not at all. It has changed nothing. */
export class OutOfBudget extends Error {}

export interface Budget {
  /** Called before the work is done. @throws OutOfBudget */
  readonly spend: (steps: number) => void
}

/** Measured: a million steps take about 1 ms, whatever the texts. */
export function createBudget(steps: number): Budget {
  let left = steps
  return {
    spend(count) {
      left -= count
      if (left < 0) throw new OutOfBudget('The work exceeds its limit.')
    }
  }
}

export const unlimited: Budget = createBudget(Infinity)
