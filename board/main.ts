// The page at /board: its frame, its five views, and what connects them.
import { render, type VNode } from 'preact'
import { useEffect, useMemo, useState } from 'preact/hooks'
import { AttentionView } from './attention/attention-view.ts'
import { BurnsView } from './burns-view.ts'
import { formatAddress, type OnHistory } from './address.ts'
import { go, useAddress } from './use-address.ts'
import { ChangesView } from './changes-view.ts'
import { Finder, useFinder } from './finder.ts'
import { html } from './html.ts'
import { LandView } from './land/land-view.ts'
import { createMeter } from './meter.ts'
import { knowNames } from './names.ts'
import { NowView } from './now-view.ts'
import { ReplayView } from './replay/replay-view.ts'
import { hasToken, setToken } from './server.ts'
import { createStore, type State } from './store.ts'
import type { Choice, OnUndo } from './undo/choice.ts'
import { UndoDialog } from './undo/undo-dialog.ts'
import type { Connection } from './stream.ts'

const store = createStore()
const meter = createMeter()

const tabs = [
  { id: 'now', name: 'Now' },
  { id: 'changes', name: 'Changes' },
  { id: 'replay', name: 'Replay' },
  { id: 'land', name: 'Land' },
  { id: 'burns', name: 'Where it burns' }
] as const
type Tab = (typeof tabs)[number]['id']

function App(): VNode {
  const state = useLatest()
  const { view: tab, query } = useAddress<Tab>(['now', ...tabs.map(({ id }) => id)])
  const [undoing, setUndoing] = useState<Undoing>()
  const [isFinding, find] = useFinder()
  useList(tab === 'now')
  const agents = useMemo(() => namesIn(state), [state.locks, state.activity, state.revision])
  knowNames(agents)
  const onUndo = leadToDialog(setUndoing)
  const views = {
    now: () =>
      html`<${NowView} state=${state} store=${store} query=${query} onHistory=${onHistory} onUndo=${onUndo} />`,
    changes: () => html`<${ChangesView} state=${state} store=${store} query=${query} onUndo=${onUndo} />`,
    replay: () => html`<${ReplayView} query=${query} root=${state.roots[0]} timeline=${state.timeline} />`,
    land: () => html`<${LandView} name=${query['agent']} />`,
    burns: () => html`<${BurnsView} roots=${state.roots} meter=${meter} query=${query} onHistory=${onHistory} />`
  }
  const isShut = state.connection === 'refused'
  return html`<header>
      <h1>${titleOf(state)}</h1>
      <nav aria-label="Views">
        ${tabs.map(({ id, name }) => html`<a key=${id} href=${`#${id}`} aria-current=${id === tab ? 'page' : undefined}>${name}</a>`)}
      </nav>
      <button type="button" class="quiet" aria-keyshortcuts="/" onClick=${() => find(true)}>Find <kbd>/</kbd></button>
      <${Figures} state=${state} />
      <${ConnectionSign} state=${state} />
    </header>
    ${state.isLoaded && !isShut && html`<${AttentionView} state=${state} store=${store} onUndo=${onUndo} />`}
    <main>
      ${
        isShut
          ? html`<${TokenForm} message=${hasToken() ? state.connectionMessage : ''} />`
          : !state.isLoaded
            ? html`<div class="empty"><p>Connecting to the server…</p></div>`
            : views[tab]()
      }
    </main>
    ${isFinding && !isShut && html`<${Finder} agents=${agents} root=${state.roots[0]} onEnd=${() => find(false)} />`}
    ${
      undoing !== undefined &&
      html`<${UndoDialog} ...${undoing} agents=${agents} onEnd=${() => setUndoing(undefined)} />`
    }`
}

interface Undoing {
  readonly choice: Choice
  readonly isRedo: boolean
}

/** Those who are there, and those who have changed something. */
function namesIn({ activity, locks, timeline }: State): readonly string[] {
  const names = new Set(timeline.map(({ agent }) => agent))
  for (const { agent_id } of activity?.agents ?? []) names.add(agent_id)
  const add = ({ agent_id }: { readonly agent_id: string | null }) => agent_id !== null && names.add(agent_id)
  // Ten thousand files several times a second: without a list for each.
  for (const { holders, pending_requests } of locks?.files ?? []) {
    holders.forEach(add)
    pending_requests.forEach(add)
  }
  return [...names].sort()
}

function useLatest(): State {
  const [state, setState] = useState(store.get())
  useEffect(() => store.subscribe(() => setState(store.get())), [])
  return state
}

function useList(isShown: boolean): void {
  useEffect(() => store.showList(isShown), [isShown])
}

const onHistory: OnHistory = (filter) => go(formatAddress('changes', filter))

/** Knows nothing else of the page: parts of it keep it for long. */
const leadToDialog =
  (setUndoing: (undoing: Undoing) => void): OnUndo =>
  (choice, isRedo = false) =>
    setUndoing({ choice, isRedo })

function titleOf({ roots }: State): VNode {
  const [first] = roots
  if (first === undefined) return html`<span>Board</span>`
  const name = first.slice(first.lastIndexOf('/') + 1)
  return html`<bdi title=${roots.join('\n')}>${name}${roots.length > 1 ? ` +${roots.length - 1}` : ''}</bdi>`
}

function Figures({ state: { locks } }: { state: State }): VNode | null {
  if (locks === undefined) return null
  const { leases, waiting } = locks.counts
  return html`<p class="figures">
    <span><b>${leases}</b> ${leases === 1 ? 'lease' : 'leases'}</span>
    <span class=${waiting > 0 ? 'some' : ''}><b>${waiting}</b> waiting</span>
  </p>`
}

const signs: Record<Connection, string> = {
  connecting: 'Connecting…',
  live: 'Live',
  lost: 'Connection lost, trying again…',
  refused: 'Token needed',
  full: 'Too many boards are open, trying again…'
}

function ConnectionSign({ state: { connection, connectionMessage, missed } }: { state: State }): VNode {
  const more = missed && connection === 'live' ? ', some events were missed' : ''
  return html`<p class=${`connection is-${connection}`} role="status" title=${connectionMessage}>
    <span class="dot" aria-hidden="true"></span>${signs[connection]}${more}
  </p>`
}

function TokenForm({ message }: { message: string }): VNode {
  const [token, type] = useState('')
  function enter(event: Event): void {
    event.preventDefault()
    setToken(token.trim())
    store.connect()
  }
  return html`<form class="token" onSubmit=${enter}>
    <h2>This server asks for its token</h2>
    <p>
      It is the one in <code>ASYNC_CRUD_MCP_DAEMON__TOKEN</code> or <code>daemon.token</code>. This tab keeps it until
      it is closed; nothing else does.
    </p>
    ${message !== '' && html`<p class="trouble" role="alert">${message}</p>`}
    <label
      >Token
      <input
        type="password"
        name="token"
        autocomplete="off"
        autofocus
        required
        value=${token}
        onInput=${(event: Event) => type((event.target as HTMLInputElement).value)}
    /></label>
    <button type="submit" class="primary">Show the board</button>
  </form>`
}

store.subscribe(() => {
  if (store.get().connection === 'live') meter.start()
})
render(html`<${App} />`, document.body)
store.connect()
