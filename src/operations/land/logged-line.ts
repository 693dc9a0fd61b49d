// A line that a file has had since HEAD, and the changes that brought it and took it away.

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
  /** Those in which changes of others have a part. */
  readonly doubts: readonly Doubt<Change>[]
  /** The log of the same changes, with their hunks at other places. Default: none. */
  readonly others?: readonly LineLog<Change>[]
}

/** A hunk that makes the same text at other places among equal lines: then other lines are its own. */
export interface Doubt<Change> {
  readonly hunk: Hunk<Change>
  /** From the first of these places to the last one. */
  readonly lines: readonly Line<Change>[]
}

/** The changes that have made lines from the first to the last one that may be meant, or taken them away; none of those that HEAD has. */
export function partiesOf<Change>({ hunk, lines }: Doubt<Change>, all: readonly Line<Change>[]): Set<Change> {
  const meant = new Set([...lines, ...hunk.made])
  const isMeant = (line: Line<Change>) => meant.has(line)
  const range = all.slice(all.findIndex(isMeant), all.findLastIndex(isMeant) + 1)
  return new Set(range.flatMap(({ made, removed }) => [made, removed].flatMap((one) => one?.change ?? [])))
}
