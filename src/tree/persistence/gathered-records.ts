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
  const gathered = new Map<PersistedPart, Map<unknown, Change['records']>>(parts.map((part) => [part, new Map()]))
  /** Records that wait for the urgent one of this tick. */
  let joining: string[] = []

  function note(part: PersistedPart, { key, records, isUrgent = false, joinsNext = false }: Change): void {
    if (joinsNext) {
      if (joining.length === 0) queueMicrotask(appendJoining)
      joining.push(...jsonOf(part, records()))
      return
    }
    if (!isUrgent) {
      gathered.get(part)?.set(key, records)
      flushLater()
      return
    }
    gathered.get(part)?.delete(key)
    const made = records()
    if (made.length > 0) append([...takeJoining(), ...jsonOf(part, made)])
    // A record that is not gathered reaches the disk with the next gathered ones.
    flushLater()
  }

  function takeJoining(): string[] {
    const lines = joining
    joining = []
    return lines
  }

  function appendJoining(): void {
    const lines = takeJoining()
    if (lines.length > 0) append(lines)
    flushLater()
  }

  function flush(): void {
    const lines: string[] = []
    for (const [part, changes] of gathered) {
      for (const records of changes.values()) lines.push(...jsonOf(part, records()))
      changes.clear()
    }
    if (lines.length > 0) append(lines)
  }

  return { note, flush }
}

function jsonOf({ name }: PersistedPart, records: readonly unknown[]): string[] {
  return records.map((record) => toJson(name, record))
}
