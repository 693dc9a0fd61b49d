// How a cost grows with a size, by its figures.

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
