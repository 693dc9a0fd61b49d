// What is promised about time, and how it is measured.

/** One promise. */
export interface Bound {
  readonly what: string
  /** The least work there is, in words. */
  readonly floor: string
  /** The most that the ratio may be. */
  readonly promised: number
  /** Milliseconds of both sides of one round, one after the other. */
  readonly measure: () => Promise<Sample> | Sample
}

export interface Sample {
  readonly floor: number
  readonly ours: number
}
