// Draws the difference between two versions of a file, unified or side by side.
import type { VNode } from 'preact'
import { html } from './html.ts'
import { pairUp, type Hunk, type Line } from './unified.ts'
import { shortened } from '../src/support/cut-text.ts'

/** More than this is no longer read, and would hold the browser up. */
const maxLines = 1500
const maxLineLength = 2000

/** @param of what it is the difference, if there are several */
export function DiffView(props: { hunks: readonly Hunk[]; isSplit: boolean; of?: string }): VNode {
  const { hunks, isSplit, of } = props
  const shown: Hunk[] = []
  let left = maxLines
  for (const { lines } of hunks) {
    if (left <= 0) break
    shown.push({ lines: lines.slice(0, left) })
    left -= lines.length
  }
  const total = hunks.reduce((sum, { lines }) => sum + lines.length, 0)
  if (total === 0) return html`<p class="hint">No line differs.</p>`
  return html`<div
      class="diff-box"
      tabindex="0"
      role="region"
      aria-label=${of === undefined ? 'Difference' : `Difference of ${of}`}
    >
      <table class=${isSplit ? 'diff split' : 'diff'}>
        ${shown.map(
          ({ lines }, index) =>
            html`<tbody key=${index}>
              ${isSplit ? splitRows(lines) : unifiedRows(lines)}
            </tbody>`
        )}
      </table>
    </div>
    ${total > maxLines && html`<p class="hint">${total - maxLines} more lines are not drawn; “Copy as curl” gives all of it.</p>`}`
}

const signs = { same: ' ', added: '+', removed: '−' }

function unifiedRows(lines: readonly Line[]): VNode[] {
  return lines.map(
    (line, index) =>
      html`<tr key=${index} class=${line.kind}>
        <td class="number">${line.oldNumber}</td>
        <td class="number">${line.newNumber}</td>
        <td class="sign">${signs[line.kind]}</td>
        <td class="code">${textOf(line)}</td>
      </tr>`
  )
}

function splitRows(lines: readonly Line[]): VNode[] {
  return pairUp(lines).map(({ left, right }, index) => {
    const side = (line: Line | undefined, number: number | undefined) =>
      html`<td class=${`number ${line?.kind ?? 'none'}`}>${number}</td>
        <td class=${`code ${line?.kind ?? 'none'}`}>${line === undefined ? '' : textOf(line)}</td>`
    return html`<tr key=${index}>
      ${side(left, left?.oldNumber)}${side(right, right?.newNumber)}
    </tr>`
  })
}

function textOf({ text, changed, kind }: Line): VNode | string {
  const cut = shortened(text, maxLineLength, '…')
  if (changed === undefined || changed[0] >= changed[1]) return cut
  const [start, end] = changed
  const part = cut.slice(start, end)
  return html`${cut.slice(0, start)}${kind === 'added' ? html`<ins>${part}</ins>` : html`<del>${part}</del>`}${cut.slice(end)}`
}
