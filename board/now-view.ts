// Now: the agents, the files in use, who waits for whom; and what is known of the chosen one.
import type { VNode } from 'preact'
import { useMemo, useState } from 'preact/hooks'
import { BreakDialog } from './break-dialog.ts'
import { html } from './html.ts'
import { List } from './list.ts'
import { listAgents, shorten, waitedForFirst, type Agent, type Holder, type LockedFile, type Waiter } from './model.ts'
import { CopyButton, Name, Path, Time, useNow } from './parts.ts'
import { curlOf } from './server.ts'
import type { State, Store } from './store.ts'
import { clockTime, exactTime, span } from './time.ts'
import { findWaits } from './wait-graph.ts'
import { WaitGraphView } from './wait-graph-view.ts'

const maxEdges = 60
const shownCircles = 3
/** A refused circle is news for so long, in milliseconds. */
const circleMs = 10 * 60_000

interface Choice {
  readonly kind: 'agent' | 'file'
  readonly name: string
}

export function NowView(props: {
  state: State
  store: Store
  onHistory: (filter: { agent?: string; path?: string }) => void
}): VNode {
  const { state, store, onHistory } = props
  const { roots } = state
  const now = useNow()
  const [choice, choose] = useState<Choice>()
  const files = state.locks?.files ?? noFiles
  const short = (path: string) => shorten(path, roots)
  const agents = useMemo(() => listAgents(files, state.activity?.agents ?? []), [state.locks, state.activity])
  const sorted = useMemo(() => waitedForFirst(files), [state.locks])
  const graph = useMemo(() => findWaits(files, maxEdges), [state.locks])
  const circles = (state.activity?.refused_circles ?? [])
    .filter(({ at }) => now - Date.parse(at) < circleMs)
    .slice(0, shownCircles)
  const agent = choice?.kind === 'agent' ? agents.find(({ name }) => name === choice.name) : undefined
  const file = choice?.kind === 'file' ? files.find(({ path }) => path === choice.name) : undefined
  const onAgent = (name: string) => choose({ kind: 'agent', name })
  const onFile = (path: string) => choose({ kind: 'file', name: path })
  const detail = {
    agent: () =>
      html`<${AgentDetail} agent=${agent} now=${now} short=${short} onFile=${onFile} onHistory=${onHistory} />`,
    file: () =>
      html`<${FileDetail}
        file=${file}
        path=${choice?.name}
        now=${now}
        short=${short}
        store=${store}
        onAgent=${onAgent}
        onHistory=${onHistory}
      />`
  }
  return html`<div class="now">
    <section class="panel" aria-labelledby="agents-title">
      <h2 id="agents-title">Agents <span class="count">${agents.length}</span></h2>
      <${List}
        id="agents"
        label="Agents"
        items=${agents}
        keyOf=${({ name }: Agent) => name}
        rowHeight=${44}
        chosen=${agent?.name}
        onChoose=${({ name }: Agent) => onAgent(name)}
        row=${(each: Agent) => html`<${AgentRow} agent=${each} now=${now} />`}
        empty=${html`<p>No agent has called yet.</p>
          <p>
            Add the server to an agent with <code>async-crud-mcp setup</code>, or give a call an <code>agent_id</code>.
          </p>`}
      />
    </section>
    <section class="panel" aria-labelledby="files-title">
      <h2 id="files-title">
        Files in use <span class="count">${state.locks?.counts.files ?? 0}</span>
        ${state.locks?.truncated === true && html`<span class="hint"> the first ${files.length} are shown</span>`}
      </h2>
      <${List}
        id="files"
        label="Files in use"
        items=${sorted}
        keyOf=${({ path }: LockedFile) => path}
        rowHeight=${44}
        chosen=${file?.path}
        onChoose=${({ path }: LockedFile) => onFile(path)}
        row=${(each: LockedFile) => html`<${FileRow} file=${each} now=${now} short=${short} />`}
        empty=${html`<p>No file is held, and no call waits.</p>
          <p>
            Single changes hold a file for a few milliseconds. An agent that calls <code>lock_try</code> keeps it here.
          </p>`}
      />
    </section>
    <section class="panel detail" aria-label="Details" aria-live="off">
      ${
        choice === undefined
          ? html`<${JustNow}
              state=${state}
              now=${now}
              short=${short}
              onPath=${(path: string) => onHistory({ path })}
            />`
          : detail[choice.kind]()
      }
    </section>
    ${
      (graph.edges.length > 0 || circles.length > 0) &&
      html`<section class="panel waits" aria-labelledby="waits-title">
        <h2 id="waits-title">Who waits for whom</h2>
        ${graph.edges.length > 0 && html`<${WaitGraphView} graph=${graph} short=${short} onAgent=${onAgent} />`}
        ${circles.map(
          ({ at, waits }, index) =>
            html`<p class="circle" key=${at + index}>
              <strong>Refused circle</strong> <${Time} at=${Date.parse(at)} now=${now} />:${' '}
              ${waits.map(
                ({ agent_id, waits_for }, step) =>
                  html`<span key=${step}><${Name} name=${agent_id} /> → <${Path} path=${short(waits_for)} /> → </span>`
              )}<${Name} name=${waits[0]?.agent_id ?? ''} />
            </p>`
        )}
      </section>`
    }
  </div>`
}

