// The rows of Now: an agent, a file in use; and what their details have in common with them.
import type { VNode } from 'preact'
import { html } from './html.ts'
import type { Agent } from './agents.ts'
import type { Holder, LockedFile } from './model.ts'
import { Name, Path, Time } from './parts.ts'
import { exactTime, span } from './time.ts'

export function AgentRow({ agent, text, now }: { agent: Agent; text: string; now: number }): VNode {
  const { name, parent, seen, operation, path, holds, waits } = agent
  const state = waits.length > 0 ? 'waits' : holds.length > 0 ? 'holds' : 'idle'
  return html`<div class=${parent === undefined ? 'two-lines' : 'two-lines subagent'}>
    <div>
      <span class=${`dot ${state}`} aria-hidden="true"></span><${Name} name=${name} />
      <span class="right">${seen === undefined ? '' : html`<${Time} at=${seen} now=${now} />`}</span>
    </div>
    <div class="dim">
      <span class="ellipsis">${operation}${path !== '' && html` <${Path} path=${path} text=${text} />`}</span>
      <span class="right"
        >${counted(holds.length, 'held')}${holds.length > 0 && waits.length > 0 ? ', ' : ''}${waits.length > 0 ? html`<b>waits</b>` : ''}</span
      >
    </div>
  </div>`
}

const counted = (count: number, what: string): string => (count === 0 ? '' : `${count} ${what}`)

/** What else is in the line with the path, in pixels. */
export const takenInAgent = ({ parent, operation, holds, waits }: Agent): number =>
  (parent === undefined ? 0 : 16) +
  7.5 * (operation.length + counted(holds.length, 'held').length + (waits.length > 0 ? 'waits, '.length : 0)) +
  16
export const takenInFile = ({ pending_requests }: LockedFile): number => (pending_requests.length > 0 ? 84 : 0)

export function FileRow(props: {
  file: LockedFile
  text: string
  now: number
  short: (path: string) => string
}): VNode {
  const { file, text, now, short } = props
  const { path, holders, pending_requests } = file
  const [first] = holders
  const more = holders.length > 1 ? ` +${holders.length - 1}` : ''
  const queue = pending_requests.length
  return html`<div class="two-lines">
    <div>
      <${Path} path=${short(path)} text=${text} />
      <span class="right">${queue > 0 && html`<span class="queue">${queue} waiting</span>`}</span>
    </div>
    <div class="dim">
      <span class="ellipsis">
        ${first === undefined ? 'on its way to the next' : html`<${Name} name=${first.agent_id ?? 'without a name'} />${more}, ${describe(first)}`}
      </span>
      ${first !== undefined && html`<${Left} holder=${first} now=${now} />`}
    </div>
  </div>`
}

export function describe({ type, mode, note }: Holder): string {
  const what = type === 'lease' ? (mode === 'shared' ? 'shared lease' : 'lease') : type
  return note === undefined ? what : `${what}: ${note}`
}

/** How much of its time a lease has left, as a bar and in words. */
export function Left({ holder: { acquired_at, expires_at }, now }: { holder: Holder; now: number }): VNode | null {
  if (expires_at === null) return null
  const [start, end] = [Date.parse(acquired_at), Date.parse(expires_at)]
  const share = Math.max(0, Math.min(1, (end - now) / Math.max(1, end - start)))
  return html`<span class="right left" title=${`until ${exactTime(end)}`}>
    <span class="bar" aria-hidden="true"><span style=${{ width: `${share * 100}%` }}></span></span>
    ${span(end - now)} left
  </span>`
}
