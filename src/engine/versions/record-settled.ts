// The versions of a transaction that a killed process has begun and the next one has finished.
import { OperationError } from '../../errors.ts'
import type { FileStore } from '../files/file-store.ts'
import { identityOf, unknownIdentity } from '../files/identity.ts'
import { readLink } from '../files/links.ts'
import { contentHash, readNow } from '../files/read-file.ts'
import type { RecordedStep, TransactionRecord } from '../commit/record.ts'
import type { Bases } from './bases.ts'
import type { History } from './history.ts'
import { isSomethingThere, type Author } from './version.ts'

interface Parts {
  readonly files: Pick<FileStore, 'open'>
  readonly bases: Bases
  readonly history: History
}

/** Larger ones are examined when they are next read. */
const maxBytes = 16 * 1024 * 1024

export function recordSettled({ agentId, operation, changeSet, steps }: TransactionRecord, parts: Parts): void {
  const group = parts.history.nextGroup()
  const author = { agentId, operation, ...(changeSet !== undefined && { changeSet }), group }
  for (const step of steps) recordStep(step, author, parts)
}

function recordStep(
  { path, before, after, renamedFrom, renamedTo, restores }: RecordedStep,
  author: Author,
  parts: Parts
): void {
  const { files, bases, history } = parts
  try {
    const place = files.open(path, 'entry')
    const { directory, name, stat } = place
    try {
      const last = history.last(path)
      if (stat === undefined) {
        const isKnown = last !== undefined && !isSomethingThere(last) && last.agentId === author.agentId
        if (after === null && !isKnown) history.recordGone(path, { author, renamedTo })
        return
      }
      if (stat.isSymbolicLink()) {
        const link = readLink(place)
        if (last?.link !== link) history.recordEntry(path, { link }, { author, renamedFrom, restores })
        return
      }
      const bytes = stat.isFile() ? readNow(directory, name, maxBytes) : undefined
      if (bytes === undefined) return
      const hash = contentHash(bytes)
      // The version before is known by its bytes, which the transaction had kept.
      if (last === undefined && before?.startsWith('sha256:') === true) history.record(path, before, unknownIdentity)
      // Changed since by another program, or recorded before the kill.
      if (after?.startsWith('sha256:') === true && hash !== after) return
      if (last?.hash === hash && last.agentId === author.agentId) return
      bases.keep(hash, bytes)
      history.record(path, hash, identityOf(stat), { author, renamedFrom, restores })
    } finally {
      place.close()
    }
  } catch (error) {
    if (!(error instanceof OperationError)) throw error
  }
}
