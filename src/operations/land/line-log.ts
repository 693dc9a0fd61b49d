// Every line that a file has had since HEAD, in its order, with the change that brought it and the one that took it away.
import { diffLines } from '../../engine/diff/hunks.ts'
import { align, type WeighedLine } from './align.ts'
import { bound, cancel, isEqual } from './cancel-lines.ts'
import { partiesIn, type Doubt, type Hunk, type Line, type LineLog } from './logged-line.ts'
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
  /** Whether a line that one author took away and another one brought is a change of each. Default: it is no difference. */
  readonly countsRestored?: boolean
  /** Of those that a hunk can have among equal lines. Default: `last`. */
  readonly places?: Places
}

/** @param stages in their order; the last one is the file as it is */
export function createLineLog<Change>(
  head: readonly string[],
  stages: readonly Stage<Change>[],
  rules: LineRules<Change> = {}
): LineLog<Change> {
  const log = beginLineLog(head, rules)
  for (const stage of stages) log.add(stage)
  return log.end()
}

/** The same, stage by stage: many of a long file take seconds, in which others want their turn. */
export function beginLineLog<Change>(
  head: readonly string[],
  { isSame = () => false, restores = () => false, countsRestored = false, places = 'last' }: LineRules<Change> = {}
) {
  let lines: Line<Change>[] = head.map((text) => ({ text, made: undefined, removed: undefined }))
  const doubts: Doubt<Change>[] = []
  return {
    add(stage: Stage<Change>): void {
      // Nobody has changed a file that is as HEAD has it.
      const isReset = !countsRestored && isEqual(stage.lines, head)
      lines = addStage(lines, stage, { isSame, restores: (change) => isReset || restores(change), places, doubts })
    },
    end(): LineLog<Change> {
      const all = countsRestored ? lines : cancel(lines)
      const partiesOf = partiesIn(all)
      const isOpen = (doubt: Doubt<Change>) => [...partiesOf(doubt)].some((one) => !isSame(one, doubt.hunk.change))
      return { lines: all, doubts: doubts.filter(isOpen) }
    }
  }
}

/**
 * The same log, beside another HEAD: what that one has is no difference any more, whoever made it.
 * @param unknown what differs, and is of none of the stages
 */
export function withHead<Change>(
  { lines, doubts }: LineLog<Change>,
  head: readonly string[],
  unknown: Change,
  { countsRestored = false }: LineRules<Change> = {}
): LineLog<Change> {
  return { lines: lay(lines, head, align(weighAll(lines, head), head), unknown, countsRestored), doubts }
}

/** The same for a HEAD that has all of some changes and nothing of the others; undefined if its lines are not these. */
export function withLanded<Change>(
  { lines, doubts }: LineLog<Change>,
  head: readonly string[],
  isLanded: (change: Change) => boolean,
  unknown: Change,
  { countsRestored = false }: LineRules<Change> = {}
): LineLog<Change> | undefined {
  const has = ({ made, removed }: Line<Change>) =>
    (made === undefined || isLanded(made.change)) && (removed === undefined || !isLanded(removed.change))
  // A line that came and went before HEAD cannot land any more.
  const isOver = ({ made, removed }: Line<Change>) =>
    made !== undefined && removed !== undefined && isLanded(removed.change)
  const left = lines.filter((line) => !isOver(line))
  const places = left.flatMap((line, index) => (has(line) ? index : []))
  const texts = places.map((place) => left[place]!.text)
  if (!isEqual(texts, head)) return undefined
  for (const line of lines.filter(isOver)) forget(line)
  return { lines: lay(left, head, places, unknown, countsRestored), doubts }
}

/** @param places of each line of HEAD the index of its line */
function lay<Change>(
  lines: readonly Line<Change>[],
  head: readonly string[],
  places: readonly (number | undefined)[],
  unknown: Change,
  countsRestored: boolean
): Line<Change>[] {
  const foreign: Hunk<Change> = { change: unknown, removed: [], made: [], left: undefined, right: undefined }
  const laid: Line<Change>[] = []
  let at = 0
  const skipTo = (end: number) => {
    laid.push(...lines.slice(at, end).flatMap((line) => beyondHead(line, foreign)))
    at = end
  }
  for (const [index, found] of places.entries()) {
    if (found === undefined) laid.push(taken(head[index]!, foreign))
    else {
      skipTo(found)
      laid.push(ofHead(lines[found]!))
      at = found + 1
    }
  }
  skipTo(lines.length)
  return countsRestored ? laid : cancel(laid)
}

