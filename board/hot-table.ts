// The figures of the files at which agents met, and a strip of when.
import type { VNode } from 'preact'
import { html } from './html.ts'
import { inTurn } from './in-turn.ts'
import { Path } from './parts.ts'
import { span } from './time.ts'
import type { HotProps } from './treemap-view.ts'

const maxRows = 40

function Table({ files, short, stripSeconds, onHistory }: HotProps & { readonly stripSeconds: number }): VNode {
  const shown = files.slice(0, maxRows)
  const most = Math.max(1, ...shown.flatMap(({ strip }) => strip))
  return html`<div class="table-box" tabindex="0" role="region" aria-label="The hottest files">
      <table class="hot">
        <thead>
          <tr>
            <th scope="col">File</th>
            <th scope="col" class="figure">Contentions</th>
            <th scope="col" class="figure">Merges</th>
            <th scope="col" class="figure">Waits</th>
            <th scope="col" class="figure">Waited</th>
            <th scope="col">When, until now</th>
          </tr>
        </thead>
        <tbody>
          ${shown.map(
            (file) =>
              html`<tr key=${file.path}>
                <th scope="row">
                  <button type="button" class="link" onClick=${() => onHistory({ path: short(file.path) })}>
                    <${Path} path=${short(file.path)} />
                  </button>
                </th>
                <td class="figure">${file.contentions}</td>
                <td class="figure">${file.merges}</td>
                <td class="figure">${file.waits}</td>
                <td class="figure">${span(file.waited_seconds * 1000)}</td>
                <td><${Strip} strip=${file.strip} most=${most} seconds=${stripSeconds} /></td>
              </tr>`
          )}
        </tbody>
      </table>
    </div>
    ${files.length > maxRows && html`<p class="hint">${files.length - maxRows} cooler files are not listed.</p>`}`
}

export const HotTable = inTurn(Table)

/** Shades from pale to glowing, the oldest slice at the left. */
function Strip({ strip, most, seconds }: { strip: readonly number[]; most: number; seconds: number }): VNode {
  const peak = strip.reduce((best, value, index) => (value > (strip[best] ?? 0) ? index : best), 0)
  const words = `most, ${strip[peak]}, ${span((strip.length - 1 - peak) * seconds * 1000)} ago`
  return html`<svg
    class="strip"
    viewBox=${`0 0 ${strip.length} 10`}
    preserveAspectRatio="none"
    role="img"
    aria-label=${words}
  >
    ${strip.map(
      (value, index) =>
        value > 0 &&
        html`<rect key=${index} x=${index} y="0" width="1" height="10" opacity=${0.25 + 0.75 * (value / most)} />`
    )}
  </svg>`
}
