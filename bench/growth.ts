// What a call costs at a size, and how the cost grows with it.
import { elapsedMs } from './load/trials.ts'
import { processorMs } from './process-use.ts'
import { median } from './statistics.ts'

/** Of one call. */
export interface Cost {
  /** Until it is answered: the median. */
  readonly us: number
  /** Of the server, which other programs do not make longer. */
  readonly processorUs: number
}

/** One cost at one size. */
export interface Measured {
  readonly what: string
  readonly size: number
  readonly cost: Cost
  /** Resident memory of the server. */
  readonly mb: number
}

export interface Point {
  readonly size: number
  readonly cost: number
}

/** From which power of the size on a cost counts as what. */
const flatBelow = 0.2
const linearFrom = 0.8
const linearTo = 1.2

/** By the two largest sizes, where what every call costs anyway weighs least. */
export function describeGrowth(points: readonly Point[]): string {
  const [before, last] = points.slice(-2)
  if (before === undefined || last === undefined) return '-'
  const power = Math.log(last.cost / before.cost) / Math.log(last.size / before.size)
  if (power < flatBelow) return 'flat'
  if (power < linearFrom) return `below linear (power ${power.toFixed(1)})`
  return power <= linearTo ? 'linear' : `above linear (power ${power.toFixed(1)})`
}

/** After a tenth as many that are not counted. */
export async function costOf(pid: number, calls: number, call: (index: number) => Promise<unknown>): Promise<Cost> {
  for (let index = 0; index < calls / 10; index += 1) await call(index)
  const samples: number[] = []
  const used = processorMs(pid)
  for (let index = 0; index < calls; index += 1) samples.push(await elapsedMs(() => call(index)))
  return {
    us: median(samples) * 1000,
    processorUs: ((processorMs(pid) - used) * 1000) / samples.length
  }
}
