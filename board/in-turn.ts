// Large parts of a view are drawn in turn, as many in a frame as it has room for: all of them in one would hold it up.
import { Component, type ComponentClass, type VNode } from 'preact'
import { html } from './html.ts'

/** For the scripts of a frame. The browser takes as long again to lay out and paint what they have changed. */
const frameMs = 4

const waiting = new Set<Component>()
let isDrawing = false

/** @param atOnce the property whose change is not to wait, since it answers a click or a key */
export function inTurn<Props extends object>(
  View: (props: Props) => VNode,
  atOnce?: keyof Props
): ComponentClass<Props> {
  return class extends Component<Props> {
    override shouldComponentUpdate(next: Props): boolean {
      if (atOnce !== undefined && next[atOnce] !== this.props[atOnce]) return true
      waiting.add(this)
      if (!isDrawing) void drawInTurn()
      return false
    }

    override componentWillUnmount(): void {
      waiting.delete(this)
    }

    override render(): VNode {
      waiting.delete(this)
      return html`<${View} ...${this.props} />`
    }
  }
}

async function drawInTurn(): Promise<void> {
  isDrawing = true
  let end = -Infinity
  try {
    for (const part of waiting) {
      if (performance.now() >= end) end = (await nextFrame()) + frameMs
      if (!waiting.has(part)) continue
      part.forceUpdate()
      // Preact draws in a microtask of its own, which comes before this one goes on.
      await Promise.resolve()
    }
  } finally {
    isDrawing = false
  }
}

const nextFrame = (): Promise<number> => new Promise((begin) => requestAnimationFrame(() => begin(performance.now())))
