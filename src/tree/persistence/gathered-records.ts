// Changes of the state on their way to the journal: urgent ones at once, all others together a moment later.
import type { Change, PersistedPart } from './part.ts'
import { toJson } from './records.ts'

interface GatheringOptions {
  /** Writes lines to the journal. Never throws. */
  readonly append: (lines: readonly string[]) => void
  /** Something has been gathered: `flush` is to be called soon. */
  readonly flushLater: () => void
}

export function gatherRecords(parts: readonly PersistedPart[], { append, flushLater }: GatheringOptions) {
  const gathered = new Map<PersistedPart, Map<unknown, () => unknown>>(parts.map((part) => [part, new Map()]))
  /** Records that wait for the urgent one of this tick. */
  let joining: string[] = []

  function note(part: PersistedPart, { key, record, isUrgent = false, joinsNext = false }: Change): void {
    if (joinsNext) {
      joining.push(toJson(part.name, record()))
      if (joining.length === 1) queueMicrotask(appendJoining)
      return
    }
    if (!isUrgent) {
      gathered.get(part)?.set(key, record)
      flushLater()
      return
    }
    gathered.get(part)?.delete(key)
    const made = record()
    if (made !== undefined) append([...takeJoining(), toJson(part.name, made)])
    // A record that is not gathered reaches the disk with the next gathered ones.
    flushLater()
  }

  function takeJoining(): string[] {
    const records = joining
    joining = []
    return records
  }

  function appendJoining(): void {
    const records = takeJoining()
    if (records.length > 0) append(records)
    flushLater()
  }

  function flush(): void {
    const records: string[] = []
    for (const [part, changes] of gathered) {
      for (const record of changes.values()) {
        const made = record()
        if (made !== undefined) records.push(toJson(part.name, made))
      }
      changes.clear()
    }
    if (records.length > 0) append(records)
  }

  return { note, flush }
}
