// Measures the server and its floors in turn, so that whatever else the machine does falls on all of them alike.
import { runLoad, type Send } from './load.ts'
import { median, percentile } from '../statistics.ts'
import { figure, percent, whole, type Row } from '../table.ts'

/** Short and many. */
const rounds = 5
export const roundMs = 150

export interface Contest {
  readonly ours: readonly Send[]
  /** The same requests to the empty route; undefined where there is nothing to compare. */
  readonly route?: readonly Send[]
  /** The bare file work, per second. */
  readonly files: () => Promise<number>
}

export const contestHead = ['per second', 'p50 ms', 'p99 ms', 'files (a)', 'of (a)', 'route (b)', 'of (b)']

/** Ratios are taken within each round, and then their median: what slows one round slows all parts of it. */
export async function runContest({ ours, route, files }: Contest): Promise<Row> {
  const samples: { ours: number; files: number; route: number }[] = []
  const latencies: number[] = []
  for (let round = 0; round < rounds; round += 1) {
    const filesPerSecond = await files()
    const load = await runLoad(ours, roundMs)
    const routePerSecond = route === undefined ? NaN : (await runLoad(route, roundMs)).perSecond
    samples.push({ ours: load.perSecond, files: filesPerSecond, route: routePerSecond })
    latencies.push(...load.latenciesMs)
  }
  return [
    whole(median(samples.map((sample) => sample.ours))),
    figure(percentile(latencies, 50)),
    figure(percentile(latencies, 99)),
    whole(median(samples.map((sample) => sample.files))),
    percent(median(samples.map((sample) => sample.ours / sample.files))),
    whole(median(samples.map((sample) => sample.route))),
    percent(median(samples.map((sample) => sample.ours / sample.route)))
  ]
}
