// A file as it is now, with who made each line; and the way back of the change that made the chosen ones.
import type { VNode } from 'preact'
import { useState } from 'preact/hooks'
import type { BlameRange } from '../schemas/blame.ts'
import { BlameTable, Maker } from './blame-table.ts'
import { html } from './html.ts'
import { momentTime } from './time.ts'
import { choiceOf, type Choice } from './undo/choice.ts'
import { useAnswer } from './use-answer.ts'
import { blamedText, changeThatMade } from './versions.ts'
import { actOf } from './words.ts'

interface Props {
  readonly path: string
  /** Of its last change: it is read again when there is another. */
  readonly latest: string | undefined
  readonly now: number
  readonly short: (path: string) => string
  readonly onUndo: (choice: Choice) => void
}

export function BlameView({ path, latest, now, short, onUndo }: Props): VNode {
  const { answer, trouble } = useAnswer(() => blamedText(path), `${path} ${latest}`)
  const [chosen, choose] = useState<BlameRange>()
  const [said, say] = useState('')
  if (answer === undefined)
    return html`<p class=${trouble === '' ? 'hint' : 'trouble'} role="status">
      ${trouble === '' ? 'Asking who made each line…' : trouble}
    </p>`
  const words = trouble === '' ? said : trouble

  async function takeBack(range: BlameRange): Promise<void> {
    const change = await changeThatMade(path, range).catch(() => undefined)
    if (change === undefined) say('The change that made these lines is no longer known by itself.')
    else onUndo(choiceOf(change, short))
  }

  return html`${words !== '' && html`<p class="trouble" role="alert">${words}</p>`}
    <${BlameTable}
      label="Who made each line"
      content=${answer.content}
      ranges=${answer.blame.ranges}
      chosen=${chosen}
      onChoose=${(range: BlameRange) => choose(isSame(range, chosen) ? undefined : range)}
    />
    ${
      chosen !== undefined &&
      html`<p role="status">
          <${Maker}
            range=${chosen}
          />${describe(chosen)}${chosen.at !== undefined && `, ${momentTime(Date.parse(chosen.at), now)}`}
        </p>
        ${chosen.operation !== undefined && html`<div class="acts"><button type="button" onClick=${() => takeBack(chosen)}>Take this change back…</button></div>`}`
    }`
}

const isSame = (one: BlameRange, other: BlameRange | undefined): boolean =>
  one.start_line === other?.start_line && one.hash === other.hash

function describe({ start_line, end_line, operation, change_set, command, commit }: BlameRange): string {
  const lines = start_line === end_line ? `line ${start_line}` : `lines ${start_line}-${end_line}`
  const by = operation === undefined || operation === 'external' ? '' : `, ${actOf(operation)}`
  const why = command ?? change_set
  return `: ${lines}${by}${why === undefined ? '' : `, ${why}`}${commit === undefined ? '' : `, commit ${commit.slice(0, 10)}`}`
}
