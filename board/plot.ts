// One plot over time, drawn by uPlot in the colours of the page.
import type { RefObject, VNode } from 'preact'
import { useEffect, useRef } from 'preact/hooks'
import UPlot, { type AlignedData, type Options } from 'uplot'
import { html } from './html.ts'
import { clockTime } from './time.ts'

export interface Series {
  readonly label: string
  /** A custom property of the style sheet. */
  readonly color: string
  readonly values: readonly (number | null)[]
}

interface Props {
  readonly title: string
  readonly unit: string
  readonly times: readonly number[]
  readonly series: readonly Series[]
}

const plotHeight = 150
const shortestSeconds = 120

export function Plot({ title, unit, times, series }: Props): VNode {
  const data = [times, ...series.map(({ values }) => values)] as unknown as AlignedData
  const box = usePlot(({ clientWidth }) => optionsOf(series, clientWidth), data)

  const last = series.map(({ label, values }) => `${label} ${format(values.at(-1))}`)
  return html`<figure class="plot">
    <figcaption>
      <b>${title}</b> <span class="dim">${unit}</span>
      <span class="legend">
        ${series.map(({ label, color, values }) => html`<span key=${label}><i style=${{ background: `var(${color})` }}></i>${label} <b>${format(values.at(-1))}</b></span>`)}
      </span>
    </figcaption>
    <div ref=${box} role="img" aria-label=${`${title}, ${unit}, at the moment: ${last.join(', ')}`}></div>
  </figure>`
}

/** @param optionsOf asked once, and when the colours change @returns the element for the plot */
export function usePlot(optionsOf: (box: HTMLElement) => Options, data: AlignedData): RefObject<HTMLDivElement | null> {
  const box = useRef<HTMLDivElement>(null)
  const plot = useRef<UPlot>(undefined)
  const latest = useRef(data)
  latest.current = data

  useEffect(() => {
    const { current } = box
    if (current === null) return undefined
    const make = () => {
      plot.current?.destroy()
      plot.current = new UPlot(optionsOf(current), latest.current, current)
    }
    make()
    const resized = new ResizeObserver(() => plot.current?.setSize({ width: current.clientWidth, height: plotHeight }))
    resized.observe(current)
    const dark = matchMedia('(prefers-color-scheme: dark)')
    dark.addEventListener('change', make)
    return () => {
      resized.disconnect()
      dark.removeEventListener('change', make)
      plot.current?.destroy()
      plot.current = undefined
    }
  }, [])

  useEffect(() => plot.current?.setData(data), [data[0]])
  return box
}

function format(value: number | null | undefined): string {
  if (value === null || value === undefined) return '–'
  return value >= 100 ? value.toFixed(0) : value >= 10 ? value.toFixed(1) : value === 0 ? '0' : value.toFixed(2)
}

/** @param name a custom property of the style sheet */
export const colorOf = (name: string): string =>
  getComputedStyle(document.documentElement).getPropertyValue(name).trim()

/** What all plots have: the size, no legend of the library's, and the axes. */
export function frameOf(width: number): Pick<Options, 'width' | 'height' | 'legend' | 'cursor' | 'padding' | 'axes'> {
  const axis = {
    stroke: colorOf('--dim'),
    grid: { stroke: colorOf('--line'), width: 1 },
    ticks: { show: false },
    font: '11px system-ui, sans-serif'
  }
  return {
    width,
    height: plotHeight,
    legend: { show: false },
    cursor: { show: false },
    padding: [8, 28, 0, 0],
    axes: [
      { ...axis, space: 80, size: 26, values: (_, times) => times.map((at) => clockTime(at * 1000)) },
      { ...axis, size: 44 }
    ]
  }
}

function optionsOf(series: readonly Series[], width: number): Options {
  return {
    ...frameOf(width),
    // A page that was opened just now has a window of two minutes, not of years.
    scales: {
      x: { range: (_, min, max) => [Math.min(min, max - shortestSeconds), max] },
      y: { range: (_, __, max) => [0, Math.max(1, max * 1.1)] }
    },
    series: [
      {},
      ...series.map(({ label, color }) => ({
        label,
        stroke: colorOf(color),
        width: 1.5,
        points: { size: 4 }
      }))
    ]
  }
}
