// Land: what each agent's part of the uncommitted work is, as the commit that it would be, and the button that makes it.
import { someOf } from '../../src/support/cut-text.ts'
import type { VNode } from 'preact'
import { useState } from 'preact/hooks'
import { formatAddress } from '../address.ts'
import { Detail } from '../detail.ts'
import { go } from '../use-address.ts'
import { html } from '../html.ts'
import { List } from '../list.ts'
import { Name, Path } from '../parts.ts'
import { useAnswer } from '../use-answer.ts'
import { LandDetail } from './land-detail.ts'
import { planOfAll, type Share } from './plan.ts'

/** @param name of the chosen agent */
export function LandView({ name }: { name: string | undefined }): VNode {
  const [round, setRound] = useState(0)
  const { answer, trouble } = useAnswer(planOfAll, String(round))
  const shares = answer?.plan ?? []
  const share = shares.find(({ agent_id }) => agent_id === name)
  const filtered = answer?.left_out.filter((one) => !answer.refused.includes(one)).length ?? 0
  const lookAgain = () => setRound(round + 1)
  return html`<div class="changes">
    <section class="panel" aria-labelledby="land-title">
      <div class="filters">
        <h2 id="land-title">To be committed <span class="count">${answer === undefined ? '' : shares.length}</span></h2>
        <button type="button" class="quiet" onClick=${lookAgain}>Look again</button>
      </div>
      ${trouble !== '' && html`<p class="trouble aside" role="alert">${trouble}</p>`}
      <${List}
        id="shares"
        label="Agents with uncommitted changes"
        items=${shares}
        keyOf=${({ agent_id }: Share) => agent_id}
        chosen=${share?.agent_id}
        onChoose=${({ agent_id }: Share) => go(formatAddress('land', { agent: agent_id }))}
        pathIn=${({ paths: [first = ''] }: Share) => ({ path: first, taken: takenInShare })}
        row=${(each: Share, text: string) => html`<${ShareRow} share=${each} text=${text} />`}
        empty=${
          answer === undefined
            ? html`<p>
                ${trouble === '' ? 'Comparing the tree with HEAD…' : 'Without a Git repository nothing can be landed.'}
              </p>`
            : html`<p>No change that differs from HEAD has a known author.</p>`
        }
      />
      ${answer !== undefined && answer.unknown.length > 0 && html`<p class="hint aside wrap">Changes by unknown authors, to be committed with Git: ${someOf(answer.unknown, maxNamed)}</p>`}
      ${filtered > 0 && html`<p class="hint aside">${filtered} files pass a filter of Git: async-crud-mcp land takes these.</p>`}
      ${answer !== undefined && answer.refused.length > 0 && html`<p class="hint aside wrap">Names that Git takes into no commit, to be changed: ${someOf(answer.refused, maxNamed)}</p>`}
      ${answer !== undefined && answer.unreachable.length > 0 && html`<p class="hint aside wrap">Names that are not UTF-8, to be committed with Git: ${someOf(answer.unreachable, maxNamed)}</p>`}
    </section>
    <${Detail} of=${name}>
      ${
        name === undefined
          ? html`<div class="empty">
              <p>Choose an agent to see its part of the uncommitted work as a commit, and to make that commit.</p>
            </div>`
          : html`<${LandDetail} key=${`${name} ${round}`} name=${name} share=${share} onLanded=${lookAgain} />`
      }
    <//>
  </div>`
}

const maxNamed = 5

/** What else is in the line with the path, in pixels. */
const takenInShare = 170

function ShareRow({ share, text }: { share: Share; text: string }): VNode {
  const { agent_id, paths, added, removed, dependent } = share
  const on = [...new Set(dependent.map((one) => one.agent_id))]
  return html`<div class="two-lines">
    <div>
      <${Name} name=${agent_id} />
      <span class="right"><span class="plus">+${added}</span> <span class="minus">−${removed}</span></span>
    </div>
    <div class="dim">
      <${Path} path=${paths[0] ?? ''} text=${text} />
      ${paths.length > 1 && html`<span>+${paths.length - 1}</span>`}
      ${on.length > 0 && html`<span class="right on">rests on ${' '}<${Name} name=${on[0]} />${on.length > 1 ? ` +${on.length - 1}` : ''}</span>`}
    </div>
  </div>`
}
