// All that is known of the chosen agent: what it is, waits for, holds, and has done.
import type { VNode } from 'preact'
import { html } from './html.ts'
import { AgentFactsView } from './agent-facts.ts'
import type { Agent } from './agents.ts'
import { describe, Left } from './now-rows.ts'
import { formatAddress, type OnHistory } from './address.ts'
import { Name, Path, Time } from './parts.ts'
import { clockTime, span } from './time.ts'
import { lastMinutes } from './time-fields.ts'
import type { OnUndo } from './undo/choice.ts'
import { go } from './use-address.ts'

interface AgentDetailProps {
  agent: Agent | undefined
  now: number
  short: (path: string) => string
  onFile: (path: string) => void
  onHistory: OnHistory
  /** The last task or transaction of which it has changed something. */
  task: string | undefined
  onUndo: OnUndo
}

export function AgentDetail({ agent, now, short, onFile, onHistory, task, onUndo }: AgentDetailProps): VNode {
  if (agent === undefined) return html`<div class="empty"><p>This agent has gone.</p></div>`
  const { name, seen, operation, path, holds, waits } = agent
  return html`<h2 class="wrap"><${Name} name=${name} isWhole /></h2>
    <p class="dim wrap">
      ${seen === undefined ? 'not seen for long' : html`${operation}${path !== '' && html` <${Path} path=${path} />`}, <${Time} at=${seen} now=${now} /> (${clockTime(seen)})`}
    </p>
    ${
      waits.length > 0 &&
      html`<h3>Waits for</h3>
        <ul class="plain">
          ${waits.map(
            ({ path, position, waiter }) =>
              html`<li key=${path}>
                <button type="button" class="link" onClick=${() => onFile(path)}>
                  <${Path} path=${short(path)} />
                </button>
                <span class="dim"
                  >${`position ${position}, for ${span(now - Date.parse(waiter.queued_at))}, gives up in ${span(Date.parse(waiter.timeout_at) - now)}`}</span
                >
              </li>`
          )}
        </ul>`
    }
    <h3>Holds</h3>
    ${holds.length === 0 && html`<p class="dim">Nothing at the moment.</p>`}
    <ul class="plain">
      ${holds.slice(0, 200).map(
        ({ path, holder }) =>
          html`<li key=${path}>
            <button type="button" class="link" onClick=${() => onFile(path)}><${Path} path=${short(path)} /></button>
            <span class="dim">${describe(holder)}</span>
            <${Left} holder=${holder} now=${now} />
          </li>`
      )}
    </ul>
    ${holds.length > 200 && html`<p class="hint">and ${holds.length - 200} more</p>`}
    <${AgentFactsView} key=${name} name=${name} seen=${seen} now=${now} />
    <div class="acts">
      <button type="button" onClick=${() => onHistory({ agent: name, ...lastMinutes(10) })}>
        Its last ten minutes
      </button>
      <button type="button" onClick=${() => onHistory({ agent: name })}>Its changes</button>
      <button type="button" onClick=${() => go(formatAddress('land', { agent: name }))}>Its uncommitted work</button>
      ${task !== undefined && html`<button type="button" onClick=${() => onUndo({ by_agent: name, of_change_set: task })}>Take its last task back…</button>`}
      <button type="button" onClick=${() => onUndo({ by_agent: name })}>Take changes back…</button>
    </div>`
}