/** Of equal lines HEAD mostly has the one that it had, then one of a change that it has as a whole, then one that is there. */
function weighAll<Change>(lines: readonly Line<Change>[], head: readonly string[]): WeighedLine[] {
  const changes = new Map<Change, Line<Change>[]>()
  for (const line of lines) {
    if (line.made === undefined) continue
    const own = changes.get(line.made.change)
    if (own === undefined) changes.set(line.made.change, [line])
    else own.push(line)
  }
  const whole = new Set([...changes].flatMap(([change, made]) => (hasWhole(made, head) ? [change] : [])))
  return lines.map(({ text, made, removed }) => {
    if (made === undefined) return { text, weight: 4 }
    return { text, weight: (whole.has(made.change) ? 2 : 0) + (removed === undefined ? 1 : 0) }
  })
}

/** Whether HEAD has the lines of a change that are still there, or all of them if none is, in their order. */
function hasWhole<Change>(made: readonly Line<Change>[], head: readonly string[]): boolean {
  const alive = made.filter(({ removed }) => removed === undefined)
  let from = 0
  return (alive.length > 0 ? alive : made).every(({ text }) => {
    from = head.indexOf(text, from) + 1
    return from > 0
  })
}

/** No change has made or removed this line, as far as HEAD and the tree are concerned. */
function forget<Change>(line: Line<Change>): void {
  line.removed?.removed.splice(line.removed.removed.indexOf(line), 1)
  ofHead(line)
}

/** HEAD has this line now. */
function ofHead<Change>(line: Line<Change>): Line<Change> {
  line.made?.made.splice(line.made.made.indexOf(line), 1)
  line.made = undefined
  return line
}

/** A line of HEAD that no stage has seen. */
function taken<Change>(text: string, foreign: Hunk<Change>): Line<Change> {
  const line = { text, made: undefined, removed: foreign }
  foreign.removed.push(line)
  return line
}

/** HEAD has not got this line: a change that took it away is in HEAD, too. */
function beyondHead<Change>(line: Line<Change>, foreign: Hunk<Change>): readonly Line<Change>[] {
  if (line.made !== undefined) return [line]
  if (line.removed !== undefined) {
    line.removed.removed.splice(line.removed.removed.indexOf(line), 1)
    return []
  }
  line.made = foreign
  foreign.made.push(line)
  return [line]
}

interface StageRules<Change> extends Required<Omit<LineRules<Change>, 'countsRestored'>> {
  /** Added to. */
  readonly doubts: Doubt<Change>[]
}

function addStage<Change>(
  lines: readonly Line<Change>[],
  { change, lines: next }: Stage<Change>,
  { isSame, restores, places, doubts }: StageRules<Change>
): Line<Change>[] {
  const isBack = ({ made, removed }: Line<Change>) =>
    removed !== undefined && (isSame(removed.change, change) || (made === undefined && restores(change)))
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
  /** Lines of HEAD that the author had put back and takes away again, each with what takes it away otherwise. */
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
      if (line.undone !== undefined && isSame(line.undone.by, change)) again.set(line, own)
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
  for (const [line, own] of again) removeAgain(line, own, isSame)
  return [...(behind.get(undefined) ?? []), ...lines.flatMap((line) => [line, ...(behind.get(line) ?? [])])]
}

/** Of a long run of equal lines every change would else keep all. */
function endsOf<Item>(items: readonly Item[]): readonly Item[] {
  return items.length <= 2 * maxEnd ? items : [...items.slice(0, maxEnd), ...items.slice(-maxEnd)]
}

/** As git stash does: the change that had taken the line away is back, if all that it had brought is. */
function removeAgain<Change>(
  line: Line<Change>,
  own: Hunk<Change>,
  isSame: (one: Change, other: Change) => boolean
): void {
  const { removal } = line.undone!
  line.undone = undefined
  if (removal.made.some(({ removed }) => removed !== undefined && isSame(removed.change, own.change))) return
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
