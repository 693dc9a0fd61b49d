// What needs an operator, at the top of every view: who, what, since when, and the buttons that help. Nothing, if nothing does.
import type { VNode } from 'preact'
import { useRef, useState } from 'preact/hooks'
import { formatAddress } from '../address.ts'
import { BreakDialog } from '../break-dialog.ts'
import { html } from '../html.ts'
import { shortenerOf } from '../model.ts'
import { nameOf } from '../names.ts'
import { CopyButton, Name, Path, useNow } from '../parts.ts'
import type { State, Store } from '../store.ts'
import { clockTime, exactTime, span } from '../time.ts'
import type { OnUndo } from '../undo/choice.ts'
import { go } from '../use-address.ts'
import { findConcerns, type Concern, type Known, type Part } from './concerns.ts'

/** A longer list is no help: the worst come first. */
const maxShown = 20

type Short = (path: string) => string
type Lease = NonNullable<Concern['lease']>

export function AttentionView(props: { state: State; store: Store; onUndo: OnUndo }): VNode {
  const { state, store, onUndo } = props
  const now = useNow()
  const [breaking, setBreaking] = useState<Lease>()
  const short = shortenerOf(state.roots)
  const all = findConcerns({ ...state, ...filesOf(state), now, short })
  const concerns = all.slice(0, maxShown)
  return html`<${News} concerns=${concerns} short=${short} /> ${
      concerns.length > 0 &&
      html`<section class="panel attention" aria-labelledby="attention-title">
        <h2 id="attention-title">Needs attention <span class="count">${all.length}</span></h2>
        <ul class="plain">
          ${concerns.map((each) => html`<${Row} key=${each.key} concern=${each} now=${now} short=${short} onBreak=${setBreaking} onUndo=${onUndo} />`)}
        </ul>
        ${all.length > maxShown && html`<p class="hint">and ${all.length - maxShown} more</p>`}
      </section>`
    }
    ${breaking !== undefined && html`<${Break} lease=${breaking} short=${short} store=${store} onEnd=${() => setBreaking(undefined)} />`}`
}

function filesOf({ locks }: State): Pick<Known, 'files' | 'filesAt'> {
  return locks === undefined
    ? { files: [], filesAt: -Infinity }
    : { files: locks.files, filesAt: Date.parse(locks.timestamp) }
}

interface RowProps {
  concern: Concern
  now: number
  short: Short
  onBreak: (lease: Lease) => void
  onUndo: OnUndo
}

function Row({ concern, now, short, onBreak, onUndo }: RowProps): VNode {
  const { title, words, since, lease, message, undo, land } = concern
  return html`<li>
    <span class="kind">${title}</span>
    <span class="what">
      ${words.map((part, index) => html`<${Shown} key=${index} part=${part} short=${short} />`)}
      <span class="dim"
        >${' since '}<time datetime=${new Date(since).toISOString()} title=${exactTime(since)}>${clockTime(since)}</time
        >${`, ${span(now - since)}`}</span
      >
    </span>
    <span class="ways">
      ${message !== undefined && html`<${CopyButton} text=${() => message.text}>Copy a message for <${Name} name=${message.to} /><//>`}
      ${land !== undefined && html`<button type="button" class="quiet" onClick=${() => go(formatAddress('land', { agent: land }))}>Land its work…</button>`}
      ${undo !== undefined && html`<button type="button" class="quiet" onClick=${() => onUndo(undo)}>Take changes back…</button>`}
      ${lease !== undefined && html`<button type="button" class="quiet danger" onClick=${() => onBreak(lease)}>Break the lease…</button>`}
    </span>
  </li>`
}

/** Names and paths lead to what else is known of them. */
function Shown({ part, short }: { part: Part; short: Short }): VNode {
  if (typeof part === 'string') return html`<span>${part}</span>`
  if ('agent' in part)
    return html`<a href=${formatAddress('now', { agent: part.agent })}><${Name} name=${part.agent} /></a>`
  return html`<a href=${formatAddress('now', { file: part.path })}><${Path} path=${short(part.path)} /></a>`
}

/** Stays open though the trouble may be gone meanwhile. */
function Break(props: { lease: Lease; short: Short; store: Store; onEnd: () => void }): VNode {
  const { lease, short, store, onEnd } = props
  const end = () => {
    onEnd()
    store.refreshSoon()
  }
  return html`<${BreakDialog} path=${lease.path} shown=${short(lease.path)} leases=${lease.holders} onEnd=${end} />`
}

/** For screen readers: each trouble once, when it begins, and none of the times that go on. */
function News({ concerns, short }: { concerns: readonly Concern[]; short: Short }): VNode {
  const known = useRef<ReadonlySet<string>>(new Set())
  const said = useRef('')
  const added = concerns.filter(({ key }) => !known.current.has(key))
  known.current = new Set(concerns.map(({ key }) => key))
  if (added.length > 0) said.current = added.map((each) => textOf(each, short)).join(' ')
  return html`<p class="unseen" role="status">${said.current}</p>`
}

function textOf({ title, words }: Concern, short: Short): string {
  const texts = words.map((part) =>
    typeof part === 'string' ? part : 'agent' in part ? nameOf(part.agent) : short(part.path)
  )
  return `${title}: ${texts.join('')}.`
}
