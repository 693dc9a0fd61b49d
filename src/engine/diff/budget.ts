// A bound on synchronous work, counted in characters looked at or written: what patches cost shows only while they are applied.

/** The work would go beyond its bound: it has to be done elsewhere, or not at all. Nothing has been changed by it. */
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
      if (left < 0) throw new OutOfBudget('The work goes beyond its bound.')
    }
  }
}

export const unlimited: Budget = createBudget(Infinity)
