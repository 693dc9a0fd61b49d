// What the server has counted of one agent: its program, how often it did what, and its last calls with their outcome.
import type { VNode } from 'preact'
import { html } from './html.ts'
import type { Activity, AgentFacts } from './model.ts'
import { Path } from './parts.ts'
import { get } from './server.ts'
import { clockTime, momentTime } from './time.ts'
import { useAnswer } from './use-answer.ts'
import { actOf, counted } from './words.ts'

/** @param seen its last call: with each the server is asked anew */
export function AgentFactsView({
  name,
  seen,
  now
}: {
  name: string
  seen: number | undefined
  now: number
}): VNode | null {
  const { answer } = useAnswer(askFor(name), `${name} ${seen}`)
  const facts = answer?.agent
  if (facts === undefined) return null
  const { first_seen, transport, client, counts, calls } = facts
  return html`<h3>Since ${clockTime(Date.parse(first_seen))}</h3>
    <p class="wrap">
      <span class="dim">${client === undefined ? `over ${transport}` : `${client}, over ${transport}`}</span>
      <br />${wordsOf(counts)}
    </p>
    <h3>Last calls</h3>
    <ul class="plain">
      ${calls.map(
        ({ at, operation, path, outcome }, index) =>
          html`<li key=${`${at} ${index}`}>
            <span class=${`kind ${kindOf(outcome)}`}>${outcome}</span>
            <span class="what">${actOf(operation)}${path !== undefined && html` <${Path} path=${path} />`}</span>
            <time class="right" datetime=${at}>${momentTime(Date.parse(at), now)}</time>
          </li>`
      )}
    </ul>
    ${calls.length === 0 && html`<p class="dim">None has ended yet.</p>`}`
}

/** Knows the name alone: it is kept until the answer is there. */
const askFor = (name: string) => () => get<Activity>(`/activity?limit=0&agent_id=${encodeURIComponent(name)}`)

function wordsOf({ reads, changes, contentions, merges, refusals }: AgentFacts['counts']): string {
  const few = [counted(reads, 'read'), counted(changes, 'change'), counted(contentions, 'contention')]
  return [...few, counted(merges, 'merge'), counted(refusals, 'refusal')].join(', ')
}

/** Its colour. */
function kindOf(outcome: string): string {
  if (outcome === 'ok') return 'created'
  return outcome === 'merged' ? 'merged' : 'contention'
}
