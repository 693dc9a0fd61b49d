// Medians and percentiles of samples.

export function median(samples: readonly number[]): number {
  return percentile(samples, 50)
}

/** The nearest rank: always one of the samples. NaN where there are none. */
export function percentile(samples: readonly number[], percent: number): number {
  const sorted = samples.toSorted((a, b) => a - b)
  return sorted[Math.max(0, Math.ceil((percent / 100) * sorted.length) - 1)] ?? NaN
}

export function sum(samples: readonly number[]): number {
  return samples.reduce((total, sample) => total + sample, 0)
}

/** Of samples taken in turn: the ratio within each round, and then the median. What slows one round slows both of its sides. */
export function medianRatio(ours: readonly number[], theirs: readonly number[]): number {
  return median(ours.map((sample, round) => sample / (theirs[round] ?? NaN)))
}
