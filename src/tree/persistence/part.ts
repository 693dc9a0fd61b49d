// What a part of the engine is that outlives the process: leases, histories, and whatever else is remembered.

/** Something has changed that a later process must know. */
export interface Change {
  /** What has changed: of several changes of one thing that are gathered, one record is written. */
  readonly key: unknown
  /** Plain JSON. Asked for when it is written; undefined writes nothing. */
  readonly record: () => unknown
  /** Written before this returns, and not gathered with others. It survives the death of the process from then on. */
  readonly isUrgent?: boolean
}

export interface PersistedPart {
  /** Of its records, for ever: letters alone. */
  readonly name: string
  /** True where no call may be carried out before it is restored. Such a part is small, and restored without a pause. */
  readonly isNeededAtOnce: boolean
  /** True where nothing that happens to it while the process stops is to be remembered. */
  readonly isFrozenByStop?: boolean
  /** The records that bring about the same again: plain JSON, which nobody changes later. */
  readonly dump: () => Iterable<unknown>
  /** Takes up what earlier processes have written, in that order. Calls may have changed a part that is not needed at once by then. */
  readonly restore: (records: Iterable<unknown>) => void | Promise<void>
  /** @returns ends it */
  readonly onChange: (tell: (change: Change) => void) => () => void
}

const sliceMs = 4

/** Goes through very many things without keeping others waiting for long. */
export async function inSlices<Item>(items: Iterable<Item>, use: (item: Item) => void): Promise<void> {
  let until = performance.now() + sliceMs
  for (const item of items) {
    use(item)
    if (performance.now() < until) continue
    await new Promise((resolve) => setImmediate(resolve))
    until = performance.now() + sliceMs
  }
}
