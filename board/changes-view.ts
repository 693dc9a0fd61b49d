// Changes: the timeline, narrowed by agent, path, change set and kind; and all about the chosen line.
import { Component, type VNode } from 'preact'
import { useMemo, useState } from 'preact/hooks'
import { ChangeDetail } from './change-detail.ts'
import { html } from './html.ts'
import { List } from './list.ts'
import { kinds, matcherOf, shortenerOf, type Happening, type Kind } from './model.ts'
import { Name, Path, useNow } from './parts.ts'
import type { State } from './store.ts'
import { exactTime, momentTime } from './time.ts'
import type { Choice, OnUndo } from './undo/choice.ts'
import { knownLines, linesOf } from './versions.ts'

export interface Filter {
  readonly agent: string
  readonly path: string
  /** A word of its name. */
  readonly changeSet: string
  /** Empty: all. */
  readonly kind: Kind | ''
}

export const noFilter: Filter = { agent: '', path: '', changeSet: '', kind: '' }

const maxNames = 500

interface Props {
  readonly state: State
  readonly filter: Filter
  readonly onFilter: (filter: Filter) => void
  readonly onUndo: OnUndo
}

export function ChangesView({ state, filter, onFilter, onUndo }: Props): VNode {
  const { roots, timeline, revision } = state
  const now = useNow()
  const [chosen, choose] = useState<Happening>()
  const [isPaused, pause] = useState<readonly Happening[]>()
  const [, redraw] = useState(0)
  const short = shortenerOf(roots)
  const source = isPaused ?? timeline
  const lines = useMemo(() => select(source, filter, short), [source, revision, filter, roots])
  const later = isPaused === undefined ? 0 : timeline.length - isPaused.length
  const agents = useMemo(() => [...new Set(source.map(({ agent }) => agent))].sort(), [source, revision])
  const change = (part: Partial<Filter>) => onFilter({ ...filter, ...part })

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
            onChange=${(event: Event) => change({ kind: (event.target as HTMLSelectElement).value as Kind | '' })}
          >
            <option value="">all</option>
            ${kinds.map((kind) => html`<option key=${kind} value=${kind}>${kind}</option>`)}
          </select>
        </label>
        ${filter !== noFilter && html`<button type="button" class="quiet" onClick=${() => onFilter(noFilter)}>Clear</button>`}
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
          : html`<${ChangeDetail}
              key=${chosen.key}
              line=${chosen}
              now=${now}
              short=${short}
              onUndo=${onUndo}
              onChangeSet=${(changeSet: string) => onFilter({ ...noFilter, changeSet })}
              latest=${timeline.findLast(({ path }) => path === chosen.path)?.key}
            />`
      }
    </section>
  </div>`
}

/** As far as the filter names something as a whole. */
function toChoice({ agent, path, changeSet }: Filter, agents: readonly string[]): Choice {
  return {
    by_agent: agents.includes(agent) ? agent : undefined,
    of_change_set: changeSet === '' ? undefined : changeSet,
    paths: /[*?]/.test(path) ? [path] : undefined
  }
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
  { agent, path, changeSet, kind }: Filter,
  short: (path: string) => string
): Happening[] {
  const matches = matcherOf(path)
  const [who, task] = [agent, changeSet].map((text) => text.trim().toLowerCase()) as [string, string]
  const found: Happening[] = []
  for (let index = timeline.length - 1; index >= 0; index -= 1) {
    const line = timeline[index] as Happening
    if (kind !== '' && line.kind !== kind) continue
    if (who !== '' && !line.agent.toLowerCase().includes(who)) continue
    if (task !== '' && line.changeSet?.toLowerCase().includes(task) !== true) continue
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

/** What else is in the line with the path, beside the time, in pixels. */
const takenInLine = 100

function Row(props: { line: Happening; text: string; now: number; short: (path: string) => string }): VNode {
  const { line, text, now, short } = props
  const { kind, path, agent, at, what, hash, previousHash, changeSet } = line
  const lines = typeof hash === 'string' && typeof previousHash === 'string' ? knownLines(path, previousHash, hash) : ''
  return html`<div class="two-lines">
    <div>
      <span class=${`kind ${kind}`}>${kind}</span>
      <${Path} path=${path === '' ? what : short(path)} text=${text} />
      <time class="right" datetime=${new Date(at).toISOString()} title=${exactTime(at)}>${momentTime(at, now)}</time>
    </div>
    <div class="dim">
      <span class="ellipsis"><${Name} name=${agent} />, ${what}${changeSet !== undefined && `, in ${changeSet}`}</span>
      <span class="right">${lines}</span>
    </div>
  </div>`
}
