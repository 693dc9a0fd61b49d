// Rates and latencies out of two readings of /metrics. Pure.

export interface Reading {
  readonly at: number
  readonly samples: readonly Sample[]
}

interface Sample {
  readonly name: string
  readonly labels: Readonly<Record<string, string>>
  readonly value: number
}

/** One point of the plots. */
export interface Measure {
  /** In seconds since 1970. */
  readonly at: number
  readonly ok: number
  readonly contention: number
  readonly failed: number
  /** In milliseconds; null if there was no call. */
  readonly p50: number | null
  readonly p95: number | null
  readonly waitP95: number | null
  readonly queue: number
  readonly leases: number
}

export function readMetrics(text: string, at: number): Reading {
  const samples: Sample[] = []
  for (const line of text.split('\n')) {
    const [, name, labelText = '', value] = /^async_crud_(\w+)(?:\{(.*)\})? (\S+)/.exec(line) ?? []
    if (name === undefined || !wanted.has(name)) continue
    const labels: Record<string, string> = {}
    for (const [, label = '', text = ''] of labelText.matchAll(/(\w+)="([^"]*)"/g)) labels[label] = text
    samples.push({ name, labels, value: Number(value) })
  }
  return { at, samples }
}

const wanted: ReadonlySet<string> = new Set([
  'calls_total',
  'call_duration_seconds_bucket',
  'lock_wait_seconds_bucket',
  'queue_depth',
  'leases'
])

/** Undefined if the server has been restarted between the two. */
export function measure(before: Reading, now: Reading): Measure | undefined {
  const seconds = (now.at - before.at) / 1000
  const calls = { ok: 0, contention: 0, failed: 0 }
  for (const result of differencesOf(before, now, 'calls_total', ({ result }) => result ?? '')) {
    const kind = result.key === 'ok' || result.key === 'contention' ? result.key : 'failed'
    if (result.value < 0) return undefined
    calls[kind] += result.value / seconds
  }
  const durations = differencesOf(before, now, 'call_duration_seconds_bucket', ({ le }) => le ?? '')
  const waits = differencesOf(before, now, 'lock_wait_seconds_bucket', ({ le }) => le ?? '')
  return {
    at: now.at / 1000,
    ...calls,
    p50: quantile(durations, 0.5),
    p95: quantile(durations, 0.95),
    waitP95: quantile(waits, 0.95),
    queue: valueOf(now, 'queue_depth'),
    leases: valueOf(now, 'leases')
  }
}

interface Difference {
  readonly key: string
  readonly value: number
}

function differencesOf(
  before: Reading,
  now: Reading,
  name: string,
  keyOf: (labels: Sample['labels']) => string
): Difference[] {
  const sums = new Map<string, number>()
  const add = ({ samples }: Reading, sign: number) => {
    for (const sample of samples) {
      if (sample.name !== name) continue
      const key = keyOf(sample.labels)
      sums.set(key, (sums.get(key) ?? 0) + sign * sample.value)
    }
  }
  add(now, 1)
  add(before, -1)
  return Array.from(sums, ([key, value]) => ({ key, value }))
}

const valueOf = ({ samples }: Reading, wantedName: string): number =>
  samples.reduce((sum, { name, value }) => (name === wantedName ? sum + value : sum), 0)

/** In milliseconds, between the bounds of its bucket as Prometheus does it. */
function quantile(buckets: readonly Difference[], share: number): number | null {
  const sorted = buckets
    .map(({ key, value }) => ({ bound: key === '+Inf' ? Infinity : Number(key), value }))
    .sort((a, b) => a.bound - b.bound)
  const total = sorted.at(-1)?.value ?? 0
  if (total <= 0) return null
  const rank = share * total
  let [low, below] = [0, 0]
  for (const { bound, value } of sorted) {
    if (value >= rank) {
      if (bound === Infinity) return low * 1000
      return (low + ((bound - low) * (rank - below)) / Math.max(1, value - below)) * 1000
    }
    ;[low, below] = [bound, value]
  }
  return low * 1000
}
