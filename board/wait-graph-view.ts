// Draws the wait-for graph: those who are waited for at the left, an arrow from each that waits.
import type { VNode } from 'preact'
import { html } from './html.ts'
import { inTurn } from './in-turn.ts'
import type { GraphNode, WaitGraph } from './wait-graph.ts'
import { nameOf, tailOf } from './names.ts'

const width = 150
const height = 26
const columnGap = 120
const rowGap = 14
const edge = 4

function Graph(props: { graph: WaitGraph; short: (path: string) => string; onAgent: (name: string) => void }): VNode {
  const { graph, short, onAgent } = props
  const places = new Map(graph.nodes.map((node) => [node.name, placeOf(node)]))
  const size = {
    x: graph.columns * (width + columnGap) - columnGap + 2 * edge,
    y: graph.rows * (height + rowGap) - rowGap + 2 * edge + 8 + (isAnyLong(graph) ? 30 : 0)
  }
  const words = graph.edges.map(({ from, to, path }) => `${from} waits for ${to} at ${short(path)}`)
  return html`<div class="graph-box" tabindex="0" role="region" aria-label="Wait-for graph">
      <svg class="graph" width=${size.x} height=${size.y} viewBox=${`0 0 ${size.x} ${size.y}`} aria-hidden="true">
        <defs>
          <marker
            id="arrow"
            viewBox="0 0 8 8"
            refX="7"
            refY="4"
            markerWidth="7"
            markerHeight="7"
            orient="auto-start-reverse"
          >
            <path d="M0 0L8 4L0 8z" />
          </marker>
        </defs>
        ${graph.edges.map(({ from, to, path }, index) => {
          const [start, end] = [places.get(from), places.get(to)]
          if (start === undefined || end === undefined) return null
          const [x1, y1, x2, y2] = [start.x, start.y + height / 2, end.x + width + 2, end.y + height / 2]
          const bend = Math.max(40, (x1 - x2) / 2)
          // Around those that stand between.
          const sag = stepsOf(x1 - x2) * 40
          const name = short(path)
          return html`<g key=${`${from} ${to} ${path} ${index}`} class="edge">
            <path
              d=${`M${x1} ${y1}C${x1 - bend} ${y1 + sag} ${x2 + bend} ${y2 + sag} ${x2} ${y2}`}
              marker-end="url(#arrow)"
            />
            <text x=${(x1 + x2) / 2} y=${(y1 + y2) / 2 + sag * 0.75 - 4} text-anchor="middle">
              ${tailOf(name.slice(name.lastIndexOf('/') + 1), 18)}
            </text>
          </g>`
        })}
        ${graph.nodes.map(({ name, depth }) => {
          const { x, y } = places.get(name) as Place
          return html`<g key=${name} class=${depth === 0 ? 'node holds' : 'node'} onClick=${() => onAgent(name)}>
            <rect x=${x} y=${y} width=${width} height=${height} rx="5" />
            <text x=${x + width / 2} y=${y + height / 2 + 4} text-anchor="middle">${nameOf(name)}</text>
          </g>`
        })}
      </svg>
      <ul class="unseen">
        ${words.map((sentence, index) => html`<li key=${index}>${sentence}</li>`)}
      </ul>
    </div>
    ${graph.hidden > 0 && html`<p class="hint">${graph.hidden} more waits are not drawn; the lists have them all.</p>`}`
}

export const WaitGraphView = inTurn(Graph)

function isAnyLong({ nodes, edges }: WaitGraph): boolean {
  const depths = new Map(nodes.map(({ name, depth }) => [name, depth]))
  return edges.some(({ from, to }) => (depths.get(from) ?? 0) - (depths.get(to) ?? 0) > 1)
}

/** Columns between the two. */
const stepsOf = (distance: number): number => Math.max(0, Math.round(distance / (width + columnGap)))

interface Place {
  readonly x: number
  readonly y: number
}

function placeOf({ depth, row }: GraphNode): Place {
  return { x: edge + depth * (width + columnGap), y: edge + row * (height + rowGap) + 4 }
}
