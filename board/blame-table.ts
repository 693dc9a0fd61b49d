// A text with who made each line: one row of makers for neighbouring lines of one change.
import type { VNode } from 'preact'
import type { BlameRange } from '../schemas/blame.ts'
import { shortened } from '../src/support/cut-text.ts'
import { html } from './html.ts'
import { Name } from './parts.ts'

interface Props {
  readonly label: string
  readonly content: string
  readonly ranges: readonly BlameRange[]
  readonly chosen?: BlameRange | undefined
  readonly onChoose: (range: BlameRange) => void
}

/** Of a longer file the beginning is drawn. */
const maxLines = 2000
const maxLineLength = 2000

export function BlameTable({ label, content, ranges, chosen, onChoose }: Props): VNode {
  const lines = content.split(/\r\n|\r|\n/)
  const shown = ranges.filter(({ start_line }) => start_line <= maxLines)
  return html`<div class="diff-box" tabindex="0" role="region" aria-label=${label}>
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
                      <button type="button" class="link" aria-pressed=${isChosen} onClick=${() => onChoose(range)}>
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
    ${lines.length > maxLines && html`<p class="hint">${lines.length - maxLines} more lines are not drawn.</p>`}`
}

export function Maker({ range: { agent_id, author, is_known } }: { range: BlameRange }): VNode {
  if (agent_id !== null) return html`<${Name} name=${agent_id} />`
  return html`<span class="dim">${author ?? (is_known === false ? 'one of several' : 'there before')}</span>`
}
