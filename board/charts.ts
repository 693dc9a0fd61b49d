// What happened when, over the chosen time, by agent or by folder: bars upon each other, one plot for each kind.
import type { VNode } from 'preact'
import { useMemo } from 'preact/hooks'
import UPlot, { type AlignedData, type Options } from 'uplot'
import type { Rates } from '../schemas/activity.ts'
import { html } from './html.ts'
import { inTurn } from './in-turn.ts'
import type { Activity } from './model.ts'
import { Name } from './parts.ts'
import { colorOf, frameOf, usePlot } from './plot.ts'
import { clockTime, momentTime } from './time.ts'

const kinds = [
  { kind: 'changes', title: 'Changes', unit: 'of files' },
  { kind: 'contentions', title: 'Contentions', unit: 'changes that came too late' },
  { kind: 'merges', title: 'Merges', unit: 'late changes that were merged' },
  { kind: 'waits', title: 'Waits', unit: 'requests that had to wait' }
] as const
type Kind = (typeof kinds)[number]['kind']

interface Group {
  readonly key: string
  /** Made anew for each drawing: an element that is kept would keep the page that it was first drawn in. */
  readonly shown: () => string | VNode
  readonly words: string
  readonly color: string
  readonly counts: Readonly<Record<Kind, readonly number[]>>
}

function Kinds({ activity, by }: { activity: Activity | undefined; by: 'agent' | 'folder' }): VNode {
  const rates = activity?.rates
  const groups = useMemo(() => (rates === undefined ? [] : groupsOf(rates, by)), [rates])
  if (activity === undefined || rates === undefined) return html`<div class="empty"><p>Counting…</p></div>`
  const [from, to] = [Date.parse(rates.from), Date.parse(rates.to)]
  const seconds = activity.strip_seconds
  return html`<div class="plots charts">
    ${kinds.map(
      (each) =>
        html`<${Bars}
          key=${`${each.kind} ${seconds} ${groups.map(({ color }) => color).join(' ')}`}
          ...${each}
          by=${by}
          from=${from}
          to=${to}
          seconds=${seconds}
          groups=${groups}
        />`
    )}
    ${describeGaps(rates, from).map((words) => html`<p key=${words} class="hint">${words}</p>`)}
  </div>`
}

export const Charts = inTurn(Kinds)

function groupsOf({ groups, rest }: Rates, by: 'agent' | 'folder'): Group[] {
  const found = groups.map(({ name, ...counts }, index): Group => ({
    ...namesOf(name, by),
    color: `--group-${index + 1}`,
    counts
  }))
  if (rest === undefined) return found
  const words = by === 'agent' ? 'all others' : 'elsewhere'
  return [...found, { key: '\0rest', shown: () => words, words, color: '--group-rest', counts: rest }]
}

function namesOf(name: string, by: 'agent' | 'folder'): Pick<Group, 'key' | 'shown' | 'words'> {
  if (by === 'folder')
    return { key: name, words: `${name}/`, shown: () => html`<code>${name === '' ? './' : `${name}/`}</code>` }
  if (name === '') return { key: name, words: 'without a name', shown: () => 'without a name' }
  return { key: name, words: name, shown: () => html`<${Name} name=${name} />` }
}

/** What of the chosen time is not known. */
function describeGaps({ changes_known_since, meetings_known_since }: Rates, from: number): string[] {
  const missing = (what: string, since: string | undefined) =>
    since === undefined || Date.parse(since) <= from
      ? []
      : [`${what} before ${momentTime(Date.parse(since), Date.now()).replace(/\.\d+$/, '')} are not all known.`]
  return [...missing('Changes', changes_known_since), ...missing('Contentions, merges and waits', meetings_known_since)]
}

interface BarsProps {
  readonly kind: Kind
  readonly title: string
  readonly unit: string
  readonly by: string
  /** In milliseconds since the epoch. */
  readonly from: number
  readonly to: number
  /** Of a slice. */
  readonly seconds: number
  readonly groups: readonly Group[]
}

function Bars({ kind, title, unit, by, from, to, seconds, groups }: BarsProps): VNode {
  const data = useMemo(
    () =>
      stack(
        groups.map(({ counts }) => counts[kind]),
        timesOf(from, to, seconds)
      ),
    [groups]
  )
  const box = usePlot(({ clientWidth }) => optionsOf(groups, seconds, clientWidth), data)
  const sums = groups
    .map(({ key, shown, words, color, counts }) => ({ key, shown, words, color, sum: sumOf(counts[kind]) }))
    .filter(({ sum }) => sum > 0)
  const total = sums.reduce((all, { sum }) => all + sum, 0)
  const parts = sums.map(({ words, sum }) => `${words} ${sum}`).join(', ')
  const when = `from ${clockTime(from)} to ${clockTime(to)}`
  return html`<figure class="plot">
    <figcaption>
      <b>${title}</b> <b>${total}</b> <span class="dim">${unit}</span>
      <span class="legend">
        ${sums.map(({ key, shown, color, sum }) => html`<span key=${key}><i style=${{ background: `var(${color})` }}></i>${shown()} <b>${sum}</b></span>`)}
      </span>
    </figcaption>
    <div ref=${box} role="img" aria-label=${`${title} by ${by}, ${when}: ${parts === '' ? 'none' : parts}`}></div>
  </figure>`
}

const sumOf = (counts: readonly number[]): number => counts.reduce((sum, count) => sum + count, 0)

/** Where the slices begin, in seconds since the epoch. */
const timesOf = (from: number, to: number, seconds: number): number[] =>
  Array.from({ length: Math.round((to - from) / 1000 / seconds) }, (_, slice) => from / 1000 + slice * seconds)

/** Drawn from the largest sum down, so that each bar shows what is its own. */
function stack(counts: readonly (readonly number[])[], times: readonly number[]): AlignedData {
  let below: readonly number[] = times.map(() => 0)
  const sums = counts.map((own) => (below = below.map((sum, slice) => sum + (own[slice] ?? 0))))
  // Axes without a series would not be drawn.
  return [times, ...(sums.length === 0 ? [below] : sums.toReversed())] as unknown as AlignedData
}

/** Between two lines of the grid: there is no half a change. */
const wholeSteps = [0, 1, 2, 3, 4, 5, 6].flatMap((power) => [1, 2, 5].map((step) => step * 10 ** power))

function optionsOf(groups: readonly Group[], seconds: number, width: number): Options {
  const bars = UPlot.paths.bars?.({ size: [0.8, 40], align: 1 })
  const { axes: [times = {}, sums = {}] = [], ...frame } = frameOf(width)
  return {
    ...frame,
    axes: [times, { ...sums, incrs: wholeSteps }],
    scales: {
      // All of the chosen time, whatever of it has a bar.
      x: { range: (_, min, max) => [min, max + seconds] },
      y: { range: (_, __, max) => [0, Math.max(1, max * 1.1)] }
    },
    series: [
      {},
      ...(groups.length === 0 ? ['--group-rest'] : groups.map(({ color }) => color).toReversed()).map((color) => ({
        fill: colorOf(color),
        width: 0,
        points: { show: false },
        ...(bars !== undefined && { paths: bars })
      }))
    ]
  }
}
