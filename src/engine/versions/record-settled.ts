// The log entry of a change that a killed process has begun and the next one has finished.
import { OperationError } from '../../errors.ts'
import type { FileStore } from '../files/file-store.ts'
import { identityOf, unknownIdentity } from '../files/identity.ts'
import { contentHash } from '../files/content-hash.ts'
import { readNow } from '../files/read-file.ts'
import { isHash, matches, type Note, type NotedStep } from '../commit/note.ts'
import type { Bases } from './bases.ts'
import { linkAt } from './link-at.ts'
import { type MadeStep, nothing } from './made-step.ts'
import type { History } from './history.ts'
import { isSomethingThere } from './version.ts'

interface Parts {
  readonly files: Pick<FileStore, 'openCanonical'>
  readonly bases: Bases
  readonly history: History
}

/** Larger ones are examined when they are next read. */
const maxBytes = 16 * 1024 * 1024

export function recordSettled({ agentId, operation, changeSet, steps }: Note, parts: Parts): void {
  const made = steps.map((step) => findMade(step, agentId, parts)).filter((step) => step !== undefined)
  parts.history.append({ agentId, operation, ...(changeSet !== undefined && { changeSet }) }, made)
}

/** @returns undefined if another program has changed it since, or it was recorded before the kill */
function findMade(
  { path, before, after, renamedFrom, renamedTo, restores, takesBack }: NotedStep,
  agentId: string,
  { files, bases, history }: Parts
): MadeStep | undefined {
  try {
    const place = files.openCanonical(path)
    const { directory, name, stat } = place
    try {
      const last = history.last(path)
      if (stat === undefined || stat.isDirectory()) {
        const isKnown = last !== undefined && !isSomethingThere(last) && last.agentId === agentId
        return isKnown || !matches(place, after) ? undefined : { path, now: nothing, renamedTo, takesBack }
      }
      if (stat.isSymbolicLink()) {
        const now = linkAt(place)
        if (now === undefined || last?.link === now.entry.link) return undefined
        return { path, now, renamedFrom, restores, takesBack }
      }
      const bytes = stat.isFile() ? readNow(directory, name, maxBytes) : undefined
      if (bytes === undefined) return undefined
      const hash = contentHash(bytes)
      // The version before is known by its bytes, which the transaction had kept.
      if (last === undefined && isHash(before))
        history.observe(path, { kind: 'file', hash: before, identity: unknownIdentity })
      if (isHash(after) && hash !== after) return undefined
      if (last?.hash === hash && last.agentId === agentId) return undefined
      bases.keep(hash, bytes)
      return { path, now: { kind: 'file', hash, identity: identityOf(stat) }, renamedFrom, restores, takesBack }
    } finally {
      place.close()
    }
  } catch (error) {
    if (!(error instanceof OperationError)) throw error
    return undefined
  }
}
