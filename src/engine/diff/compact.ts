// Moves hunks that repeated lines allow in several places to the place where git puts them.
import type { Hunk, Line } from './hunks.ts'

/** A run of changed lines on one side, possibly empty: there is one between any two unchanged lines, and at either end. */
interface Group {
  start: number
  end: number
}

interface Side {
  readonly lines: readonly Line[]
  /** 1 for each line that is not matched by one of the other side. */
  readonly changed: Uint8Array
}

/**
 * The same difference with each run of removed or added lines slid down as far as it goes, or to the last place where
 * lines of the other side change as well; runs that meet become one. It is what git does (xdl_change_compact), so that a
 * merge conflicts in the expected places.
 */
export function compactHunks(
  baseLines: readonly Line[],
  currentLines: readonly Line[],
  hunks: readonly Hunk[]
): Hunk[] {
  const base = { lines: baseLines, changed: new Uint8Array(baseLines.length) }
  const current = { lines: currentLines, changed: new Uint8Array(currentLines.length) }
  for (const { baseStart, baseEnd, currentStart, currentEnd } of hunks) {
    base.changed.fill(1, baseStart, baseEnd)
    current.changed.fill(1, currentStart, currentEnd)
  }
  slideGroups(base, current)
  slideGroups(current, base)
  return hunksOf(base.changed, current.changed)
}

function slideGroups(side: Side, other: Side): void {
  const group = firstGroup(side)
  const opposite = firstGroup(other)
  // Groups of both sides correspond: as many unchanged lines precede them.
  do {
    if (group.end > group.start) slideGroup(side, group, other, opposite)
  } while (toNext(side, group) && toNext(other, opposite))
}

function slideGroup(side: Side, group: Group, other: Side, opposite: Group): void {
  let size: number
  let isMatched: boolean
  let canSlide: boolean
  do {
    size = group.end - group.start
    while (slideUp(side, group)) toPrevious(other, opposite)
    const highest = group.end
    isMatched = opposite.end > opposite.start
    while (slideDown(side, group)) {
      toNext(other, opposite)
      if (opposite.end > opposite.start) isMatched = true
    }
    canSlide = group.end !== highest
    // Having met another group, it is larger, and may go further up.
  } while (size !== group.end - group.start)
  if (!canSlide || !isMatched) return
  while (opposite.end === opposite.start && slideUp(side, group)) toPrevious(other, opposite)
}

function firstGroup(side: Side): Group {
  const group = { start: 0, end: 0 }
  growDown(side, group)
  return group
}

function toNext(side: Side, group: Group): boolean {
  if (group.end === side.lines.length) return false
  group.start = group.end + 1
  group.end = group.start
  growDown(side, group)
  return true
}

function toPrevious(side: Side, group: Group): void {
  group.end = group.start - 1
  group.start = group.end
  growUp(side, group)
}

function slideDown(side: Side, group: Group): boolean {
  const { lines, changed } = side
  if (group.end === lines.length || lines[group.start] !== lines[group.end]) return false
  changed[group.start++] = 0
  changed[group.end++] = 1
  growDown(side, group)
  return true
}

function slideUp(side: Side, group: Group): boolean {
  const { lines, changed } = side
  if (group.start === 0 || lines[group.start - 1] !== lines[group.end - 1]) return false
  changed[--group.start] = 1
  changed[--group.end] = 0
  growUp(side, group)
  return true
}

function growDown({ changed }: Side, group: Group): void {
  while (changed[group.end] === 1) group.end++
}

function growUp({ changed }: Side, group: Group): void {
  while (group.start > 0 && changed[group.start - 1] === 1) group.start--
}

function hunksOf(removed: Uint8Array, added: Uint8Array): Hunk[] {
  const hunks: Hunk[] = []
  let baseAt = 0
  let currentAt = 0
  while (baseAt < removed.length || currentAt < added.length) {
    const baseStart = baseAt
    const currentStart = currentAt
    while (removed[baseAt] === 1) baseAt++
    while (added[currentAt] === 1) currentAt++
    if (baseAt > baseStart || currentAt > currentStart) {
      hunks.push({ baseStart, baseEnd: baseAt, currentStart, currentEnd: currentAt })
    } else {
      baseAt++
      currentAt++
    }
  }
  return hunks
}
