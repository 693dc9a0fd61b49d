// Durations counted in buckets, with plain numbers: what a call pays for being measured is one search among a dozen.

/** Upper ends of the buckets, in seconds. */
export const bucketSeconds = [
  0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60
] as const

export class Durations {
  /** Of each bucket, and beyond the last. */
  readonly counts = new Float64Array(bucketSeconds.length + 1)
  sumSeconds = 0

  record(ms: number): void {
    const seconds = ms / 1000
    let at = 0
    while (at < bucketSeconds.length && seconds > bucketSeconds[at]!) at += 1
    this.counts[at]! += 1
    this.sumSeconds += seconds
  }
}
