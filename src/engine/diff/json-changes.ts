// The diff in the wire's JSON form (PRD 4.3): one change for each hunk, with line numbers, contents and context.
import type { Change, DiffSummary } from '../../../schemas/diff.ts'
import type { Hunk } from './hunks.ts'
import { withoutTerminator } from './lines.ts'

// A context line serves to recognise the place; one longer than this (a minified bundle) would only cost.
const maxContextLineChars = 2_000

/**
 * One change for each hunk, with up to `contextLines` unchanged lines on either side, none of them of another change.
 * `skippedLines` precede the given lines, equal on both sides.
 */
export function toJsonChanges(
  baseLines: readonly string[],
  currentLines: readonly string[],
  hunks: readonly Hunk[],
  contextLines: number,
  skippedLines = 0
): Change[] {
  return hunks.map((hunk, index) => {
    const before = hunks[index - 1]?.baseEnd ?? 0
    const after = hunks[index + 1]?.baseStart ?? baseLines.length
    return {
      ...place(hunk, skippedLines),
      ...contents(baseLines, currentLines, hunk),
      context_before: textOf(contextBefore(baseLines, Math.max(before, hunk.baseStart - contextLines), hunk.baseStart)),
      context_after: textOf(contextAfter(baseLines, hunk.baseEnd, Math.min(after, hunk.baseEnd + contextLines)))
    }
  })
}

/** Lines are counted once each: in "added" the current ones, in "removed" and "modified" those of the base. */
export function summarize(hunks: readonly Hunk[]): DiffSummary {
  const summary = { lines_added: 0, lines_removed: 0, lines_modified: 0, regions_changed: hunks.length }
  for (const hunk of hunks) {
    const baseCount = hunk.baseEnd - hunk.baseStart
    if (baseCount === 0) summary.lines_added += hunk.currentEnd - hunk.currentStart
    else if (hunk.currentEnd === hunk.currentStart) summary.lines_removed += baseCount
    else summary.lines_modified += baseCount
  }
  return summary
}

function place({ baseStart, baseEnd, currentStart, currentEnd }: Hunk, skippedLines: number) {
  const base = { start_line: skippedLines + baseStart + 1, end_line: skippedLines + baseEnd }
  const current = { start_line: skippedLines + currentStart + 1, end_line: skippedLines + currentEnd }
  const starts = { base_start_line: base.start_line, current_start_line: current.start_line }
  if (baseStart === baseEnd) return { type: 'added' as const, ...current, ...starts }
  return { type: currentStart === currentEnd ? ('removed' as const) : ('modified' as const), ...base, ...starts }
}

function contents(baseLines: readonly string[], currentLines: readonly string[], hunk: Hunk) {
  const old = baseLines.slice(hunk.baseStart, hunk.baseEnd)
  const current = currentLines.slice(hunk.currentStart, hunk.currentEnd)
  const sameButTerminators =
    old.length === current.length &&
    old.every((line, index) => withoutTerminator(line) === withoutTerminator(current[index]!))
  return {
    ...(old.length > 0 && { old_content: textOf(old) }),
    ...(current.length > 0 && { new_content: textOf(current) }),
    ...(sameButTerminators && { terminators_only: true })
  }
}

function contextBefore(lines: readonly string[], start: number, end: number): readonly string[] {
  const context = lines.slice(start, end)
  return context.slice(context.findLastIndex(isTooLong) + 1)
}

function contextAfter(lines: readonly string[], start: number, end: number): readonly string[] {
  const context = lines.slice(start, end)
  const tooLong = context.findIndex(isTooLong)
  return tooLong === -1 ? context : context.slice(0, tooLong)
}

function isTooLong(line: string): boolean {
  return line.length > maxContextLineChars
}

function textOf(lines: readonly string[]): string {
  return withoutTerminator(lines.join(''))
}
