// Changes: the timeline, narrowed by agent, path, change set and kind; and all about the chosen line.
import { Component, type VNode } from 'preact'
import { useMemo, useState } from 'preact/hooks'
import { formatAddress } from './address.ts'
import { go } from './use-address.ts'
import { ChangeDetail } from './change-detail.ts'
import { html } from './html.ts'
import { List } from './list.ts'
import { foldLines, fromHistory, kinds, matcherOf, partsOf, putUnder, shortenerOf, type Happening } from './model.ts'
import { Name, Path, useNow } from './parts.ts'
import type { State } from './store.ts'
import { exactTime, momentTime } from './time.ts'
import { fromField, toField, type Choice, type OnUndo } from './undo/choice.ts'
import { useAnswer } from './use-answer.ts'
import { knownLines, linesOf, versionsOf } from './versions.ts'

/** As the address has it; empty: all. */
type Filter = Readonly<Record<(typeof filters)[number], string>>
const filters = ['agent', 'path', 'changeSet', 'kind', 'since', 'until'] as const

const maxNames = 500

interface Props {
  readonly state: State
  /** The filter, and the key of the chosen line. */
  readonly query: Readonly<Record<string, string>>
  readonly onUndo: OnUndo
}

export function ChangesView({ state, query, onUndo }: Props): VNode {
  const { roots, timeline, revision } = state
  const now = useNow()
  const filter = Object.fromEntries(filters.map((name) => [name, query[name] ?? ''])) as Filter
  const [isPaused, pause] = useState<readonly Happening[]>()
  const [, redraw] = useState(0)
  const short = shortenerOf(roots)
  const source = isPaused ?? timeline
  const lines = useMemo(() => select(source, filter, short), [source, revision, JSON.stringify(filter), roots])
  const chosen = useChosen(query['change'], { timeline: source, lines, root: roots[0] })
  const later = isPaused === undefined ? 0 : timeline.length - isPaused.length
  const agents = useMemo(() => [...new Set(source.map(({ agent }) => agent))].sort(), [source, revision])
  const change = (part: Partial<Filter>) => go(formatAddress('changes', { ...query, ...part }), true)
  const choose = ({ key }: Happening) => go(formatAddress('changes', { ...filter, change: key }), true)
  const hasFilter = filters.some((name) => filter[name] !== '')

  return html`<div class="changes">
    <section class="panel" aria-labelledby="timeline-title">
      <div class="filters" role="search" aria-label="Narrow the timeline">
        <h2 id="timeline-title">Timeline <span class="count">${lines.length}</span></h2>
        <${TextFilter}
          label="Agent"
          value=${filter.agent}
          onText=${(agent: string) => change({ agent })}
          list="agent-names"
        />
        <${AgentNames} agents=${agents.slice(0, maxNames)} />
        <${TextFilter}
          label="Path"
          value=${filter.path}
          onText=${(path: string) => change({ path })}
          placeholder="src/**/*.ts"
        />
        <${TextFilter}
          label="Change set"
          value=${filter.changeSet}
          onText=${(changeSet: string) => change({ changeSet })}
        />
        <label
          >Kind
          <select
            value=${filter.kind}
            onChange=${(event: Event) => change({ kind: (event.target as HTMLSelectElement).value })}
          >
            <option value="">all</option>
            ${kinds.map((kind) => html`<option key=${kind} value=${kind}>${kind}</option>`)}
          </select>
        </label>
        <${TimeFilter} label="From" value=${filter.since} ms=${0} onMoment=${(since: string) => change({ since })} />
        <${TimeFilter} label="To" value=${filter.until} ms=${999} onMoment=${(until: string) => change({ until })} />
        ${hasFilter && html`<button type="button" class="quiet" onClick=${() => go('#changes')}>Clear</button>`}
        <button type="button" class="quiet" onClick=${() => onUndo(toChoice(filter, agents))}>Take back…</button>
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
        pathIn=${({ path, what, at }: Happening) => ({ path: path === '' ? what : short(path), taken: takenInLine + 7 * momentTime(at, now).length })}
        row=${(each: Happening, text: string) => html`<${Row} line=${each} text=${text} now=${now} short=${short} />`}
        empty=${
          !hasFilter || timeline.length === 0
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
          : html`<${ChangeDetail}
              key=${chosen.key}
              line=${chosen}
              now=${now}
              short=${short}
              onUndo=${onUndo}
              onChangeSet=${(changeSet: string) => go(formatAddress('changes', { changeSet, change: chosen.key }))}
              onLine=${choose}
              latest=${timeline.findLast(({ path }) => path === chosen.path)?.key}
            />`
      }
    </section>
  </div>`
}

/** As far as the filter names something as a whole. */
function toChoice({ agent, path, changeSet, since, until }: Filter, agents: readonly string[]): Choice {
  return {
    since: since === '' ? undefined : since,
    until: until === '' ? undefined : until,
    by_agent: agents.includes(agent) ? agent : undefined,
    of_change_set: changeSet === '' ? undefined : changeSet,
    paths: /[*?]/.test(path) ? [path] : undefined
  }
}

