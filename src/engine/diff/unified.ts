// The diff as unified text: `patch` applied with it to the base gives the bytes of current.
import type { StructuredPatchHunk } from 'diff'
import { FILE_HEADERS_ONLY, formatPatch } from 'diff/lib/patch/create.js'
import type { Hunk } from './hunks.ts'
import { toRecords, type RecordDiff } from './records.ts'

const names = { oldFileName: 'expected', newFileName: 'current', oldHeader: undefined, newHeader: undefined }
const noLineFeed = '\\ No newline at end of file'

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
  const patch = sections.map((section) => toPatchHunk(records, section, contextLines, skippedLineFeeds))
  return shortenRanges(formatPatch({ ...names, hunks: patch }, FILE_HEADERS_ONLY))
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

function toPatchHunk(
  { baseRecords, currentRecords }: RecordDiff,
  section: readonly Hunk[],
  contextLines: number,
  skipped: number
): StructuredPatchHunk {
  const first = section[0]!
  const last = section.at(-1)!
  const lead = Math.min(contextLines, first.baseStart)
  const trail = Math.min(contextLines, baseRecords.length - last.baseEnd)
  const lines: string[] = []
  let at = first.baseStart - lead
  for (const hunk of section) {
    push(lines, ' ', baseRecords, at, hunk.baseStart)
    push(lines, '-', baseRecords, hunk.baseStart, hunk.baseEnd)
    push(lines, '+', currentRecords, hunk.currentStart, hunk.currentEnd)
    at = hunk.baseEnd
  }
  push(lines, ' ', baseRecords, at, last.baseEnd + trail)
  return {
    oldStart: skipped + first.baseStart - lead + 1,
    oldLines: last.baseEnd - first.baseStart + lead + trail,
    newStart: skipped + first.currentStart - lead + 1,
    newLines: last.currentEnd - first.currentStart + lead + trail,
    lines
  }
}

function push(lines: string[], sign: string, records: readonly string[], start: number, end: number): void {
  for (let at = start; at < end; at++) {
    const record = records[at]!
    if (record.endsWith('\n')) lines.push(sign + record.slice(0, -1))
    else lines.push(sign + record, noLineFeed)
  }
}

/** A range of one line has no count (POSIX diff), but formatPatch writes one. Only the first line of a section begins with @@. */
function shortenRanges(patch: string): string {
  const start = '\n@@ '
  const shorten = (section: string) => section.replace(/^.* @@/, (ranges) => ranges.replaceAll(',1 ', ' '))
  return patch.split(start).map(shorten).join(start)
}
