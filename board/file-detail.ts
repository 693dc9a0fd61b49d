// All that is known of the chosen file in use: its holders, its queue, and what can be done.
import type { VNode } from 'preact'
import { useState } from 'preact/hooks'
import { BlameView } from './blame-view.ts'
import { BreakDialog } from './break-dialog.ts'
import type { OnHistory } from './address.ts'
import { html } from './html.ts'
import type { LockedFile, Waiter } from './model.ts'
import { Left } from './now-rows.ts'
import { CopyButton, Name, Path } from './parts.ts'
import { curlOf } from './server.ts'
import type { Store } from './store.ts'
import { clockTime, span } from './time.ts'
import type { OnUndo } from './undo/choice.ts'

interface FileDetailProps {
  file: LockedFile | undefined
  path: string | undefined
  now: number
  short: (path: string) => string
  store: Store
  onAgent: (name: string) => void
  onHistory: OnHistory
  /** Of the last line of the timeline about the file. */
  latest: string | undefined
  onUndo: OnUndo
}

export function FileDetail(props: FileDetailProps): VNode {
  const { file, path = '', now, short, store, onAgent, onHistory, latest, onUndo } = props
  const [isBreaking, setBreaking] = useState(false)
  const [isBlamed, blame] = useState(false)
  const { holders = [], pending_requests = [] } = file ?? {}
  const leases = holders.filter(({ type }) => type === 'lease')
  const acts = html`<div class="acts">
    <button type="button" onClick=${() => onHistory({ path: short(path) })}>Changes and versions</button>
    <button type="button" aria-pressed=${isBlamed} onClick=${() => blame(!isBlamed)}>Who made each line</button>
    ${leases.length > 0 && html`<button type="button" class="danger" onClick=${() => setBreaking(true)}>Break the lease…</button>`}
    <${CopyButton} text=${() => curlOf('/async_status', { path })}>Copy as curl<//>
  </div>`
  return html`<h2 class="wrap"><${Path} path=${short(path)} /></h2>
    ${file === undefined && html`<p class="dim">It is free: no holder, no waiter.</p>`}
    ${holders.length > 0 && html`<h3>Held by</h3>`}
    <ul class="plain">
      ${holders.slice(0, 50).map(
        (holder, index) =>
          html`<li key=${index}>
            <${AgentLink} name=${holder.agent_id} onAgent=${onAgent} />
            <span class="dim"
              >${`${holder.mode} ${holder.type} since ${clockTime(Date.parse(holder.acquired_at))}`}</span
            >
            <${Left} holder=${holder} now=${now} />
            ${holder.note !== undefined && html`<q class="note">${holder.note}</q>`}
            ${holder.waits_for !== undefined && html`<div class="dim on-its-own">and waits for <${Path} path=${short(holder.waits_for)} /></div>`}
          </li>`
      )}
    </ul>
    ${pending_requests.length > 0 && html`<h3>In the queue</h3>`}
    <ol class="queue-list">
      ${pending_requests.slice(0, 100).map((waiter, index) => {
        return html`<li key=${`${waiter.agent_id} ${waiter.queued_at} ${index}`}>
          <${AgentLink} name=${waiter.agent_id} onAgent=${onAgent} />
          <span class="dim">${describeWait(waiter, now)}</span>
          ${waiter.note !== undefined && html`<q class="note">${waiter.note}</q>`}
        </li>`
      })}
    </ol>
    ${pending_requests.length > 100 && html`<p class="hint">and ${pending_requests.length - 100} more</p>`} ${acts}
    ${isBlamed && html`<${BlameView} key=${path} path=${path} latest=${latest} now=${now} short=${short} onUndo=${onUndo} />`}
    ${
      isBreaking &&
      html`<${BreakDialog}
        path=${path}
        shown=${short(path)}
        leases=${leases}
        onEnd=${() => {
          setBreaking(false)
          store.refreshSoon()
        }}
      />`
    }`
}

function describeWait({ type, mode, queued_at, timeout_at, parked }: Waiter, now: number): string {
  const since = Date.parse(queued_at)
  const left = span(Date.parse(timeout_at) - now)
  const end = parked === true ? `its place is kept for ${left}` : `gives up in ${left}`
  return `${type} (${mode}), waits for ${span(now - since)} since ${clockTime(since)}, ${end}`
}

function AgentLink({ name, onAgent }: { name: string | null; onAgent: (name: string) => void }): VNode {
  if (name === null) return html`<span>without a name</span>`
  return html`<button type="button" class="link" onClick=${() => onAgent(name)}><${Name} name=${name} /></button>`
}
