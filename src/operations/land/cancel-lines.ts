// Which lines of a log are no difference from HEAD: those that one change took away and another one brought back.
import { diffLines } from '../../engine/diff/hunks.ts'
import type { Line } from './logged-line.ts'

/** Of one step from a version to the next. */
export const bound = { maxEditLength: 5000, timeoutMs: 200 }

/**
 * A line of HEAD that was taken away and brought back by another change is no difference. Between two lines of HEAD that are there,
 * the lost and the new ones are compared; which of the lost and the new come first between two equal ones is as it was.
 */
export function cancel<Change>(lines: readonly Line<Change>[]): Line<Change>[] {
  if (isAsHead(lines)) return lines.filter(isOfHead).map(asInHead)
  const kept: Line<Change>[] = []
  let gap: Line<Change>[] = []
  for (const line of lines) {
    if (line.made !== undefined || line.removed !== undefined) gap.push(line)
    else {
      kept.push(...cancelGap(gap), line)
      gap = []
    }
  }
  return [...kept, ...cancelGap(gap)]
}

/** Among equal lines it can be another one that was taken away and brought: such a text is as HEAD's all the same. */
function isAsHead<Change>(lines: readonly Line<Change>[]): boolean {
  const [head, now] = [lines.filter(isOfHead), lines.filter(({ removed }) => removed === undefined)]
  return isEqual(
    head.map(({ text }) => text),
    now.map(({ text }) => text)
  )
}

function isOfHead<Change>({ made }: Line<Change>): boolean {
  return made === undefined
}

function asInHead<Change>({ text }: Line<Change>): Line<Change> {
  return { text, made: undefined, removed: undefined }
}

function cancelGap<Change>(gap: readonly Line<Change>[]): readonly Line<Change>[] {
  const lost = gap.filter(({ made }) => made === undefined)
  const fresh = gap.filter(({ made, removed }) => made !== undefined && removed === undefined)
  if (lost.length === 0 || fresh.length === 0) return gap
  const textOf = ({ text }: Line<Change>) => text
  const { hunks } = diffLines(lost.map(textOf), fresh.map(textOf), bound)
  const order = new Map(gap.map((line, index) => [line, index]))
  const passing = gap.filter(({ made, removed }) => made !== undefined && removed !== undefined)
  const laid: Line<Change>[] = []
  let [at, next] = [0, 0]
  /** The lines that stand for those which are not in the result. */
  const restored = new Map<Line<Change>, Line<Change>>()
  const keepEqual = (end: number) => {
    for (; at < end; at += 1, next += 1) {
      const line = restore(lost[at]!, fresh[next]!)
      restored.set(fresh[next]!, line)
      laid.push(line)
    }
  }
  for (const { baseStart, baseEnd, currentStart, currentEnd } of hunks) {
    keepEqual(baseStart)
    const region = [...lost.slice(baseStart, baseEnd), ...fresh.slice(currentStart, currentEnd)]
    laid.push(...region.sort((one, other) => order.get(one)! - order.get(other)!))
    at = baseEnd
    next = currentEnd
  }
  keepEqual(lost.length)
  // What has come and gone is in no text, but changes rest on it: it stays behind the line that it was behind.
  for (const line of passing) {
    const before = gap[order.get(line)! - 1]
    const place = before === undefined ? -1 : laid.indexOf(restored.get(before) ?? before)
    laid.splice(place + 1, 0, line)
  }
  return laid
}

/** The line of HEAD is there, and neither change has touched it. */
function restore<Change>(lost: Line<Change>, fresh: Line<Change>): Line<Change> {
  lost.removed?.removed.splice(lost.removed.removed.indexOf(lost), 1)
  fresh.made?.made.splice(fresh.made.made.indexOf(fresh), 1)
  lost.removed = undefined
  // Others may stand beside it.
  fresh.made = undefined
  return lost
}

export function isEqual(one: readonly string[], other: readonly string[]): boolean {
  return one.length === other.length && one.every((text, index) => text === other[index])
}
