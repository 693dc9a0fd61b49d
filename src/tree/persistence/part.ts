// A part of the engine that outlives the process: leases, histories, and whatever else is remembered.

/** A change that a later process must know. */
export interface Change {
  /** The changed thing: several changes with one key that are gathered become one record. */
  readonly key: unknown
  /** Plain JSON, in one write. Called at the time of the write. */
  readonly records: () => readonly unknown[]
  /** Written before `notify` returns, not gathered with others. From then on it survives the death of the process. */
  readonly isUrgent?: boolean
  /** Written together with the urgent change that follows in this tick, else alone at the end of the tick. */
  readonly joinsNext?: boolean
}

export interface PersistedPart {
  /** Of its records, never changed: letters only. */
  readonly name: string
  /** True if no call may be carried out before the part is restored. Such a part is small, and restored without a pause. */
  readonly isNeededAtOnce: boolean
  /** True if changes while the process stops must not be remembered. */
  readonly isFrozenByStop?: boolean
  /** The records that restore the current state: plain JSON, never changed later. */
  readonly dump: () => Iterable<unknown>
  /** Restores the records of earlier processes, in their order. Calls may have changed a part that is not needed at once by then. */
  readonly restore: (records: Iterable<unknown>) => void | Promise<void>
  /** @returns a function that ends it */
  readonly onChange: (notify: (change: Change) => void) => () => void
}
