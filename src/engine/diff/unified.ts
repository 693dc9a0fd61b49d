// The diff as unified text: `patch` applied with it to the base gives the bytes of current.
import type { Hunk } from './hunks.ts'
import { toRecords, type RecordDiff } from './records.ts'

const header = '--- expected\n+++ current\n'

/**
 * "" if nothing differs. Changes less than two contexts apart share one section, as in `diff -u`.
 * `skippedLineFeeds` precede the given lines, equal on both sides.
 */
export function toUnified(
  baseLines: readonly string[],
  currentLines: readonly string[],
  hunks: readonly Hunk[],
  contextLines: number,
  skippedLineFeeds = 0
): string {
  if (hunks.length === 0) return ''
  const records = toRecords(baseLines, currentLines, hunks)
  const sections = sectionsOf(records.hunks, contextLines)
  return header + sections.map((section) => sectionText(records, section, contextLines, skippedLineFeeds)).join('')
}

function sectionsOf(hunks: readonly Hunk[], contextLines: number): Hunk[][] {
  const sections: Hunk[][] = []
  for (const hunk of hunks) {
    const section = sections.at(-1)
    const before = section?.at(-1)
    if (section && before && hunk.baseStart - before.baseEnd <= 2 * contextLines) section.push(hunk)
    else sections.push([hunk])
  }
  return sections
}

function sectionText(
  { baseRecords, currentRecords }: RecordDiff,
  section: readonly Hunk[],
  contextLines: number,
  skipped: number
): string {
  const first = section[0]!
  const last = section.at(-1)!
  const lead = Math.min(contextLines, first.baseStart)
  const trail = Math.min(contextLines, baseRecords.length - last.baseEnd)
  const out = [
    '@@ -',
    range(skipped + first.baseStart - lead, skipped + last.baseEnd + trail),
    ' +',
    range(skipped + first.currentStart - lead, skipped + last.currentEnd + trail),
    ' @@\n'
  ]
  let at = first.baseStart - lead
  for (const hunk of section) {
    push(out, ' ', baseRecords, at, hunk.baseStart)
    push(out, '-', baseRecords, hunk.baseStart, hunk.baseEnd)
    push(out, '+', currentRecords, hunk.currentStart, hunk.currentEnd)
    at = hunk.baseEnd
  }
  push(out, ' ', baseRecords, at, last.baseEnd + trail)
  return out.join('')
}

function push(out: string[], sign: string, records: readonly string[], start: number, end: number): void {
  for (let at = start; at < end; at++) {
    const record = records[at]!
    out.push(sign, record, record.endsWith('\n') ? '' : '\n\\ No newline at end of file\n')
  }
}

/** An empty range names the line before it, a range of one line has no count (POSIX diff). */
function range(start: number, end: number): string {
  const count = end - start
  if (count === 0) return `${start},0`
  return count === 1 ? `${start + 1}` : `${start + 1},${count}`
}
