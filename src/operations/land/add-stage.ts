// Adds what a file was after a change to the lines that it has had: which lines the change brought, took away, or brought back.
import { diffLines } from '../../engine/diff/hunks.ts'
import { align } from './align.ts'
import { bound } from './cancel-lines.ts'
import type { Doubt, Hunk, Line, Undone } from './logged-line.ts'
import { slideHunks, type Places } from './slide-hunks.ts'

/** Lines that a doubt keeps of each end of a run. */
const maxEnd = 50

/** What a file was after a change. */
export interface Stage<Change> {
  readonly change: Change
  readonly lines: readonly string[]
}

export interface LineRules<Change> {
  /** Whether two changes have the same author: what one takes away and brings back is as it was, whoever made it. Default: never. */
  readonly isSame?: (one: Change, other: Change) => boolean
  /** Changes by which a line of HEAD that others have taken away is as it was, as Git and people put it back. Default: none. */
  readonly restores?: (change: Change) => boolean
  /** Whether the first change undoes the other, and so brings back the lines that the other removed. Its author does not matter. Default: never. */
  readonly takesBack?: (change: Change, other: Change) => boolean
  /** Whether a line that one author took away and another one brought is a change of each. Default: it is no difference. */
  readonly countsRestored?: boolean
  /** Of those that a hunk can have among equal lines. Default: `last`. */
  readonly places?: Places
}

interface StageRules<Change> extends Required<Omit<LineRules<Change>, 'countsRestored'>> {
  /** Added to. */
  readonly doubts: Doubt<Change>[]
}

export function addStage<Change>(
  lines: readonly Line<Change>[],
  { change, lines: next }: Stage<Change>,
  { isSame, restores, takesBack, places, doubts }: StageRules<Change>
): Line<Change>[] {
  const isEnded = (other: Change) => isSame(other, change) || takesBack(change, other)
  const isBack = ({ made, removed }: Line<Change>) =>
    removed !== undefined && (isEnded(removed.change) || (made === undefined && restores(change)))
  /** What an undo has put back is away again by the undo of that only. */
  const isAgain = ({ removal, by }: Undone<Change>) =>
    takesBack(change, by) || (isSame(by, change) && !takesBack(by, removal.change))
  const alive: Line<Change>[] = []
  /** The index of each of these. */
  const indexes: number[] = []
  for (const [index, line] of lines.entries())
    if (line.removed === undefined) {
      alive.push(line)
      indexes.push(index)
    }
  const base = alive.map(({ text }) => text)
  const divides = (at: number) => {
    const made = alive[at]?.made
    return made !== undefined && made === alive[at - 1]?.made && !isSame(made.change, change)
  }
  const hunks = slideHunks(diffLines(base, next, bound).hunks, { base, current: next, divides, places })
  /** What comes right behind a line; behind none: at the start. */
  const behind = new Map<Line<Change> | undefined, Line<Change>[]>()
  /** Lines that were put back and are taken away again, each with what takes it away otherwise. */
  const again = new Map<Line<Change>, Hunk<Change>>()
  /** The lines between these two that are there, and those beside them that are not. */
  const between = (start: number, end: number) => lines.slice((indexes[start - 1] ?? -1) + 1, indexes[end])
  for (const { baseStart, baseEnd, currentStart, currentEnd, reach } of hunks) {
    const removed = alive.slice(baseStart, baseEnd)
    const [left, right] = [alive[baseStart - 1], alive[baseEnd]]
    const gap = between(baseStart, baseEnd)
    const gone = gap.filter(isBack)
    const texts = next.slice(currentStart, currentEnd)
    const back = bringBack(gone, texts, { change, isSame })
    const nextBack = (from: number) => back.find((line, index) => index >= from && line !== undefined)
    let own: Hunk<Change> = { change, removed, made: [], left, right: nextBack(0) ?? right }
    if (reach !== undefined) doubts.push({ hunk: own, lines: endsOf(between(reach.start, reach.end)) })
    for (const line of removed) {
      if (line.undone !== undefined && isAgain(line.undone)) again.set(line, own)
      line.removed = own
    }
    let last = nextBack(0) === undefined ? (removed.at(-1) ?? left) : left
    for (const [index, found] of back.entries()) {
      if (found === undefined) {
        const line = { text: texts[index]!, made: own, removed: undefined }
        own.made.push(line)
        behind.set(last, [...(behind.get(last) ?? []), line])
      } else {
        own = { change, removed: [], made: [], left: found, right: nextBack(index + 1) ?? right }
        last = found
      }
    }
  }
  for (const [line, own] of again) removeAgain(line, own, isEnded)
  return [...(behind.get(undefined) ?? []), ...lines.flatMap((line) => [line, ...(behind.get(line) ?? [])])]
}

/** Of a long run of equal lines every change would else keep all. */
function endsOf<Item>(items: readonly Item[]): readonly Item[] {
  return items.length <= 2 * maxEnd ? items : [...items.slice(0, maxEnd), ...items.slice(-maxEnd)]
}

/** As git stash and an undo do: the change that had taken the line away is back, if all that it had brought is. */
function removeAgain<Change>(line: Line<Change>, own: Hunk<Change>, isEnded: (other: Change) => boolean): void {
  const { removal } = line.undone!
  line.undone = undefined
  if (removal.made.some(({ removed }) => removed !== undefined && isEnded(removed.change))) return
  own.removed.splice(own.removed.indexOf(line), 1)
  removal.removed.push(line)
  line.removed = removal
}

/** Those of the lines that are there again, one for each text that is one of them. */
function bringBack<Change>(
  gone: readonly Line<Change>[],
  texts: readonly string[],
  { change, isSame }: { readonly change: Change; readonly isSame: (one: Change, other: Change) => boolean }
): (Line<Change> | undefined)[] {
  if (gone.length === 0) return texts.map(() => undefined)
  const weighed = gone.map(({ text }) => ({ text, weight: 0 }))
  return align(weighed, texts).map((found) => {
    const line = found === undefined ? undefined : gone[found]!
    const removal = line?.removed
    if (line === undefined || removal === undefined) return undefined
    removal.removed.splice(removal.removed.indexOf(line), 1)
    line.removed = undefined
    line.undone = isSame(removal.change, change) ? undefined : { removal, by: change }
    return line
  })
}
