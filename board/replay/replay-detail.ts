// The chosen file at a moment of the replay, with who had made each line; and who held and who waited.
import type { VNode } from 'preact'
import type { ReplayOutput } from '../../schemas/replay.ts'
import { BlameTable } from '../blame-table.ts'
import { Detail } from '../detail.ts'
import { html } from '../html.ts'
import { Name, Path } from '../parts.ts'
import { momentTime } from '../time.ts'

interface Props {
  readonly answer: ReplayOutput | undefined
  readonly path: string
  readonly now: number
  /** To the moment at which lines were made. */
  readonly onMade: (at: number) => void
}

const maxLocks = 200

export function ReplayDetail({ answer, path, now, onMade }: Props): VNode {
  const file = answer?.file?.path === path ? answer.file : undefined
  const locks = (answer?.locks ?? []).filter((lock) => path === '' || lock.path === path)
  return html`<${Detail} of=${path === '' ? undefined : path}>
    ${path === '' ? html`<p class="hint">Choose a file to see its text at this moment.</p>` : html`<h2 class="wrap"><${Path} path=${path} /></h2>`}
    ${answer !== undefined && html`<${Locks} answer=${answer} locks=${locks} isOfAll=${path === ''} now=${now} />`}
    ${file !== undefined && html`<${Text} file=${file} onMade=${onMade} />`}
  <//>`
}

function Text({ file, onMade }: { file: NonNullable<ReplayOutput['file']>; onMade: (at: number) => void }): VNode {
  const { exists, kept, content, ranges } = file
  if (!exists) return html`<p class="hint">It was not there at this moment.</p>`
  if (content === null)
    return html`<p class="hint">
      ${kept ? 'It is no text in the encoding of the tree.' : 'The bytes of this version are not kept.'}
    </p>`
  return html`<${BlameTable}
    label="Text at this moment"
    content=${content}
    ranges=${ranges}
    onChoose=${({ at }: { at?: string }) => at !== undefined && onMade(Date.parse(at))}
  />`
}

function Locks(props: { answer: ReplayOutput; locks: ReplayOutput['locks']; isOfAll: boolean; now: number }): VNode {
  const { answer, locks, isOfAll, now } = props
  const since = Date.parse(answer.locks_known_since)
  const isKnown = answer.change !== undefined && Date.parse(answer.change.at) >= since
  if (!isKnown)
    return html`<p class="hint">${`Who held files and who waited is known since ${momentTime(since, now)}.`}</p>`
  if (locks.length === 0) return html`<p class="hint">${isOfAll ? 'No file was held.' : 'It was free.'}</p>`
  return html`<h3>Held and waited for</h3>
    <ul class="plain">
      ${locks.slice(0, maxLocks).map(
        (lock, index) =>
          html`<li key=${index}>
            <${Name} name=${lock.agent_id ?? 'without a name'} />
            <span class="dim"
              >${`${lock.waits ? 'waited' : `held it (${lock.mode})`} since ${momentTime(Date.parse(lock.since), now)}`}</span
            >
            ${isOfAll && html`<${Path} path=${lock.path} />`}
            ${lock.note !== undefined && html`<q class="note">${lock.note}</q>`}
          </li>`
      )}
    </ul>`
}
