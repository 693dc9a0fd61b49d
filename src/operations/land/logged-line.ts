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

export interface Undone<Change> {
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
  /** Those at both ends of what is between the first and the last of these places. */
  readonly lines: readonly Line<Change>[]
}

/** Tells which changes have made lines that may be meant, or lines between these, or have taken them away; none of those that HEAD has. */
export function partiesIn<Change>(all: readonly Line<Change>[]): (doubt: Doubt<Change>) => Set<Change> {
  const indexes = new Map(all.map((line, index) => [line, index]))
  return ({ hunk, lines }) => {
    let [start, end] = [Infinity, 0]
    for (const line of [...lines, ...hunk.made]) {
      const index = indexes.get(line)
      if (index === undefined) continue
      start = Math.min(start, index)
      end = Math.max(end, index + 1)
    }
    const hunks = all.slice(start, end).flatMap(({ made, removed }) => [made, removed])
    return new Set(hunks.flatMap((one) => one?.change ?? []))
  }
}
