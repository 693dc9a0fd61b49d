// Where it burns: the files and folders at which agents met, and how the server does.
import type { VNode } from 'preact'
import { useEffect, useMemo, useState } from 'preact/hooks'
import { HotTable } from './hot-table.ts'
import { html } from './html.ts'
import type { Meter } from './meter.ts'
import { shorten, type Activity } from './model.ts'
import { CopyButton } from './parts.ts'
import { Plot } from './plot.ts'
import { curlOf, get } from './server.ts'
import type { State } from './store.ts'
import { Treemap } from './treemap-view.ts'

const spans = [
  { minutes: 15, name: '15 minutes' },
  { minutes: 60, name: 'hour' },
  { minutes: 360, name: '6 hours' },
  { minutes: 1440, name: 'day' }
]
const refreshMs = 3000

export function BurnsView({
  state,
  meter,
  onHistory
}: {
  state: State
  meter: Meter
  onHistory: (filter: { path: string }) => void
}): VNode {
  const [minutes, setMinutes] = useState(60)
  const [activity, setActivity] = useState<Activity>()
  const [, redraw] = useState(0)
  const short = (path: string) => shorten(path, state.roots)

  useEffect(() => {
    let isMeant = true
    const read = () => {
      if (document.hidden) return
      get<Activity>(`/activity?minutes=${minutes}&limit=500`).then(
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
  }, [minutes])
  useEffect(() => meter.subscribe(() => redraw((count) => count + 1)), [])

  const files = activity?.files ?? []
  const name = spans.find((each) => each.minutes === minutes)?.name ?? ''
  return html`<div class="burns">
    <section class="panel" aria-labelledby="heat-title">
      <div class="filters">
        <h2 id="heat-title">Where agents met <span class="count">${files.length}</span></h2>
        <label
          >in the last
          <select
            value=${minutes}
            onChange=${(event: Event) => setMinutes(Number((event.target as HTMLSelectElement).value))}
          >
            ${spans.map(({ minutes, name }) => html`<option key=${minutes} value=${minutes}>${name}</option>`)}
          </select>
        </label>
        <${CopyButton} text=${() => curlOf(`/activity?minutes=${minutes}`)}>Copy as curl<//>
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
    <section class="panel" aria-labelledby="rates-title">
      <h2 id="rates-title">How the server does</h2>
      <${Plots} meter=${meter} />
    </section>
  </div>`
}

function Plots({ meter }: { meter: Meter }): VNode {
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
