// The files of the tree at a moment of the replay.
import type { VNode } from 'preact'
import { html } from '../html.ts'
import { List } from '../list.ts'
import { nameOf } from '../names.ts'
import { Name, Path } from '../parts.ts'
import { momentTime } from '../time.ts'
import type { Row } from './moments.ts'

interface Props {
  readonly rows: readonly Row[]
  /** How many more there are than were asked for. */
  readonly more: number
  readonly contains: string
  readonly chosen: string
  readonly now: number
  readonly onContains: (text: string) => void
  readonly onChoose: (path: string) => void
}

export function ReplayFiles({ rows, more, contains, chosen, now, onContains, onChoose }: Props): VNode {
  return html`<section class="panel" aria-labelledby="replay-files-title">
    <div class="filters" role="search" aria-label="Narrow the files">
      <h2 id="replay-files-title">Files <span class="count">${rows.length + more}</span></h2>
      <label
        >Path
        <input
          value=${contains}
          placeholder="all"
          spellcheck=${false}
          onInput=${(event: Event) => onContains((event.target as HTMLInputElement).value)}
        />
      </label>
    </div>
    <${List}
      id="replay-files"
      label="Files at this moment"
      items=${rows}
      keyOf=${({ path }: Row) => path}
      chosen=${chosen === '' ? undefined : chosen}
      onChoose=${({ path }: Row) => onChoose(path)}
      pathIn=${(row: Row) => ({ path: row.path, taken: row.isChanged ? 80 : 8 })}
      row=${(row: Row, text: string) => html`<${FileRow} row=${row} text=${text} now=${now} />`}
      empty=${html`<p>${contains === '' ? 'No file is known at this moment.' : 'No path has this in it.'}</p>`}
    />
    ${more > 0 && html`<p class="hint">${more} more files are not listed; a part of the path narrows them.</p>`}
  </section>`
}

function FileRow({ row: { path, file, isChanged, locks }, text, now }: { row: Row; text: string; now: number }): VNode {
  const held = locks.filter(({ waits }) => !waits).map(({ agent_id }) => nameOf(agent_id ?? 'without a name'))
  const waiting = locks.length - held.length
  const isGrey = file !== undefined && !file.kept && file.link === undefined
  return html`<div class=${isGrey ? 'two-lines is-unknown' : 'two-lines'}>
    <div>
      <${Path} path=${path} text=${text} />
      ${isChanged && html`<span class="right kind merged">changed</span>`}
    </div>
    <div class="dim">
      <span class="ellipsis"><${Maker} file=${file} now=${now} /></span>
      <span class="right"
        >${held.length > 0 ? `held by ${held.join(', ')}` : ''}${waiting > 0 ? `${held.length > 0 ? ', ' : ''}${waiting} waiting` : ''}</span
      >
    </div>
  </div>`
}

function Maker({ file, now }: { file: Row['file']; now: number }): VNode {
  if (file === undefined) return html`<span>unchanged all the time</span>`
  const { agent_id, at, link, kept, seen_later } = file
  const rest = link !== undefined ? `, a link to ${link}` : kept ? '' : ', its text is not kept'
  if (agent_id === undefined || at === undefined)
    return html`<span>${`${seen_later === true ? 'as it was when first looked at' : 'there before'}${rest}`}</span>`
  return html`<span><${Name} name=${agent_id} />${`, ${momentTime(Date.parse(at), now)}${rest}`}</span>`
}
