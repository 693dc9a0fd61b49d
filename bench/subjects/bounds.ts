// What is promised about time, each as a ratio to the least work there is, taken in the same round: within the promise, or exceeded.
import type { Bound, Sample } from './bound.ts'
import { textBounds } from './bounds-texts.ts'
import { waitBounds } from './bounds-waits.ts'
import { withOwner } from '../owner.ts'
import { median } from '../statistics.ts'
import { figure, printTable, type Row } from '../table.ts'

const rounds = 3

export async function bounds(): Promise<void> {
  console.log('\n## bounds: what is promised about time')
  await withOwner(async (owner) => {
    await print('texts made against what works on them', textBounds(owner))
    await print('calls that wait, and processes that end', await waitBounds(owner))
  })
}

async function print(title: string, bounds: readonly Bound[]): Promise<void> {
  const rows: Row[] = []
  for (const bound of bounds) rows.push(await toRow(bound))
  const head = ['what', 'against', 'floor ms', 'ours ms', 'ratio', 'promised', 'verdict']
  printTable(`${title}, medians of ${rounds} rounds`, head, rows)
}

/** The ratio is taken within each round: what slows one round slows both sides of it. */
async function toRow({ what, floor, promised, measure }: Bound): Promise<Row> {
  // The first round warms up.
  await measure()
  const samples: Sample[] = []
  for (let round = 0; round < rounds; round += 1) samples.push(await measure())
  const ratio = median(samples.map((sample) => sample.ours / sample.floor))
  return [
    what,
    floor,
    figure(median(samples.map((sample) => sample.floor))),
    figure(median(samples.map((sample) => sample.ours))),
    figure(ratio),
    figure(promised),
    ratio <= promised ? 'ok' : 'exceeded'
  ]
}
