// Where it burns: the files and folders at which agents met, and how the server does.
import type { VNode } from 'preact'
import { useEffect, useMemo, useState } from 'preact/hooks'
import { formatAddress } from './address.ts'
import { Charts } from './charts.ts'
import { HotTable } from './hot-table.ts'
import { html } from './html.ts'
import type { Meter } from './meter.ts'
import { shortenerOf, type Activity } from './model.ts'
import { CopyButton } from './parts.ts'
import { Plot } from './plot.ts'
import { pure } from './pure.ts'
import { curlOf, get } from './server.ts'
import { Treemap } from './treemap-view.ts'
import { go } from './use-address.ts'

const hour = { minutes: 60, name: 'hour' }
const spans = [
  { minutes: 15, name: '15 minutes' },
  hour,
  { minutes: 360, name: '6 hours' },
  { minutes: 1440, name: 'day' }
]
const refreshMs = 3000

function Burns({
  roots,
  meter,
  query,
  onHistory
}: {
  roots: readonly string[]
  meter: Meter
  /** How far back, and by what it is drawn. */
  query: Readonly<Record<string, string>>
  onHistory: (filter: { path: string }) => void
}): VNode {
  const { minutes, name } = spans.find((each) => String(each.minutes) === query['minutes']) ?? hour
  const by = query['by'] === 'folder' ? 'folder' : 'agent'
  const activity = useActivity(minutes, by)
  const choose = (part: Readonly<Record<string, string>>) => go(formatAddress('burns', { ...query, ...part }), true)
  const short = shortenerOf(roots)
  const files = activity?.files ?? []
  return html`<div class="burns">
    <section class="panel" aria-labelledby="heat-title">
      <div class="filters">
        <h2 id="heat-title">Where agents met <span class="count">${files.length}</span></h2>
        <label
          >in the last
          <select
            value=${minutes}
            onChange=${(event: Event) => choose({ minutes: (event.target as HTMLSelectElement).value })}
          >
            ${spans.map(({ minutes, name }) => html`<option key=${minutes} value=${minutes}>${name}</option>`)}
          </select>
        </label>
        <${CopyButton} text=${() => curlOf(`/activity?minutes=${minutes}&by=${by}`)}>Copy as curl<//>
      </div>
      ${
        files.length === 0
          ? html`<div class="empty">
              <p>In the last ${name} no change came too late, and no call waited for a lock.</p>
              <p>Contentions, merges and waits will show up here, by file and folder.</p>
            </div>`
          : html`<${Treemap} files=${files} short=${short} onHistory=${onHistory} />
              <${HotTable}
                files=${files}
                short=${short}
                stripSeconds=${activity?.strip_seconds ?? 60}
                onHistory=${onHistory}
              />`
      }
    </section>
    <div class="burns-side">
      <section class="panel" aria-labelledby="charts-title">
        <div class="filters">
          <h2 id="charts-title">What happened, in the last ${name}</h2>
          ${(['agent', 'folder'] as const).map(
            (each) =>
              html`<button
                key=${each}
                type="button"
                class="quiet"
                aria-pressed=${each === by}
                onClick=${() => choose({ by: each })}
              >
                By ${each}
              </button>`
          )}
        </div>
        <${Charts} activity=${activity} by=${by} />
      </section>
      <section class="panel" aria-labelledby="rates-title">
        <h2 id="rates-title">How the server does</h2>
        <${Plots} meter=${meter} />
      </section>
    </div>
  </div>`
}

export const BurnsView = pure(Burns)

function useActivity(minutes: number, by: string): Activity | undefined {
  const [activity, setActivity] = useState<Activity>()
  useEffect(() => {
    let isMeant = true
    const read = () => {
      if (document.hidden) return
      get<Activity>(`/activity?minutes=${minutes}&limit=500&by=${by}`).then(
        (found) => isMeant && setActivity(found),
        () => undefined
      )
    }
    read()
    const timer = setInterval(read, refreshMs)
    return () => {
      isMeant = false
      clearInterval(timer)
    }
  }, [minutes, by])
  return activity
}

function Plots({ meter }: { meter: Meter }): VNode {
  const [, redraw] = useState(0)
  useEffect(() => meter.subscribe(() => redraw((count) => count + 1)), [])
  const measures = meter.get()
  const times = useMemo(() => measures.map(({ at }) => at), [measures])
  if (measures.length === 0)
    return html`<div class="empty"><p>Measuring… the first figures come in a few seconds.</p></div>`
  return html`<div class="plots">
    <${Plot}
      title="Calls"
      unit="per second"
      times=${times}
      series=${[
        { label: 'ok', color: '--good', values: measures.map(({ ok }) => ok) },
        { label: 'contention', color: '--warm', values: measures.map(({ contention }) => contention) },
        { label: 'failed', color: '--hot', values: measures.map(({ failed }) => failed) }
      ]}
    />
    <${Plot}
      title="Latency"
      unit="milliseconds, waits included"
      times=${times}
      series=${[
        { label: 'median', color: '--good', values: measures.map(({ p50 }) => p50) },
        { label: '95 %', color: '--warm', values: measures.map(({ p95 }) => p95) },
        { label: 'waits, 95 %', color: '--hot', values: measures.map(({ waitP95 }) => waitP95) }
      ]}
    />
    <${Plot}
      title="Queues and leases"
      unit="at the moment"
      times=${times}
      series=${[
        { label: 'waiting', color: '--hot', values: measures.map(({ queue }) => queue) },
        { label: 'leases', color: '--good', values: measures.map(({ leases }) => leases) }
      ]}
    />
  </div>`
}
