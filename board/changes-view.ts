// Changes: the timeline, narrowed by agent, path and kind; and of the chosen line the difference, the versions, and the way back.
import type { VNode } from 'preact'
import { useEffect, useMemo, useState } from 'preact/hooks'
import { DiffView } from './diff-view.ts'
import { html } from './html.ts'
import { List } from './list.ts'
import { kinds, matcherOf, shorten, type Happening, type HistoryVersion, type Kind } from './model.ts'
import { CopyButton, Name, Path, Time, useNow } from './parts.ts'
import { RestoreDialog } from './restore-dialog.ts'
import { curlOf } from './server.ts'
import type { State } from './store.ts'
import { clockTime, exactTime } from './time.ts'
import type { Hunk } from './unified.ts'
import { diffInput, diffOf, knownLines, linesOf, versionsOf } from './versions.ts'

export interface Filter {
  readonly agent: string
  readonly path: string
  /** Empty: all. */
  readonly kind: Kind | ''
}

export const noFilter: Filter = { agent: '', path: '', kind: '' }

interface Props {
  readonly state: State
  readonly filter: Filter
  readonly onFilter: (filter: Filter) => void
}

export function ChangesView({ state, filter, onFilter }: Props): VNode {
  const { roots, timeline, revision } = state
  const now = useNow()
  const [chosen, choose] = useState<Happening>()
  const [isPaused, pause] = useState<readonly Happening[]>()
  const [, redraw] = useState(0)
  const short = (path: string) => shorten(path, roots)
  const source = isPaused ?? timeline
  const lines = useMemo(() => select(source, filter, short), [source, revision, filter, roots])
  const later = isPaused === undefined ? 0 : timeline.length - isPaused.length
  const agents = useMemo(() => [...new Set(source.map(({ agent }) => agent))].sort(), [source, revision])
  const change = (part: Partial<Filter>) => onFilter({ ...filter, ...part })
  const valueOf = (event: Event) => (event.target as HTMLInputElement).value

  return html`<div class="changes">
    <section class="panel" aria-labelledby="timeline-title">
      <div class="filters" role="search" aria-label="Narrow the timeline">
        <h2 id="timeline-title">Timeline <span class="count">${lines.length}</span></h2>
        <label
          >Agent
          <input
            list="agent-names"
            value=${filter.agent}
            onInput=${(event: Event) => change({ agent: valueOf(event) })}
            placeholder="all"
          />
        </label>
        <datalist id="agent-names">
          ${agents.slice(0, 500).map((name) => html`<option key=${name} value=${name} />`)}
        </datalist>
        <label
          >Path
          <input
            value=${filter.path}
            onInput=${(event: Event) => change({ path: valueOf(event) })}
            placeholder="src/**/*.ts"
            spellcheck=${false}
          />
        </label>
        <label
          >Kind
          <select value=${filter.kind} onChange=${(event: Event) => change({ kind: valueOf(event) as Kind | '' })}>
            <option value="">all</option>
            ${kinds.map((kind) => html`<option key=${kind} value=${kind}>${kind}</option>`)}
          </select>
        </label>
        ${filter !== noFilter && html`<button type="button" class="quiet" onClick=${() => onFilter(noFilter)}>Clear</button>`}
        <button
          type="button"
          class="quiet"
          aria-pressed=${isPaused !== undefined}
          onClick=${() => pause(isPaused === undefined ? [...timeline] : undefined)}
        >
          ${isPaused === undefined ? 'Hold still' : `Go on${later > 0 ? ` (${later} more)` : ''}`}
        </button>
      </div>
      <${List}
        id="timeline"
        label="Timeline, the latest first"
        items=${lines}
        keyOf=${({ key }: Happening) => key}
        rowHeight=${44}
        chosen=${chosen?.key}
        onChoose=${choose}
        onRest=${(shown: readonly Happening[]) => askForLines(shown, () => redraw((count) => count + 1))}
        row=${(each: Happening) => html`<${Row} line=${each} now=${now} short=${short} />`}
        empty=${
          filter === noFilter || timeline.length === 0
            ? html`<p>Nothing has changed since the server looks.</p>
                <p>Change a file, through an agent or by hand, and it shows up here within a second.</p>`
            : html`<p>Nothing fits. <b>Clear</b> the filter, or use a wider one, such as <code>**</code>.</p>`
        }
      />
    </section>
    <section class="panel detail" aria-label="Details">
      ${
        chosen === undefined
          ? html`<div class="empty">
              <p>Choose a line to see what differs, the versions of the file, and how to bring one back.</p>
            </div>`
          : html`<${HappeningDetail}
              key=${chosen.key}
              line=${chosen}
              now=${now}
              short=${short}
              latest=${timeline.findLast(({ path }) => path === chosen.path)?.key}
            />`
      }
    </section>
  </div>`
}

