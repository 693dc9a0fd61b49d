// Families of samples as text for Prometheus. Loaded at the first scrape: a start does not pay for it.
import { Registry, type Metric, type RegistryContentType } from 'prom-client'
import type { Family } from './metrics.ts'

export interface Exposition {
  readonly type: string
  readonly text: string
}

export async function writeMetrics(families: readonly Family[], isOpenMetrics: boolean): Promise<Exposition> {
  const type = isOpenMetrics ? Registry.OPENMETRICS_CONTENT_TYPE : Registry.PROMETHEUS_CONTENT_TYPE
  const registry = new Registry<RegistryContentType>()
  registry.setContentType(type)
  // The registry asks nothing of a metric but what `get` answers; its types name its own classes only.
  for (const family of families) {
    // For OpenMetrics it takes "_total" from the name.
    const metric = { ...family, get: async () => metric as Family }
    registry.registerMetric(metric as unknown as Metric)
  }
  return { type, text: await registry.metrics() }
}
