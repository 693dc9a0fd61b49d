// A file as it is now, with who made each line; and the way back of the change that made the chosen ones.
import type { VNode } from 'preact'
import { useState } from 'preact/hooks'
import type { BlameRange } from '../schemas/blame.ts'
import { shortened } from '../src/support/cut-text.ts'
import { html } from './html.ts'
import { Name, Time } from './parts.ts'
import { choiceOf, type Choice } from './undo/choice.ts'
import { useAnswer } from './use-answer.ts'
import { blamedText, changeThatMade } from './versions.ts'

interface Props {
  readonly path: string
  /** Of its last change: it is read again when there is another. */
  readonly latest: string | undefined
  readonly now: number
  readonly short: (path: string) => string
  readonly onUndo: (choice: Choice) => void
}

/** Of a longer file the beginning is drawn. */
const maxLines = 2000
const maxLineLength = 2000

export function BlameView({ path, latest, now, short, onUndo }: Props): VNode {
  const { answer, trouble } = useAnswer(() => blamedText(path), `${path} ${latest}`)
  const [chosen, choose] = useState<BlameRange>()
  const [said, say] = useState('')
  if (answer === undefined)
    return html`<p class=${trouble === '' ? 'hint' : 'trouble'} role="status">
      ${trouble === '' ? 'Asking who made each line…' : trouble}
    </p>`
  const lines = answer.content.split(/\r\n|\r|\n/)
  const shown = answer.blame.ranges.filter(({ start_line }) => start_line <= maxLines)
  const words = trouble === '' ? said : trouble

  async function takeBack(range: BlameRange): Promise<void> {
    const change = await changeThatMade(path, range).catch(() => undefined)
    if (change === undefined) say('The change that made these lines is no longer known by itself.')
    else onUndo(choiceOf(change, short))
  }

  return html`${words !== '' && html`<p class="trouble" role="alert">${words}</p>`}
    <div class="diff-box" tabindex="0" role="region" aria-label="Who made each line">
      <table class="diff blame">
        ${shown.map((range) => {
          const isChosen = chosen?.start_line === range.start_line && chosen.hash === range.hash
          const texts = lines.slice(range.start_line - 1, Math.min(range.end_line, maxLines))
          return html`<tbody key=${range.start_line} class=${isChosen ? 'is-chosen' : ''}>
            ${texts.map(
              (text, index) =>
                html`<tr key=${index}>
                  ${
                    index === 0 &&
                    html`<th scope="rowgroup" rowspan=${texts.length}>
                      <button
                        type="button"
                        class="link"
                        aria-pressed=${isChosen}
                        onClick=${() => choose(isChosen ? undefined : range)}
                      >
                        <${Maker} range=${range} />
                      </button>
                    </th>`
                  }
                  <td class="number">${range.start_line + index}</td>
                  <td class="code">${shortened(text, maxLineLength, '…')}</td>
                </tr>`
            )}
          </tbody>`
        })}
      </table>
    </div>
    ${lines.length > maxLines && html`<p class="hint">${lines.length - maxLines} more lines are not drawn.</p>`}
    ${
      chosen !== undefined &&
      html`<p role="status">
          <${Maker}
            range=${chosen}
          />${describe(chosen)}${chosen.at !== undefined && html`, <${Time} at=${Date.parse(chosen.at)} now=${now} />`}
        </p>
        ${chosen.operation !== undefined && html`<div class="acts"><button type="button" onClick=${() => takeBack(chosen)}>Take this change back…</button></div>`}`
    }`
}

function Maker({ range: { agent_id, author, is_known } }: { range: BlameRange }): VNode {
  if (agent_id !== null) return html`<${Name} name=${agent_id} />`
  return html`<span class="dim">${author ?? (is_known === false ? 'one of several' : 'there before')}</span>`
}

function describe({ start_line, end_line, operation, change_set, command, commit }: BlameRange): string {
  const lines = start_line === end_line ? `line ${start_line}` : `lines ${start_line}-${end_line}`
  const by = operation === undefined || operation === 'external' ? '' : `, ${operation.replace(/^async_/, '')}`
  const why = command ?? change_set
  return `: ${lines}${by}${why === undefined ? '' : `, ${why}`}${commit === undefined ? '' : `, commit ${commit.slice(0, 10)}`}`
}
