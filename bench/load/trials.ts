// One response-time target: the bare work and the server in turn, many short rounds, and what comes out as a row.
import { median, percentile } from '../statistics.ts'
import { figure, type Row } from '../table.ts'

/** What one round measured: how many milliseconds each piece of work took. */
export interface Round {
  readonly floor: readonly number[]
  readonly ours: readonly number[]
}

export interface Trial {
  readonly what: string
  readonly transport: string
  /** FES 4.1. */
  readonly targetMs: number
  readonly rounds: readonly Round[]
}

export const trialHead = [
  'what',
  'transport',
  'bare p50 ms',
  'bare p95 ms',
  'p50 ms',
  'p95 ms',
  'p50 to bare p50',
  'FES target ms',
  'p95 within it'
]

/** @param once measures the bare work and the server, one after the other */
export async function repeat(rounds: number, once: (round: number) => Promise<Round>): Promise<Round[]> {
  const results: Round[] = []
  for (let round = 0; round < rounds; round += 1) results.push(await once(round))
  return results
}

/** The ratio is taken within each round, and then its median: what slows one round slows both sides of it. */
export function trialRow({ what, transport, targetMs, rounds }: Trial): Row {
  const ours = rounds.flatMap((round) => round.ours)
  const floor = rounds.flatMap((round) => round.floor)
  const ratio = median(rounds.map((round) => median(round.ours) / median(round.floor)))
  return [
    what,
    transport,
    ...[floor, ours].flatMap((ms) => [figure(median(ms)), figure(percentile(ms, 95))]),
    figure(ratio),
    figure(targetMs),
    percentile(ours, 95) <= targetMs ? 'yes' : 'no'
  ]
}

export async function elapsedMs(work: () => unknown): Promise<number> {
  const start = performance.now()
  await work()
  return performance.now() - start
}