const shownLines = 30

/** What happened last, while nothing is chosen. */
function JustNow(props: {
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
            <span class="ellipsis">
              ${path === '' ? what : html`<button type="button" class="link" onClick=${() => onPath(short(path))}><${Path} path=${short(path)} /></button>`}
            </span>
            <span class="dim"><${Name} name=${agent} /></span>
            <span class="right"><${Time} at=${at} now=${now} /></span>
          </li>`
      )}
    </ul>`
}

const noFiles: readonly LockedFile[] = []

function AgentRow({ agent, now }: { agent: Agent; now: number }): VNode {
  const { name, seen, doing, holds, waits } = agent
  const state = waits.length > 0 ? 'waits' : holds.length > 0 ? 'holds' : 'idle'
  return html`<div class="two-lines">
    <div>
      <span class=${`dot ${state}`} aria-hidden="true"></span><${Name} name=${name} />
      <span class="right">${seen === undefined ? '' : html`<${Time} at=${seen} now=${now} />`}</span>
    </div>
    <div class="dim">
      <span class="ellipsis">${doing}</span>
      <span class="right"
        >${counted(holds.length, 'held')}${holds.length > 0 && waits.length > 0 ? ', ' : ''}${waits.length > 0 ? html`<b>waits</b>` : ''}</span
      >
    </div>
  </div>`
}

const counted = (count: number, what: string): string => (count === 0 ? '' : `${count} ${what}`)

function FileRow({ file, now, short }: { file: LockedFile; now: number; short: (path: string) => string }): VNode {
  const { path, holders, pending_requests } = file
  const [first] = holders
  const more = holders.length > 1 ? ` +${holders.length - 1}` : ''
  const queue = pending_requests.length
  return html`<div class="two-lines">
    <div>
      <${Path} path=${short(path)} />
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

function describe({ type, mode, note }: Holder): string {
  const what = type === 'lease' ? (mode === 'shared' ? 'shared lease' : 'lease') : type
  return note === undefined ? what : `${what}: ${note}`
}

/** How much of its time a lease has left, as a bar and in words. */
function Left({ holder: { acquired_at, expires_at }, now }: { holder: Holder; now: number }): VNode | null {
  if (expires_at === null) return null
  const [start, end] = [Date.parse(acquired_at), Date.parse(expires_at)]
  const share = Math.max(0, Math.min(1, (end - now) / Math.max(1, end - start)))
  return html`<span class="right left" title=${`until ${exactTime(end)}`}>
    <span class="bar" aria-hidden="true"><span style=${{ width: `${share * 100}%` }}></span></span>
    ${span(end - now)} left
  </span>`
}

interface AgentDetailProps {
  agent: Agent | undefined
  now: number
  short: (path: string) => string
  onFile: (path: string) => void
  onHistory: (filter: { agent?: string; path?: string }) => void
}

function AgentDetail({ agent, now, short, onFile, onHistory }: AgentDetailProps): VNode {
  if (agent === undefined) return html`<div class="empty"><p>This agent has gone.</p></div>`
  const { name, seen, doing, holds, waits } = agent
  return html`<h2><${Name} name=${name} /></h2>
    <p class="dim">
      ${seen === undefined ? 'not seen for long' : html`${doing}, <${Time} at=${seen} now=${now} /> (${clockTime(seen)})`}
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
    <div class="acts">
      <button type="button" onClick=${() => onHistory({ agent: name })}>Its changes</button>
    </div>`
}

interface FileDetailProps {
  file: LockedFile | undefined
  path: string | undefined
  now: number
  short: (path: string) => string
  store: Store
  onAgent: (name: string) => void
  onHistory: (filter: { agent?: string; path?: string }) => void
}

function FileDetail({ file, path = '', now, short, store, onAgent, onHistory }: FileDetailProps): VNode {
  const [isBreaking, setBreaking] = useState(false)
  const { holders = [], pending_requests = [] } = file ?? {}
  const leases = holders.filter(({ type }) => type === 'lease')
  const acts = html`<div class="acts">
    <button type="button" onClick=${() => onHistory({ path: short(path) })}>Changes and versions</button>
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
            <div class="line">
              <${AgentLink} name=${holder.agent_id} onAgent=${onAgent} />
              <span class="dim"
                >${`${holder.mode} ${holder.type} since ${clockTime(Date.parse(holder.acquired_at))}`}</span
              >
              <${Left} holder=${holder} now=${now} />
            </div>
            ${holder.note !== undefined && html`<q class="note">${holder.note}</q>`}
            ${holder.waits_for !== undefined && html`<div class="dim">and waits for <${Path} path=${short(holder.waits_for)} /></div>`}
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
