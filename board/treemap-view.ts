// Draws the files at which agents met as areas: the larger, the more often.
import type { RefObject, VNode } from 'preact'
import { useEffect, useMemo, useRef, useState } from 'preact/hooks'
import { html } from './html.ts'
import { inTurn } from './in-turn.ts'
import type { Activity } from './model.ts'
import { tailOf } from './names.ts'
import { span } from './time.ts'
import { layOut } from './treemap.ts'

export type HotFile = Activity['files'][number]

export interface HotProps {
  readonly files: readonly HotFile[]
  readonly short: (path: string) => string
  readonly onHistory: (filter: { path: string }) => void
}

const maxTiles = 80
const mapHeight = 260

const heatOf = ({ contentions, merges, waits }: HotFile): number => contentions + merges + waits

function Areas({ files, short, onHistory }: HotProps): VNode {
  const box = useRef<HTMLDivElement>(null)
  const width = useWidth(box)
  const hottest = files.slice(0, maxTiles)
  const tiles = useMemo(
    () =>
      layOut(
        hottest.map((file) => ({ path: short(file.path), weight: heatOf(file) })),
        { width, height: mapHeight }
      ),
    [files, width]
  )
  const byPath = new Map(hottest.map((file) => [short(file.path), file]))
  return html`<div ref=${box} class="treemap">
    <svg width=${width} height=${mapHeight} aria-hidden="true">
      ${tiles.map(({ path, x, y, width, height, isFolder, weight }) => {
        if (isFolder)
          return html`<g key=${`folder ${path}`} class="folder">
            <rect x=${x + 0.5} y=${y + 0.5} width=${Math.max(0, width - 1)} height=${Math.max(0, height - 1)} rx="3" />
            ${width > 40 && html`<text x=${x + 5} y=${y + 12}>${tailOf(path === '' ? './' : `${path}/`, Math.floor(width / 7))}</text>`}
          </g>`
        const file = byPath.get(path) as HotFile
        const name = path.slice(path.lastIndexOf('/') + 1)
        return html`<g key=${path} class=${`tile ${worstOf(file)}`} onClick=${() => onHistory({ path })}>
          <title>${path}: ${describe(file)}</title>
          <rect x=${x + 1} y=${y + 1} width=${Math.max(0, width - 2)} height=${Math.max(0, height - 2)} rx="2" />
          ${width > 34 && height > 16 && html`<text x=${x + 6} y=${y + 14}>${tailOf(name, Math.floor((width - 10) / 6.6))}</text>`}
          ${width > 34 && height > 30 && html`<text class="small" x=${x + 6} y=${y + 27}>${weight}</text>`}
        </g>`
      })}
    </svg>
    <p class="key">
      <i class="contentions"></i>mostly contentions <i class="merges"></i>mostly merges <i class="waits"></i>mostly
      waits
    </p>
  </div>`
}

export const Treemap = inTurn(Areas)

function useWidth(box: RefObject<HTMLElement | null>): number {
  const [width, setWidth] = useState(600)
  useEffect(() => {
    const { current } = box
    if (current === null) return undefined
    const resized = new ResizeObserver(() => setWidth(current.clientWidth))
    resized.observe(current)
    return () => resized.disconnect()
  }, [])
  return width
}

function worstOf({ contentions, merges, waits }: HotFile): string {
  if (contentions >= merges && contentions >= waits) return 'contentions'
  return merges >= waits ? 'merges' : 'waits'
}

function describe({ contentions, merges, waits, waited_seconds }: HotFile): string {
  return `${contentions} contentions, ${merges} merges, ${waits} waits (${span(waited_seconds * 1000)})`
}