/** @param ms what is added to the whole seconds of the field */
function TimeFilter(props: { label: string; value: string; ms: number; onMoment: (moment: string) => void }): VNode {
  const { label, value, ms, onMoment } = props
  const onInput = (event: Event) => onMoment(fromField((event.target as HTMLInputElement).value, ms) ?? '')
  return html`<label
    >${label}
    <input
      type="datetime-local"
      class="moment"
      step="1"
      value=${toField(value === '' ? undefined : value)}
      onInput=${onInput}
    />
  </label>`
}

/** The line that the address names; of one that is not in the timeline, the history is asked. */
function useChosen(key: string | undefined, { timeline, lines, root }: Known): Happening | undefined {
  const found = useMemo(
    () =>
      key === undefined
        ? undefined
        : (lines.find((line) => line.key === key) ?? timeline.find((line) => line.key === key)),
    [key, lines]
  )
  const parts = key === undefined || found !== undefined ? undefined : partsOf(key)
  const { answer } = useAnswer(parts && askForOf(parts, root), `${parts === undefined} ${key}`)
  return found ?? (answer?.key === key ? answer : undefined)
}

interface Known {
  readonly timeline: readonly Happening[]
  readonly lines: readonly Happening[]
  readonly root: string | undefined
}

/** Knows nothing else of the page, which an effect would keep. */
const askForOf =
  ({ at, path }: { at: string; path: string }, root: string | undefined) =>
  async (): Promise<Happening | undefined> => {
    const version = (await versionsOf(path)).find((each) => each.at === at)
    return version && fromHistory(version, (each) => (each.startsWith('/') ? each : `${root}/${each}`))
  }

function TextFilter(props: {
  label: string
  value: string
  onText: (text: string) => void
  placeholder?: string
  list?: string
}): VNode {
  const { label, value, onText, placeholder = 'all', list } = props
  const onInput = (event: Event) => onText((event.target as HTMLInputElement).value)
  return html`<label
    >${label}
    <input value=${value} list=${list} placeholder=${placeholder} spellcheck=${false} onInput=${onInput} />
  </label>`
}

/** Hundreds of names, which stay the same while the timeline grows. */
class AgentNames extends Component<{ agents: readonly string[] }> {
  override shouldComponentUpdate({ agents }: { agents: readonly string[] }): boolean {
    return agents.join('\n') !== this.props.agents.join('\n')
  }

  override render(): VNode {
    const options = this.props.agents.map((name) => html`<option key=${name} value=${name} />`)
    return html`<datalist id="agent-names">${options}</datalist>`
  }
}

function select(
  timeline: readonly Happening[],
  { agent, path, changeSet, kind, since, until }: Filter,
  short: (path: string) => string
): Happening[] {
  const matches = matcherOf(path)
  const [who, task] = [agent, changeSet].map((text) => text.trim().toLowerCase()) as [string, string]
  const [from, to] = [since === '' ? -Infinity : Date.parse(since), until === '' ? Infinity : Date.parse(until)]
  const found: Happening[] = []
  for (let index = timeline.length - 1; index >= 0; index -= 1) {
    const line = timeline[index] as Happening
    if (line.at < from || line.at > to) continue
    if (kind !== '' && line.kind !== kind) continue
    if (who !== '' && !line.agent.toLowerCase().includes(who)) continue
    if (task !== '' && line.changeSet?.toLowerCase().includes(task) !== true) continue
    if (matches(short(line.path))) found.push(line)
  }
  return foldLines(putUnder(found))
}

/** For the changes in view. */
function askForLines(shown: readonly Happening[], onKnown: () => void): void {
  for (const { kind, path, hash, previousHash } of shown)
    if (kind === 'changed' && typeof hash === 'string' && typeof previousHash === 'string')
      linesOf(path, previousHash, hash, onKnown)
}

/** What else is in the line with the path, beside the time, in pixels. */
const takenInLine = 100

function Row(props: { line: Happening; text: string; now: number; short: (path: string) => string }): VNode {
  const { line, text, now, short } = props
  const { kind, path, agent, at, what, hash, previousHash, changeSet } = line
  const lines = typeof hash === 'string' && typeof previousHash === 'string' ? knownLines(path, previousHash, hash) : ''
  return html`<div class="two-lines">
    <div>
      <span class=${`kind ${kind}`}>${line.isUnder === true ? `↳ ${kind}` : kind}</span>
      <${Path} path=${path === '' ? what : short(path)} text=${text} />
      <time class="right" datetime=${new Date(at).toISOString()} title=${exactTime(at)}>${momentTime(at, now)}</time>
    </div>
    <div class="dim">
      <span class="ellipsis"><${Name} name=${agent} />, ${what}${changeSet !== undefined && `, in ${changeSet}`}</span>
      <span class="right">${lines}</span>
    </div>
  </div>`
}