function select(
  timeline: readonly Happening[],
  { agent, path, kind }: Filter,
  short: (path: string) => string
): Happening[] {
  const matches = matcherOf(path)
  const who = agent.trim().toLowerCase()
  const found: Happening[] = []
  for (let index = timeline.length - 1; index >= 0; index -= 1) {
    const line = timeline[index] as Happening
    if (kind !== '' && line.kind !== kind) continue
    if (who !== '' && !line.agent.toLowerCase().includes(who)) continue
    if (matches(short(line.path))) found.push(line)
  }
  return found
}

/** For the changes in view. */
function askForLines(shown: readonly Happening[], onKnown: () => void): void {
  for (const { kind, path, hash, previousHash } of shown)
    if (kind === 'changed' && typeof hash === 'string' && typeof previousHash === 'string')
      linesOf(path, previousHash, hash, onKnown)
}

function Row({ line, now, short }: { line: Happening; now: number; short: (path: string) => string }): VNode {
  const { kind, path, agent, at, what, hash, previousHash } = line
  const lines = typeof hash === 'string' && typeof previousHash === 'string' ? knownLines(path, previousHash, hash) : ''
  return html`<div class="two-lines">
    <div>
      <span class=${`kind ${kind}`}>${kind}</span>
      <${Path} path=${path === '' ? what : short(path)} />
      <span class="right"><${Time} at=${at} now=${now} /></span>
    </div>
    <div class="dim">
      <span class="ellipsis"><${Name} name=${agent} />, ${what}</span>
      <span class="right">${lines !== '' ? lines : clockTime(at)}</span>
    </div>
  </div>`
}

interface DetailProps {
  readonly line: Happening
  readonly now: number
  readonly short: (path: string) => string
  /** Of the last line about the file: its versions are asked for again when there is another. */
  readonly latest: string | undefined
}

