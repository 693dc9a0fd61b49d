// What one agent would land: the files as they would be committed, what stands in the way, and the button.
import type { VNode } from 'preact'
import { useState } from 'preact/hooks'
import { DiffView } from '../diff-view.ts'
import { html } from '../html.ts'
import { nameOf } from '../names.ts'
import { CopyButton, Name, Path } from '../parts.ts'
import { curlOf } from '../server.ts'
import { countLines, parseUnified } from '../unified.ts'
import { useAnswer } from '../use-answer.ts'
import { counted } from '../words.ts'
import { land, planLanding, type LandChoice, type Landing, type Share } from './plan.ts'

interface Props {
  readonly name: string
  /** Undefined if nothing of the agent is left to be committed. */
  readonly share: Share | undefined
  readonly onLanded: () => void
}

const maxFiles = 200

export function LandDetail({ name, share, onLanded }: Props): VNode {
  const [others, takeAlong] = useState<readonly string[]>([])
  const [terms, setTerms] = useState({ include_uncertain: false, include_overwritten: false })
  const [message, setMessage] = useState('')
  const [isSent, setSent] = useState(false)
  const [said, say] = useState('')
  const choice: LandChoice = { agent: name, ...(others.length > 0 && { with: others }), ...terms }
  const whole: LandChoice = { ...choice, ...(message.trim() !== '' && { message }) }
  const { answer: plan, trouble } = useAnswer(() => planLanding(choice), JSON.stringify(choice))

  async function send(): Promise<void> {
    setSent(true)
    try {
      const { status, commit = '', branch, message: why = '' } = await land(whole)
      say(status === 'ok' ? `Committed as ${commit.slice(0, 10)}${branch === null ? '' : ` on ${branch}`}.` : why)
      if (status === 'ok') onLanded()
    } catch (error) {
      say((error as Error).message)
    }
    setSent(false)
  }

  const rests = [...new Set([...(share?.dependent ?? []), ...(plan?.dependent ?? [])].map(({ agent_id }) => agent_id))]
  const box = (term: keyof typeof terms, words: string) =>
    html`<label class="term">
      <input
        type="checkbox"
        checked=${terms[term]}
        onChange=${() => setTerms({ ...terms, [term]: !terms[term] })}
      />${words}
    </label>`
  return html`<h2 class="wrap"><${Name} name=${name} isWhole /></h2>
    <p role="status">${describe(plan, said)}</p>
    ${trouble !== '' && html`<p class="trouble" role="alert">${trouble}</p>`}
    ${plan !== undefined && html`<${InTheWay} plan=${plan} />`}
    ${rests
      .filter((other) => other !== 'unknown')
      .map(
        (other) =>
          html`<label class="term" key=${other}>
            <input
              type="checkbox"
              checked=${others.includes(other)}
              onChange=${() => takeAlong(others.includes(other) ? others.filter((one) => one !== other) : [...others, other])}
            />Take the changes of ${nameOf(other)} along.
          </label>`
      )}
    ${(rests.length > 0 || terms.include_overwritten) && box('include_overwritten', 'Land lines that others have replaced since, as if they had not.')}
    ${((plan?.uncertain.length ?? 0) + (plan?.forgotten.length ?? 0) > 0 || terms.include_uncertain) && box('include_uncertain', 'Take changes, too, that may be of another.')}
    <label class="message"
      >Message
      <textarea
        rows="2"
        placeholder="The agent and its files"
        value=${message}
        onInput=${(event: Event) => setMessage((event.target as HTMLTextAreaElement).value)}
      ></textarea>
    </label>
    <div class="acts">
      <button type="button" class="primary" disabled=${isSent || plan?.status !== 'ok'} onClick=${send}>
        Land${plan === undefined ? '' : ` ${counted(plan.paths.length, 'file')}`}
      </button>
      <${CopyButton} text=${() => curlOf('/land', whole)}>Copy as curl<//>
    </div>
    ${plan?.diffs?.slice(0, maxFiles).map((file) => html`<${LandedFile} key=${file.path} ...${file} />`)}
    ${(plan?.diffs?.length ?? 0) > maxFiles && html`<p class="hint">and ${(plan?.diffs?.length ?? 0) - maxFiles} more files</p>`}`
}

function describe(plan: Landing | undefined, said: string): string {
  if (said !== '') return said
  if (plan === undefined) return 'Looking at what would be committed…'
  if (plan.status !== 'ok') return plan.message ?? ''
  const { taken_along: along } = plan
  const more = along.length === 0 ? '' : ` With these tasks of its own on which they rest: ${along.join(', ')}.`
  return `${counted(plan.paths.length, 'file')}, as they would be committed. The working tree stays as it is.${more}`
}

function InTheWay({
  plan: { dependent, uncertain, forgotten, left_out, refused, unreachable }
}: {
  plan: Landing
}): VNode {
  const onOthers = dependent.map((one) => ({ ...one, agents: [one.agent_id] }))
  const filtered = left_out.filter((name) => !refused.includes(name))
  return html`<${Places} title="Rests on others" places=${onOthers} />
    <${Places} title="Not taken, since it is forgotten who made them" places=${forgotten} />
    ${uncertain.length > 0 && html`<p class="dim wrap">Not taken, since another may have made them: changes of ${uncertain.join(', ')}</p>`}
    ${filtered.length > 0 && html`<p class="dim wrap">Not taken, since a filter of Git makes them: ${filtered.join(', ')}</p>`}
    ${refused.length > 0 && html`<p class="dim wrap">Not taken, since Git takes no such name into a commit: ${refused.join(', ')}</p>`}
    ${unreachable.length > 0 && html`<p class="dim wrap">Not taken, since the names are not UTF-8: ${unreachable.join(', ')}</p>`}`
}

interface PlacesProps {
  readonly title: string
  readonly places: Landing['forgotten']
}

const maxPlaces = 50

function Places({ title, places }: PlacesProps): VNode | null {
  if (places.length === 0) return null
  return html`<h3>${title} (${places.length})</h3>
    <ul class="plain">
      ${places.slice(0, maxPlaces).map(
        ({ path, start_line, end_line, agents }, index) =>
          html`<li key=${index}>
            <${Path} path=${path} />
            <span class="dim"
              >${start_line === undefined ? 'the whole file' : start_line === end_line ? `line ${start_line}` : `lines ${start_line}-${end_line}`}</span
            >
            ${agents.map((agent) => html`<${Name} key=${agent} name=${agent} />`)}
          </li>`
      )}
    </ul>
    ${places.length > maxPlaces && html`<p class="hint">and ${places.length - maxPlaces} more</p>`}`
}

function LandedFile({ path, diff }: NonNullable<Landing['diffs']>[number]): VNode {
  if (diff === null)
    return html`<div class="planned"><${Path} path=${path} /><span class="dim">no difference to show</span></div>`
  const hunks = parseUnified(diff.content ?? '')
  const { added, removed } = countLines(hunks)
  return html`<details open>
    <summary class="planned">
      <${Path} path=${path} />
      <span class="counts"><span class="plus">+${added}</span><span class="minus">−${removed}</span></span>
    </summary>
    <${DiffView} hunks=${hunks} isSplit=${false} of=${path} />
  </details>`
}
