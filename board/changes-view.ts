// Changes: the timeline, narrowed by the filter of the address; and all about the chosen line.
import type { VNode } from 'preact'
import { useMemo, useState } from 'preact/hooks'
import { formatAddress } from './address.ts'
import { ChangeDetail } from './change-detail.ts'
import { FilterFields, isNarrow, select, toChoice, toFilter } from './changes-filter.ts'
import { Detail } from './detail.ts'
import { fromHistory, partsOf, summaryOf, type Happening } from './happenings.ts'
import { html } from './html.ts'
import { List } from './list.ts'
import { shortenerOf } from './model.ts'
import { Name, Path, useNow } from './parts.ts'
import type { State, Store } from './store.ts'
import { exactTime, momentTime } from './time.ts'
import type { OnUndo } from './undo/choice.ts'
import { go } from './use-address.ts'
import { useAnswer } from './use-answer.ts'
import { knownLines, linesOf, versionsOf } from './versions.ts'

interface Props {
  readonly state: State
  readonly store: Store
  /** The filter, and the key of the chosen line. */
  readonly query: Readonly<Record<string, string>>
  readonly onUndo: OnUndo
}

export function ChangesView({ state, store, query, onUndo }: Props): VNode {
  const { roots, timeline, revision } = state
  const now = useNow()
  const filter = toFilter(query)
  const [isPaused, pause] = useState<readonly Happening[]>()
  const [, redraw] = useState(0)
  const short = shortenerOf(roots)
  const source = isPaused ?? timeline
  const lines = useMemo(() => select(source, filter, short), [source, revision, JSON.stringify(filter), roots])
  const chosen = useChosen(query['change'], { timeline: source, lines, root: roots[0] })
  const later = isPaused === undefined ? 0 : timeline.length - isPaused.length
  const agents = useMemo(() => [...new Set(source.map(({ agent }) => agent))].sort(), [source, revision])
  const choose = ({ key }: Happening) => go(formatAddress('changes', { ...filter, change: key }), true)

  return html`<div class="changes">
    <section class="panel" aria-labelledby="timeline-title">
      <div class="filters" role="search" aria-label="Narrow the timeline">
        <h2 id="timeline-title">Timeline <span class="count">${lines.length}</span></h2>
        <${FilterFields} filter=${filter} change=${query['change']} agents=${agents} />
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
      ${lines.length > 0 && html`<p class="hint summary">${summaryOf(lines)}</p>`}
      <${List}
        id="timeline"
        label="Timeline, the latest first"
        items=${lines}
        keyOf=${({ key }: Happening) => key}
        chosen=${chosen?.key}
        onChoose=${choose}
        onRest=${(shown: readonly Happening[]) => askForLines(shown, () => redraw((count) => count + 1))}
        pathIn=${({ path, what, at }: Happening) => ({ path: path === '' ? what : short(path), taken: takenInLine + 7 * momentTime(at, now).length })}
        row=${(each: Happening, text: string) => html`<${Row} line=${each} text=${text} now=${now} short=${short} />`}
        empty=${
          !isNarrow(filter) || timeline.length === 0
            ? html`<p>Nothing has changed since the server looks.</p>
                <p>Change a file, through an agent or by hand, and it shows up here within a second.</p>`
            : html`<p>Nothing fits. <b>Clear</b> the filter, or use a wider one, such as <code>**</code>.</p>`
        }
      />
      ${state.hasOlder && isPaused === undefined && html`<${Older} store=${store} />`}
    </section>
    <${Detail} of=${chosen?.key}>
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
    <//>
  </div>`
}

function Older({ store }: { store: Store }): VNode {
  const [isAsked, ask] = useState(false)
  const end = () => ask(false)
  const load = () => {
    ask(true)
    store.loadOlder().then(end, end)
  }
  return html`<p class="foot">
    <button type="button" class="link dim" disabled=${isAsked} onClick=${load}>Show older changes</button>
  </p>`
}

interface Known {
  readonly timeline: readonly Happening[]
  readonly lines: readonly Happening[]
  readonly root: string | undefined
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

/** Knows nothing else of the page, which an effect would keep. */
const askForOf =
  ({ at, path }: { at: string; path: string }, root: string | undefined) =>
  async (): Promise<Happening | undefined> => {
    const version = (await versionsOf(path)).find((each) => each.at === at)
    return version && fromHistory(version, (each) => (each.startsWith('/') ? each : `${root}/${each}`))
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
