// Where it burns: the files and folders at which agents met, and how the server does.
import type { VNode } from 'preact'
import { useEffect, useMemo, useRef, useState } from 'preact/hooks'
import { html } from './html.ts'
import { shorten, type Activity } from './model.ts'
import type { Meter } from './meter.ts'
import { CopyButton, Path } from './parts.ts'
import { Plot } from './plot.ts'
import { curlOf, get } from './server.ts'
import type { State } from './store.ts'
import { span } from './time.ts'
import { layOut } from './treemap.ts'
import { cut } from './wait-graph-view.ts'

const spans = [
  { minutes: 15, name: '15 minutes' },
  { minutes: 60, name: 'hour' },
  { minutes: 360, name: '6 hours' },
  { minutes: 1440, name: 'day' }
]
const refreshMs = 3000
const maxTiles = 80
const maxRows = 40
const mapHeight = 260

type HotFile = Activity['files'][number]

const heatOf = ({ contentions, merges, waits }: HotFile): number => contentions + merges + waits

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

interface HotProps {
  readonly files: readonly HotFile[]
  readonly short: (path: string) => string
  readonly onHistory: (filter: { path: string }) => void
}

function Treemap({ files, short, onHistory }: HotProps): VNode {
  const box = useRef<HTMLDivElement>(null)
  const [width, setWidth] = useState(600)
  useEffect(() => {
    const { current } = box
    if (current === null) return undefined
    const resized = new ResizeObserver(() => setWidth(current.clientWidth))
    resized.observe(current)
    return () => resized.disconnect()
  }, [])
  const hottest = files.slice(0, maxTiles)
  const tiles = useMemo(
    () =>
      layOut(
        hottest.map((file) => ({ path: short(file.path), weight: heatOf(file) })),
        { width, height: mapHeight }
      ),
    [files, width]
  )
  const byPath = new Map(hottest.map((file) => [short(file.path), file]))
  return html`<div ref=${box} class="treemap">
    <svg width=${width} height=${mapHeight} aria-hidden="true">
      ${tiles.map(({ path, x, y, width, height, isFolder, weight }) => {
        if (isFolder)
          return html`<g key=${`folder ${path}`} class="folder">
            <rect x=${x + 0.5} y=${y + 0.5} width=${Math.max(0, width - 1)} height=${Math.max(0, height - 1)} rx="3" />
            ${width > 40 && html`<text x=${x + 5} y=${y + 12}>${cut(path === '' ? './' : `${path}/`, Math.floor(width / 7))}</text>`}
          </g>`
        const file = byPath.get(path) as HotFile
        const name = path.slice(path.lastIndexOf('/') + 1)
        return html`<g key=${path} class=${`tile ${worstOf(file)}`} onClick=${() => onHistory({ path })}>
          <title>${path}: ${describe(file)}</title>
          <rect x=${x + 1} y=${y + 1} width=${Math.max(0, width - 2)} height=${Math.max(0, height - 2)} rx="2" />
          ${width > 34 && height > 16 && html`<text x=${x + 6} y=${y + 14}>${cut(name, Math.floor((width - 10) / 6.6))}</text>`}
          ${width > 34 && height > 30 && html`<text class="small" x=${x + 6} y=${y + 27}>${weight}</text>`}
        </g>`
      })}
    </svg>
    <p class="key">
      <i class="contentions"></i>mostly contentions <i class="merges"></i>mostly merges <i class="waits"></i>mostly
      waits
    </p>
  </div>`
}

function worstOf({ contentions, merges, waits }: HotFile): string {
  if (contentions >= merges && contentions >= waits) return 'contentions'
  return merges >= waits ? 'merges' : 'waits'
}

function describe({ contentions, merges, waits, waited_seconds }: HotFile): string {
  return `${contentions} contentions, ${merges} merges, ${waits} waits (${span(waited_seconds * 1000)})`
}

function HotTable({ files, short, stripSeconds, onHistory }: HotProps & { readonly stripSeconds: number }): VNode {
  const shown = files.slice(0, maxRows)
  const most = Math.max(1, ...shown.flatMap(({ strip }) => strip))
  return html`<div class="table-box" tabindex="0" role="region" aria-label="The hottest files">
      <table class="hot">
        <thead>
          <tr>
            <th scope="col">File</th>
            <th scope="col" class="figure">Contentions</th>
            <th scope="col" class="figure">Merges</th>
            <th scope="col" class="figure">Waits</th>
            <th scope="col" class="figure">Waited</th>
            <th scope="col">When, until now</th>
          </tr>
        </thead>
        <tbody>
          ${shown.map(
            (file) =>
              html`<tr key=${file.path}>
                <th scope="row">
                  <button type="button" class="link" onClick=${() => onHistory({ path: short(file.path) })}>
                    <${Path} path=${short(file.path)} />
                  </button>
                </th>
                <td class="figure">${file.contentions}</td>
                <td class="figure">${file.merges}</td>
                <td class="figure">${file.waits}</td>
                <td class="figure">${span(file.waited_seconds * 1000)}</td>
                <td><${Strip} strip=${file.strip} most=${most} seconds=${stripSeconds} /></td>
              </tr>`
          )}
        </tbody>
      </table>
    </div>
    ${files.length > maxRows && html`<p class="hint">${files.length - maxRows} cooler files are not listed.</p>`}`
}

/** Shades from pale to glowing, the oldest slice at the left. */
function Strip({ strip, most, seconds }: { strip: readonly number[]; most: number; seconds: number }): VNode {
  const peak = strip.reduce((best, value, index) => (value > (strip[best] ?? 0) ? index : best), 0)
  const words = `most, ${strip[peak]}, ${span((strip.length - 1 - peak) * seconds * 1000)} ago`
  return html`<svg
    class="strip"
    viewBox=${`0 0 ${strip.length} 10`}
    preserveAspectRatio="none"
    role="img"
    aria-label=${words}
  >
    ${strip.map(
      (value, index) =>
        value > 0 &&
        html`<rect key=${index} x=${index} y="0" width="1" height="10" opacity=${0.25 + 0.75 * (value / most)} />`
    )}
  </svg>`
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
