// Hunks over records, the lines of a unified diff: a record ends only with \n, so that a lone \r is inside of it.
import type { Hunk } from './hunks.ts'

export interface RecordDiff {
  readonly baseRecords: readonly string[]
  readonly currentRecords: readonly string[]
  readonly hunks: readonly Hunk[]
}

/** The same difference, with every hunk widened to whole records. Texts without a lone \r come back as they are. */
export function toRecords(
  baseLines: readonly string[],
  currentLines: readonly string[],
  hunks: readonly Hunk[]
): RecordDiff {
  if (everyLineIsRecord(baseLines) && everyLineIsRecord(currentLines)) {
    return { baseRecords: baseLines, currentRecords: currentLines, hunks }
  }
  const base = groupRecords(baseLines)
  const current = groupRecords(currentLines)
  return {
    baseRecords: base.records,
    currentRecords: current.records,
    hunks: widen(baseLines, currentLines, hunks).map((hunk) => ({
      baseStart: base.recordsBefore[hunk.baseStart]!,
      baseEnd: base.recordsBefore[hunk.baseEnd]!,
      currentStart: current.recordsBefore[hunk.currentStart]!,
      currentEnd: current.recordsBefore[hunk.currentEnd]!
    }))
  }
}

function everyLineIsRecord(lines: readonly string[]): boolean {
  return lines.every((line, index) => line.endsWith('\n') || index === lines.length - 1)
}

/** The records, and how many of them end at or before each position between lines. */
function groupRecords(lines: readonly string[]) {
  const records: string[] = []
  const recordsBefore = [0]
  let start = 0
  for (let end = 1; end <= lines.length; end++) {
    if (isRecordEnd(lines, end)) {
      records.push(lines.slice(start, end).join(''))
      start = end
    }
    recordsBefore.push(records.length)
  }
  return { records, recordsBefore }
}

function isRecordEnd(lines: readonly string[], end: number): boolean {
  return end === 0 || end === lines.length || lines[end - 1]!.endsWith('\n')
}

/** Grows each hunk over the unchanged lines beside it until it begins and ends with a record on both sides, or meets the next. */
function widen(baseLines: readonly string[], currentLines: readonly string[], hunks: readonly Hunk[]): Hunk[] {
  const isWhole = (baseAt: number, currentAt: number) =>
    isRecordEnd(baseLines, baseAt) && isRecordEnd(currentLines, currentAt)
  let floor = 0
  return hunks.map((hunk, index) => {
    let { baseStart, baseEnd, currentStart, currentEnd } = hunk
    while (baseStart > floor && !isWhole(baseStart, currentStart)) {
      baseStart--
      currentStart--
    }
    // If two hunks meet inside a record, all of it goes to the second: `recordsBefore` counts whole ones.
    const ceiling = hunks[index + 1]?.baseStart ?? baseLines.length
    while (baseEnd < ceiling && !isWhole(baseEnd, currentEnd)) {
      baseEnd++
      currentEnd++
    }
    floor = baseEnd
    return { baseStart, baseEnd, currentStart, currentEnd }
  })
}
