// Myers' search for a smallest edit script ("An O(ND) Difference Algorithm and Its Variations", 1986), forward and greedy.

/** The path of a search: one cell for each diagonal and each number of edits. */
interface Cells {
  /** Elements of the base consumed. */
  x: Int32Array
  diagonal: Int32Array
  /** Index of the cell that it came from; -1 for the first. */
  previous: Int32Array
  count: number
}

/** `length` equal elements, beginning at offset `base` on one side and `current` on the other. */
export interface Run {
  readonly base: number
  readonly current: number
  readonly length: number
}

// 12 bytes each: 48 MB at the most.
const maxCells = 4_000_000

/**
 * The runs of equal elements of a longest common subsequence, ascending; undefined if more than `maxEditLength` elements are
 * inserted and deleted, or at the deadline (of `performance.now()`).
 */
export function longestCommonRuns(
  base: readonly number[],
  current: readonly number[],
  maxEditLength: number,
  deadline: number
): Run[] | undefined {
  const most = Math.min(maxEditLength, base.length + current.length)
  const cells = createCells()
  // Index of the furthest cell on each diagonal; -1 if there is none.
  const offset = most + 1
  const furthest = new Int32Array(2 * offset + 1).fill(-1)
  const extend = (x: number, diagonal: number) => {
    let end = x
    while (end < base.length && end - diagonal < current.length && base[end] === current[end - diagonal]) end++
    return end
  }
  furthest[offset] = addCell(cells, extend(0, 0), 0, -1)
  // Beyond an edge of the table nothing is gained: from there on only one side is left.
  let lowest = -most
  let highest = most
  if (isEnd(cells.x[0]!, 0)) return runsTo(cells, 0)
  for (let edits = 1; edits <= most && performance.now() <= deadline; edits++) {
    for (let diagonal = Math.max(lowest, -edits); diagonal <= Math.min(highest, edits); diagonal += 2) {
      const removing = furthest[offset + diagonal - 1]!
      const adding = furthest[offset + diagonal + 1]!
      const removeX = removing === -1 ? -1 : cells.x[removing]!
      const addX = adding === -1 ? -1 : cells.x[adding]!
      const canRemove = removing !== -1 && removeX < base.length
      const canAdd = adding !== -1 && addX > diagonal && addX - diagonal <= current.length
      if (!canRemove && !canAdd) {
        furthest[offset + diagonal] = -1
        continue
      }
      const isAdding = !canRemove || (canAdd && removeX < addX)
      const x = extend(isAdding ? addX : removeX + 1, diagonal)
      if (cells.count === maxCells) return undefined
      const cell = addCell(cells, x, diagonal, isAdding ? adding : removing)
      if (isEnd(x, diagonal)) return runsTo(cells, cell)
      furthest[offset + diagonal] = cell
      if (x >= base.length) highest = Math.min(highest, diagonal - 1)
      if (x - diagonal >= current.length) lowest = Math.max(lowest, diagonal + 1)
    }
  }
  return undefined

  function isEnd(x: number, diagonal: number): boolean {
    return x >= base.length && x - diagonal >= current.length
  }
}

function createCells(): Cells {
  const size = 1024
  return { x: new Int32Array(size), diagonal: new Int32Array(size), previous: new Int32Array(size), count: 0 }
}

function addCell(cells: Cells, x: number, diagonal: number, previous: number): number {
  if (cells.count === cells.x.length) {
    for (const name of ['x', 'diagonal', 'previous'] as const) {
      const larger = new Int32Array(2 * cells.count)
      larger.set(cells[name])
      cells[name] = larger
    }
  }
  cells.x[cells.count] = x
  cells.diagonal[cells.count] = diagonal
  cells.previous[cells.count] = previous
  return cells.count++
}

/** Walks back from a cell: each has a run at its end, behind the one edit that led to it. */
function runsTo({ x, diagonal, previous }: Cells, last: number): Run[] {
  const runs: Run[] = []
  for (let cell = last; cell !== -1; cell = previous[cell]!) {
    const from = previous[cell]!
    const isRemoved = from !== -1 && diagonal[from]! < diagonal[cell]!
    const start = from === -1 ? 0 : x[from]! + (isRemoved ? 1 : 0)
    const length = x[cell]! - start
    if (length > 0) runs.push({ base: start, current: start - diagonal[cell]!, length })
  }
  return runs.reverse()
}
