// Every line that a file has had since HEAD, in its order, with the change that brought it and the one that took it away.
import { addStage, type LineRules, type Stage } from './add-stage.ts'
import { align, type WeighedLine } from './align.ts'
import { cancel, isEqual } from './cancel-lines.ts'
import { partiesIn, type Doubt, type Hunk, type Line, type LineLog } from './logged-line.ts'

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
  {
    isSame = () => false,
    restores = () => false,
    takesBack = () => false,
    countsRestored = false,
    places = 'last'
  }: LineRules<Change> = {}
) {
  let lines: Line<Change>[] = head.map((text) => ({ text, made: undefined, removed: undefined }))
  const doubts: Doubt<Change>[] = []
  return {
    add(stage: Stage<Change>): void {
      // Nobody has changed a file that is as HEAD has it.
      const isReset = !countsRestored && isEqual(stage.lines, head)
      const rules = { isSame, restores: (change: Change) => isReset || restores(change), takesBack, places, doubts }
      lines = addStage(lines, stage, rules)
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
