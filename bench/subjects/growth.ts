// Cost and memory against size: paths, agents, waiters, versions, entries of a listing.
import type { Options } from '../options.ts'
import { withOwner, type Owner } from '../owner.ts'
import { describeGrowth, type Measured } from '../growth.ts'
import { figure, printTable, whole, type Row } from '../table.ts'
import { agentsReading, waitersOnOnePath } from './growth-agents.ts'
import { listedEntries, pathsKnown, versionsOfOneFile } from './growth-files.ts'

const subjects: readonly ((owner: Owner, calls: number) => Promise<Measured[]>)[] = [
  pathsKnown,
  agentsReading,
  waitersOnOnePath,
  versionsOfOneFile,
  listedEntries
]

const usualSeconds = 1

/** With `--seconds` more, or fewer, calls are behind each figure. */
export async function growth({ seconds = usualSeconds }: Options): Promise<void> {
  console.log('\n## growth: what a call costs as the tree, its agents and its history grow')
  const measured: Measured[] = []
  for (const subject of subjects) measured.push(...(await withOwner((owner) => subject(owner, seconds * 500))))
  const whats = [...new Set(measured.map(({ what }) => what))]
  const rows = whats.map((what) =>
    rowOf(
      what,
      measured.filter((each) => each.what === what)
    )
  )
  printTable(
    'each cost at each size; growth is that of the processor time, by the two largest sizes',
    ['what', 'sizes', 'us (median)', 'processor us', 'growth', 'memory MB'],
    rows
  )
}

function rowOf(what: string, points: readonly Measured[]): Row {
  const of = (pick: (point: Measured) => string) => points.map(pick).join(' / ')
  return [
    what,
    of(({ size }) => whole(size)),
    of(({ cost }) => figure(cost.us)),
    of(({ cost }) => figure(cost.processorUs)),
    describeGrowth(points.map(({ size, cost }) => ({ size, cost: cost.processorUs }))),
    of(({ mb }) => whole(mb))
  ]
}
