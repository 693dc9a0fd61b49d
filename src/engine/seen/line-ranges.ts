// Ranges of lines of one text.

/** Lines, 1-based, the last one included. */
export interface LineRange {
  readonly start: number
  readonly end: number
}

/** In order, without overlaps. */
export function union(ranges: readonly LineRange[]): LineRange[] {
  const result: LineRange[] = []
  for (const range of [...ranges].sort((a, b) => a.start - b.start || a.end - b.end)) {
    const before = result.at(-1)
    if (before !== undefined && range.start <= before.end + 1 && range.end >= range.start && before.end >= before.start)
      result[result.length - 1] = { start: before.start, end: Math.max(before.end, range.end) }
    else if (before?.start !== range.start || before.end !== range.end) result.push(range)
  }
  return result
}

/** True if one of the ranges has all of these lines. */
export function contains(ranges: readonly LineRange[], { start, end }: LineRange): boolean {
  return ranges.some((range) => range.start <= start && end <= range.end)
}