function HappeningDetail({ line, now, short, latest }: DetailProps): VNode {
  const { kind, path, agent, at, what } = line
  const [isSplit, split] = useState(innerWidth > 1500)
  const [versions, setVersions] = useState<readonly HistoryVersion[]>([])
  const [pair, setPair] = useState({ from: line.previousHash, to: line.hash })
  const [restoring, restore] = useState<HistoryVersion>()
  const [said, say] = useState('')

  useEffect(() => {
    if (path === '') return
    versionsOf(path).then(setVersions, (error: Error) => say(error.message))
  }, [path, latest])

  const { from, to } = pair
  const canCompare = typeof from === 'string' && typeof to === 'string'
  return html`<h2 class="wrap">${path === '' ? what : html`<${Path} path=${short(path)} />`}</h2>
    <p class="dim">
      <span class=${`kind ${kind}`}>${kind}</span>${' '}<${Name} name=${agent} />${`, ${what}, `}<${Time}
        at=${at}
        now=${now}
      />${` (${exactTime(at)})`}
    </p>
    ${said !== '' && html`<p class="trouble" role="alert">${said}</p>`}
    ${
      canCompare &&
      html`<div class="acts">
          <button type="button" class="quiet" aria-pressed=${isSplit} onClick=${() => split(!isSplit)}>
            Side by side
          </button>
          <${CopyButton} text=${() => curlOf('/async_diff', diffInput(path, from, to))}>Copy as curl<//>
        </div>
        <${Difference} path=${path} from=${from} to=${to} isSplit=${isSplit} />`
    }
    ${!canCompare && path !== '' && kind !== 'lease' && kind !== 'circle' && html`<p class="hint">${explainNoDiff(kind)}</p>`}
    ${versions.length > 0 && html`<h3>Versions</h3>`}
    <ol class="versions" reversed>
      ${versions.map(
        (version, index) =>
          html`<li key=${`${version.hash} ${version.at}`} class=${version.hash === to ? 'is-shown' : ''}>
            <span class="dim when"><${Time} at=${Date.parse(version.at)} now=${now} /></span>
            <${Name} name=${version.agent_id ?? 'there before'} />
            ${version.operation !== null && html`<span class="dim">${version.operation.replace(/^async_/, '')}</span>`}
            ${version.hash === null && html`<span class="kind deleted">deleted</span>`}
            ${version.lines !== undefined && html`<${LineCounts} lines=${version.lines} />`}
            <span class="right">
              ${
                typeof version.previous_hash === 'string' &&
                version.hash !== null &&
                html`<button
                  type="button"
                  class="quiet"
                  onClick=${() => setPair({ from: version.previous_hash, to: version.hash })}
                >
                  Diff<span class="unseen"> of the version of ${clockTime(Date.parse(version.at))}</span>
                </button>`
              }
              ${
                version.kept &&
                index > 0 &&
                html`<button type="button" class="quiet" onClick=${() => restore(version)}>
                  Restore…<span class="unseen"> the version of ${clockTime(Date.parse(version.at))}</span>
                </button>`
              }
            </span>
          </li>`
      )}
    </ol>
    ${
      restoring !== undefined &&
      html`<${RestoreDialog}
        path=${path}
        shown=${short(path)}
        version=${restoring}
        isSplit=${isSplit}
        onEnd=${(isRestored: boolean) => {
          restore(undefined)
          if (isRestored) versionsOf(path).then(setVersions, (error: Error) => say(error.message))
        }}
      />`
    }`
}

function LineCounts({ lines: { added, removed, modified } }: { lines: NonNullable<HistoryVersion['lines']> }): VNode {
  return html`<span class="counts">
    ${added > 0 && html`<span class="plus" title="lines added">+${added}</span>`}
    ${removed > 0 && html`<span class="minus" title="lines removed">−${removed}</span>`}
    ${modified > 0 && html`<span class="dim" title="lines changed">~${modified}</span>`}
  </span>`
}

function explainNoDiff(kind: Kind): string {
  if (kind === 'created') return 'There was no version before.'
  if (kind === 'deleted') return 'The file is gone. A kept version below brings it back.'
  return 'The version before is not known, so that there is nothing to compare with.'
}

function Difference({ path, from, to, isSplit }: { path: string; from: string; to: string; isSplit: boolean }): VNode {
  const [hunks, setHunks] = useState<readonly Hunk[]>()
  const [trouble, setTrouble] = useState('')
  useEffect(() => {
    let isMeant = true
    setTrouble('')
    diffOf(path, from, to).then(
      (found) => isMeant && setHunks(found),
      (error: Error) => isMeant && setTrouble(error.message)
    )
    return () => {
      isMeant = false
    }
  }, [path, from, to])
  if (trouble !== '') return html`<p class="hint">${trouble}</p>`
  if (hunks === undefined) return html`<p class="hint">Comparing…</p>`
  return html`<${DiffView} hunks=${hunks} isSplit=${isSplit} />`
}
