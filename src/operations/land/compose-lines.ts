// HEAD's text with the lines of chosen changes, and what these rest on. Neither a merge nor an undo: each line is there or not.
import { isEqual } from './cancel-lines.ts'
import { partiesIn, type Hunk, type Line, type LineLog } from './logged-line.ts'

/** A hunk that rests on a change that is not chosen. */
export interface Dependence<Change> {
  readonly hunk: Hunk<Change>
  readonly on: Change
}

export interface ComposedLines<Change> {
  readonly lines: readonly string[]
  /** If there are any, the lines are not what anybody has made. */
  readonly dependences: readonly Dependence<Change>[]
  /** Whether a line is another than in HEAD. */
  readonly isChanged: boolean
}

export interface LineChoice<Change> {
  /** The changes whose lines are taken. */
  readonly isChosen: (change: Change) => boolean
  /** Changes that have not happened: what they took away is there. Default: none. */
  readonly isUndone?: (change: Change) => boolean
}

/** If the result depends on where hunks lie among equal lines, it rests on those whose lines may be meant. */
export function composeLines<Change>(log: LineLog<Change>, choice: LineChoice<Change>): ComposedLines<Change> {
  const { others = [] } = log
  const composed = composeAt(log, choice)
  if (others.every((other) => isEqual(composeAt(other, choice).lines, composed.lines))) return composed
  const doubtful = [log, ...others].map((one) => doubtfulIn(one, choice)).find((found) => found.length > 0) ?? []
  return {
    ...composed,
    dependences: [...composed.dependences, ...doubtful],
    isChanged: composed.isChanged || doubtful.length > 0
  }
}

function doubtfulIn<Change>(
  { doubts, lines }: LineLog<Change>,
  { isChosen }: LineChoice<Change>
): Dependence<Change>[] {
  const partiesOf = partiesIn(lines)
  const open = doubts.map((doubt) => {
    const parties = [...partiesOf(doubt)]
    const on = parties.filter((change) => !isChosen(change))
    return { found: on.map((change) => ({ hunk: doubt.hunk, on: change })), isOwn: on.length < parties.length }
  })
  const own = open.filter(({ found, isOwn }) => isOwn && found.length > 0)
  // What has no part in any of them stands beside one.
  return (own.length > 0 ? own : open).flatMap(({ found }) => found)
}

function composeAt<Change>(
  { lines }: LineLog<Change>,
  { isChosen, isUndone = () => false }: LineChoice<Change>
): ComposedLines<Change> {
  const has = (hunk: Hunk<Change> | undefined) => hunk !== undefined && isChosen(hunk.change)
  const isThere = ({ removed }: Line<Change>) => removed === undefined || (!has(removed) && isUndone(removed.change))
  const taken = lines.filter((line) => (line.made === undefined ? !has(line.removed) : isThere(line) && has(line.made)))
  const hunks = new Set(
    lines.flatMap((line) => [
      ...(line.made !== undefined && isThere(line) && has(line.made) ? [line.made] : []),
      ...(line.made === undefined && line.removed !== undefined && has(line.removed) ? [line.removed] : [])
    ])
  )
  // A line that lands as if nobody had removed it has to land before its removal does.
  const removals = lines.flatMap(({ made, removed }) =>
    made !== undefined && removed !== undefined && has(removed) && !has(made) && isUndone(made.change)
      ? [{ hunk: removed, on: made.change }]
      : []
  )
  return {
    lines: taken.map(({ text }) => text),
    dependences: [...dependencesOf(hunks, isChosen, isThere), ...removals],
    isChanged: hunks.size > 0
  }
}

function dependencesOf<Change>(
  hunks: ReadonlySet<Hunk<Change>>,
  isChosen: (change: Change) => boolean,
  isThere: (line: Line<Change>) => boolean
): Dependence<Change>[] {
  const found: Dependence<Change>[] = []
  for (const hunk of hunks) {
    const needed = new Set(restsOn(hunk, hunk.made.some(isThere), isThere))
    // What a needed one rests on is added behind it.
    for (const one of needed)
      for (const other of isChosen(one.change) ? restsOn(one, true, isThere) : []) needed.add(other)
    const others = new Set([...needed].map(({ change }) => change))
    found.push(...[...others].filter((change) => !isChosen(change)).map((on) => ({ hunk, on })))
  }
  return found
}

/** The hunks without which this one is not what its author has made. @param isNeeded whether its lines are */
function restsOn<Change>(
  { removed, made, left, right }: Hunk<Change>,
  isNeeded: boolean,
  isThere: (line: Line<Change>) => boolean
): Hunk<Change>[] {
  const gone = made.filter((line) => !isThere(line))
  return [
    // Its lines took the place of lines that are not in HEAD.
    ...(isNeeded ? removed.flatMap((line) => line.made ?? []) : []),
    // They stand inside of such lines.
    ...(isNeeded && left?.made !== undefined && left.made === right?.made ? [left.made] : []),
    // What it brought has been replaced, or taken away where it was itself a replacement: half of a change is no change.
    ...gone.flatMap(({ removed: later }) => (later && (later.made.length > 0 || removed.length > 0) ? later : []))
  ]
}
