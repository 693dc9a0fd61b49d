// Every line that a file has had since HEAD, in its order, with the change that brought it and the one that took it away.
import { diffLines } from '../../engine/diff/hunks.ts'
import { align, type WeighedLine } from './align.ts'

/** One hunk of one change: a change that differs at several places has several. */
export interface Hunk<Change> {
  readonly change: Change
  /** What it took away. */
  readonly removed: Line<Change>[]
  /** What it brought. */
  readonly made: Line<Change>[]
  /** The lines that were beside it. */
  readonly left: Line<Change> | undefined
  readonly right: Line<Change> | undefined
}

export interface Line<Change> {
  readonly text: string
  /** Undefined for a line of HEAD. */
  made: Hunk<Change> | undefined
  /** Undefined for a line that is in the file now. */
  removed: Hunk<Change> | undefined
  /** The removal that a change of another author has taken back. */
  undone?: Undone<Change> | undefined
}

interface Undone<Change> {
  readonly removal: Hunk<Change>
  readonly by: Change
}

export interface LineLog<Change> {
  /** All lines that HEAD has or that the file has now, and those between: HEAD's in the order of HEAD, those of now in their order. */
  readonly lines: readonly Line<Change>[]
}

/** Of one step from a version to the next. */
const bound = { maxEditLength: 5000, timeoutMs: 200 }

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
  { isSame = () => false, restores = () => false, countsRestored = false }: LineRules<Change> = {}
) {
  let lines: Line<Change>[] = head.map((text) => ({ text, made: undefined, removed: undefined }))
  return {
    add(stage: Stage<Change>): void {
      // Nobody has changed a file that is as HEAD has it.
      const isReset = !countsRestored && isEqual(stage.lines, head)
      lines = addStage(lines, stage, { isSame, restores: (change) => isReset || restores(change) })
    },
    end: (): LineLog<Change> => ({ lines: countsRestored ? lines : cancel(lines) })
  }
}

/**
 * The same log, beside another HEAD: what that one has is no difference any more, whoever made it.
 * @param unknown what differs, and is of none of the stages
 */
export function withHead<Change>(
  { lines }: LineLog<Change>,
  head: readonly string[],
  unknown: Change,
  { countsRestored = false }: LineRules<Change> = {}
): LineLog<Change> {
  const foreign: Hunk<Change> = { change: unknown, removed: [], made: [], left: undefined, right: undefined }
  const laid: Line<Change>[] = []
  let at = 0
  const skipTo = (end: number) => {
    laid.push(...lines.slice(at, end).flatMap((line) => beyondHead(line, foreign)))
    at = end
  }
  for (const [index, found] of align(lines.map(weigh), head).entries()) {
    if (found === undefined) laid.push(taken(head[index]!, foreign))
    else {
      skipTo(found)
      laid.push(ofHead(lines[found]!))
      at = found + 1
    }
  }
  skipTo(lines.length)
  return { lines: countsRestored ? laid : cancel(laid) }
}

/** Of equal lines HEAD mostly has the one that it had, then one that is there. */
function weigh<Change>({ text, made, removed }: Line<Change>): WeighedLine {
  return { text, weight: made === undefined ? 2 : removed === undefined ? 1 : 0 }
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

function addStage<Change>(
  lines: readonly Line<Change>[],
  { change, lines: next }: Stage<Change>,
  { isSame, restores }: Required<Pick<LineRules<Change>, 'isSame' | 'restores'>>
): Line<Change>[] {
  const isBack = ({ made, removed }: Line<Change>) =>
    removed !== undefined && (isSame(removed.change, change) || (made === undefined && restores(change)))
  const alive: Line<Change>[] = []
  /** The index of each of these. */
  const places: number[] = []
  for (const [index, line] of lines.entries())
    if (line.removed === undefined) {
      alive.push(line)
      places.push(index)
    }
  const { hunks } = diffLines(
    alive.map(({ text }) => text),
    next,
    bound
  )
  /** What comes right behind a line; behind none: at the start. */
  const behind = new Map<Line<Change> | undefined, Line<Change>[]>()
  /** Lines of HEAD that the author had put back and takes away again, each with what takes it away otherwise. */
  const again = new Map<Line<Change>, Hunk<Change>>()
  for (const { baseStart, baseEnd, currentStart, currentEnd } of hunks) {
    const removed = alive.slice(baseStart, baseEnd)
    const [left, right] = [alive[baseStart - 1], alive[baseEnd]]
    const gap = lines.slice(left === undefined ? 0 : places[baseStart - 1]! + 1, places[baseEnd])
    const gone = gap.filter(isBack)
    const texts = next.slice(currentStart, currentEnd)
    const back = bringBack(gone, texts, { change, isSame })
    const nextBack = (from: number) => back.find((line, index) => index >= from && line !== undefined)
    let own: Hunk<Change> = { change, removed, made: [], left, right: nextBack(0) ?? right }
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

/**
 * A line of HEAD that was taken away and brought back by another change is no difference. Between two lines of HEAD that are there,
 * the lost and the new ones are compared; which of the lost and the new come first between two equal ones is as it was.
 */
function cancel<Change>(lines: readonly Line<Change>[]): Line<Change>[] {
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

function isEqual(one: readonly string[], other: readonly string[]): boolean {
  return one.length === other.length && one.every((text, index) => text === other[index])
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
