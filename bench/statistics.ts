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
