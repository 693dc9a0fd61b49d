// What narrows the timeline: an agent, a path, a change set, a kind and a time, as the address has them.
import { Component, type VNode } from 'preact'
import { formatAddress } from './address.ts'
import { foldLines, kinds, putUnder, type Happening } from './happenings.ts'
import { html } from './html.ts'
import { matcherOf } from './model.ts'
import { TimeFields, type Period } from './time-fields.ts'
import type { Choice } from './undo/choice.ts'
import { go } from './use-address.ts'

const names = ['agent', 'path', 'changeSet', 'kind', 'since', 'until'] as const
/** Empty: all. */
export type Filter = Readonly<Record<(typeof names)[number], string>>

const maxNames = 500

export const toFilter = (query: Readonly<Record<string, string>>): Filter =>
  Object.fromEntries(names.map((name) => [name, query[name] ?? ''])) as Filter

export const isNarrow = (filter: Filter): boolean => names.some((name) => filter[name] !== '')

/** @param change what else the address names: the chosen line */
export function FilterFields(props: { filter: Filter; change: string | undefined; agents: readonly string[] }): VNode {
  const { filter, change, agents } = props
  const narrow = (part: Partial<Filter>) => go(formatAddress('changes', { ...filter, change, ...part }), true)
  return html`<${TextFilter}
      label="Agent"
      value=${filter.agent}
      onText=${(agent: string) => narrow({ agent })}
      list="agent-names"
    />
    <${AgentNames} agents=${agents.slice(0, maxNames)} />
    <${TextFilter}
      label="Path"
      value=${filter.path}
      onText=${(path: string) => narrow({ path })}
      placeholder="src/**/*.ts"
    />
    <${TextFilter}
      label="Change set"
      value=${filter.changeSet}
      onText=${(changeSet: string) => narrow({ changeSet })}
    />
    <label
      >Kind
      <select
        value=${filter.kind}
        onChange=${(event: Event) => narrow({ kind: (event.target as HTMLSelectElement).value })}
      >
        <option value="">all</option>
        ${kinds.map((kind) => html`<option key=${kind} value=${kind}>${kind}</option>`)}
      </select>
    </label>
    <${TimeFields}
      period=${{ since: given(filter.since), until: given(filter.until) }}
      onPeriod=${({ since = '', until = '' }: Period) => narrow({ since, until })}
    />
    ${isNarrow(filter) && html`<button type="button" class="quiet" onClick=${() => go('#changes')}>Clear</button>`}`
}

const given = (text: string): string | undefined => (text === '' ? undefined : text)

/** What an undo takes, as far as the filter names something as a whole. */
export function toChoice({ agent, path, changeSet, since, until }: Filter, agents: readonly string[]): Choice {
  return {
    since: given(since),
    until: given(until),
    by_agent: agents.includes(agent) ? agent : undefined,
    of_change_set: given(changeSet),
    paths: /[*?]/.test(path) ? [path] : undefined
  }
}

/** The lines that fit, the latest first. */
export function select(
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
    if (path === '' || matches(short(line.path))) found.push(line)
  }
  return foldLines(putUnder(found))
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
