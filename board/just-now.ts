// What happened last: shown by Now while nothing is chosen.
import type { VNode } from 'preact'
import { html } from './html.ts'
import { Name, Path, Time } from './parts.ts'
import type { State } from './store.ts'

const shownLines = 30

export function JustNow(props: {
  state: State
  now: number
  short: (path: string) => string
  onPath: (path: string) => void
}): VNode {
  const { state, now, short, onPath } = props
  const lines = state.timeline.slice(-shownLines).reverse()
  return html`<h2>Just now</h2>
    <p class="hint">Choose an agent or a file for more: by a click, or with Tab and the arrow keys.</p>
    <ul class="plain feed">
      ${lines.map(
        ({ key, kind, path, agent, at, what }) =>
          html`<li key=${key}>
            <span class=${`kind ${kind}`}>${kind}</span>
            <span class="what">
              ${path === '' ? what : html`<button type="button" class="link" onClick=${() => onPath(short(path))}><${Path} path=${short(path)} /></button>`}
            </span>
            <span class="dim"><${Name} name=${agent} /></span>
            <span class="right"><${Time} at=${at} now=${now} /></span>
          </li>`
      )}
    </ul>`
}
