// The finder: agents and files by a part of their names, from anywhere on the page with the key "/".
import type { VNode } from 'preact'
import { useEffect, useState } from 'preact/hooks'
import type { ReplayOutput } from '../schemas/replay.ts'
import { formatAddress } from './address.ts'
import { createTurns } from './replay/turns.ts'
import { Dialog } from './dialog.ts'
import { html } from './html.ts'
import { nameOf } from './names.ts'
import { Name, Path } from './parts.ts'
import { call } from './server.ts'
import { go } from './use-address.ts'
import { useAnswer } from './use-answer.ts'

const maxAgents = 8
const maxFiles = 20

type Hit = { readonly kind: 'agent' | 'file'; readonly name: string }

const inTurn = createTurns()

/** Opens with "/", unless something is being typed or answered. */
export function useFinder(): readonly [isOpen: boolean, open: (isOpen: boolean) => void] {
  const [isOpen, open] = useState(false)
  useEffect(() => {
    const follow = (event: KeyboardEvent) => {
      const { target, key, altKey, ctrlKey, metaKey } = event
      if (key !== '/' || altKey || ctrlKey || metaKey || isTaken(target)) return
      event.preventDefault()
      open(true)
    }
    addEventListener('keydown', follow)
    return () => removeEventListener('keydown', follow)
  }, [])
  return [isOpen, open]
}

const isTaken = (target: EventTarget | null): boolean =>
  target instanceof Element && target.closest('input:not([type="range"]), textarea, select, dialog') !== null

interface Props {
  readonly agents: readonly string[]
  readonly root: string | undefined
  readonly onEnd: () => void
}

export function Finder({ agents, root, onEnd }: Props): VNode {
  const [text, type] = useState('')
  const [place, move] = useState(0)
  const part = text.trim()
  const { answer, trouble } = useAnswer(part === '' ? undefined : askFor(part), part)
  const { answer: tree } = useAnswer(askForOthers, '')
  const paths = filesWith(answer, tree?.log?.other_files ?? [], part)
  const hits: Hit[] = part === '' ? [] : [...agentsWith(agents, part), ...paths.slice(0, maxFiles).map(toFile)]
  const more = paths.length - maxFiles + (answer?.total_files ?? 0) - (answer?.files.length ?? 0)
  const chosen = Math.min(place, hits.length - 1)

  function choose({ kind, name }: Hit): void {
    const whole = kind === 'file' && !name.startsWith('/') && root !== undefined ? `${root}/${name}` : name
    onEnd()
    go(formatAddress('now', { [kind]: whole }))
  }

  function onKeyDown(event: KeyboardEvent): void {
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key]
    if (step === undefined || hits.length === 0) return
    event.preventDefault()
    move((chosen + step + hits.length) % hits.length)
  }

  function enter(event: Event): void {
    event.preventDefault()
    const hit = hits[chosen]
    if (hit !== undefined) choose(hit)
  }

  return html`<${Dialog} title="Find an agent or a file" onEnd=${onEnd}>
    <form class="finder" onSubmit=${enter}>
      <input
        role="combobox"
        aria-label="A part of the name"
        aria-expanded=${hits.length > 0}
        aria-controls="finder-hits"
        aria-activedescendant=${hits.length > 0 ? `finder-${chosen}` : undefined}
        autocomplete="off"
        spellcheck=${false}
        autofocus
        value=${text}
        onKeyDown=${onKeyDown}
        onInput=${(event: Event) => {
          type((event.target as HTMLInputElement).value)
          move(0)
        }}
      />
      <div id="finder-hits" role="listbox" aria-label="Found">
        ${hits.map(
          (hit, index) =>
            html`<div
              key=${`${hit.kind} ${hit.name}`}
              id=${`finder-${index}`}
              class="hit"
              role="option"
              aria-selected=${index === chosen}
              onClick=${() => choose(hit)}
            >
              <span class="kind">${hit.kind}</span>
              ${hit.kind === 'agent' ? html`<${Name} name=${hit.name} />` : html`<${Path} path=${hit.name} />`}
            </div>`
        )}
      </div>
      <p class="hint" role="status">
        ${trouble !== '' ? trouble : describe(part, hits.length, answer === undefined || tree === undefined, more)}
      </p>
    </form>
  <//>`
}

function agentsWith(agents: readonly string[], part: string): Hit[] {
  const wanted = part.toLowerCase()
  return agents
    .filter((name) => name.toLowerCase().includes(wanted) || nameOf(name).toLowerCase().includes(wanted))
    .slice(0, maxAgents)
    .map((name) => ({ kind: 'agent', name }))
}

/** What is known already, until the answer for all of the text is there. */
function filesWith(answer: ReplayOutput | undefined, others: readonly string[], part: string): string[] {
  const wanted = part.toLowerCase()
  const paths = new Set([...(answer?.files ?? []).map(({ path }) => path), ...others])
  return [...paths].filter((path) => path.toLowerCase().includes(wanted))
}

const toFile = (name: string): Hit => ({ kind: 'file', name })

/** Files that the log knows, as they are now. */
const askFor = (contains: string) => (): Promise<ReplayOutput> =>
  inTurn(() => call<ReplayOutput>('replay', { contains, limit: maxFiles }))

/** Those that it does not know, once for each opening. */
const askForOthers = (): Promise<ReplayOutput> => call<ReplayOutput>('replay', { with_log: true, limit: 0 })

function describe(part: string, count: number, isLooking: boolean, more: number): string {
  if (part === '') return 'Agents, and files of the tree.'
  if (count === 0) return isLooking ? 'Looking…' : 'Nothing has this in its name.'
  return more > 0 ? `${more} more files: type more of the name.` : ''
}
