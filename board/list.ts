// A list of which only the rows in sight are drawn, however long it is. One row is chosen, by a click or the arrow keys.
import type { ComponentChildren, RefObject, VNode } from 'preact'
import { useEffect, useLayoutEffect, useRef, useState } from 'preact/hooks'
import { fitPaths } from './fit-paths.ts'
import { html } from './html.ts'
import { inTurn } from './in-turn.ts'

interface ListProps<Item> {
  readonly id: string
  /** What a screen reader calls the list. */
  readonly label: string
  readonly items: readonly Item[]
  readonly keyOf: (item: Item) => string
  readonly chosen: string | undefined
  readonly onChoose: (item: Item) => void
  /** The path that a row shows, and how many pixels all else in its line takes. */
  readonly pathIn: (item: Item) => { readonly path: string; readonly taken: number }
  /** @param text what of the path has room */
  readonly row: (item: Item, text: string) => ComponentChildren
  /** Shown if there are no items: what to do next. */
  readonly empty: ComponentChildren
  /** The rows in sight, after a rest. */
  readonly onRest?: (items: readonly Item[]) => void
}

/** Of two lines, in pixels. */
const rowHeight = 44
const overscan = 6
const restMs = 250

function Rows<Item>(props: ListProps<Item>): VNode {
  const { id, label, items, keyOf, chosen, onChoose, pathIn, row, empty, onRest } = props
  const box = useRef<HTMLDivElement>(null)
  const view = useScroll(box)

  const first = Math.max(0, Math.floor(view.top / rowHeight) - overscan)
  const last = Math.min(items.length, Math.ceil((view.top + view.height) / rowHeight) + overscan)
  const shown = items.slice(first, last)
  const texts = fitPaths(
    shown
      .map(pathIn)
      .map(({ path, taken }) => ({ path, room: Math.floor((view.width - padding - taken) / characterWidth()) }))
  )
  useRest(shown, shown.map(keyOf).join('\n'), onRest)

  const place = chosen === undefined ? -1 : items.findIndex((item) => keyOf(item) === chosen)

  function go(index: number): void {
    const item = items[Math.max(0, Math.min(items.length - 1, index))]
    const { current } = box
    if (item === undefined || current === null) return
    onChoose(item)
    const top = Math.max(0, Math.min(items.length - 1, index)) * rowHeight
    if (top < current.scrollTop) current.scrollTop = top
    else if (top + rowHeight > current.scrollTop + current.clientHeight)
      current.scrollTop = top + rowHeight - current.clientHeight
  }

  function onKeyDown(event: KeyboardEvent): void {
    const page = Math.max(1, Math.floor(view.height / rowHeight) - 1)
    const steps: Record<string, number> = {
      ArrowDown: 1,
      ArrowUp: -1,
      PageDown: page,
      PageUp: -page,
      Home: -Infinity,
      End: Infinity
    }
    const step = steps[event.key]
    if (step === undefined || event.altKey || event.ctrlKey || event.metaKey) return
    event.preventDefault()
    go(place === -1 && Number.isFinite(step) ? (step > 0 ? 0 : items.length - 1) : place + step)
  }

  const isInSight = place >= first && place < last
  return html`<div
    class="list"
    id=${id}
    ref=${box}
    role="listbox"
    tabindex="0"
    aria-label=${label}
    aria-activedescendant=${isInSight ? `${id}-${place}` : undefined}
    onKeyDown=${onKeyDown}
  >
    ${
      items.length === 0
        ? html`<div class="empty" role="option" aria-selected="false" aria-disabled="true">${empty}</div>`
        : html`<div class="rows" role="presentation" style=${{ height: `${items.length * rowHeight}px` }}>
            ${shown.map((item, index) => {
              const at = first + index
              return html`<div
                key=${keyOf(item)}
                id=${`${id}-${at}`}
                class="row"
                role="option"
                aria-selected=${at === place}
                aria-posinset=${at + 1}
                aria-setsize=${items.length}
                style=${{ top: `${at * rowHeight}px`, height: `${rowHeight}px` }}
                onClick=${() => onChoose(item)}
              >
                ${row(item, texts[index] ?? '')}
              </div>`
            })}
          </div>`
    }
  </div>`
}

export const List = inTurn<ListProps<unknown>>(Rows, 'chosen')

/** At both sides of a row, in pixels: style/list.css. */
const padding = 26

let measured: number | undefined

/** Of the font that paths have, in which all characters are of one width. */
function characterWidth(): number {
  if (measured !== undefined) return measured
  const context = document.createElement('canvas').getContext('2d')
  if (context === null) return 8
  context.font = `12px ${getComputedStyle(document.documentElement).getPropertyValue('--mono')}`
  return (measured = context.measureText('0'.repeat(100)).width / 100)
}

function useScroll(box: RefObject<HTMLElement | null>): { top: number; height: number; width: number } {
  const [view, setView] = useState({ top: 0, height: 600, width: 300 })
  useLayoutEffect(() => {
    const { current } = box
    if (current === null) return undefined
    const look = () => setView({ top: current.scrollTop, height: current.clientHeight, width: current.clientWidth })
    const resized = new ResizeObserver(look)
    resized.observe(current)
    current.addEventListener('scroll', look, { passive: true })
    return () => {
      resized.disconnect()
      current.removeEventListener('scroll', look)
    }
  }, [])
  return view
}

function useRest<Item>(shown: readonly Item[], keys: string, onRest: ListProps<Item>['onRest']): void {
  const latest = useRef(onRest)
  latest.current = onRest
  useEffect(() => {
    const timer = setTimeout(() => latest.current?.(shown), restMs)
    return () => clearTimeout(timer)
  }, [keys])
}
