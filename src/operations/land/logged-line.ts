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
}
