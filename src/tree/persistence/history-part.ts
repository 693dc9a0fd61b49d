// The versions of the files, and which agents made them.
import { external, type FileHistory, type History } from '../../engine/versions/history.ts'
import type { Version } from '../../engine/versions/version.ts'
import { hasTypes, isFields } from './fields.ts'
import { inSlices } from '../../support/slices.ts'
import type { Change, PersistedPart } from './part.ts'

/** A record has the versions of one file that were not written before. */
export function createHistoryPart(history: History): PersistedPart {
  /** Number of the last version of each file that is in the journal. */
  const written = new Map<string, number>()
  let isRestoring = false
  let notify: (change: Change) => void = () => {}

  function note(path: string, isUrgent = false): void {
    if (!isRestoring) notify({ key: path, record: () => unwritten(path), isUrgent })
  }

  /** Before the file is restored these are versions of this process only: read back, they come after the earlier ones. */
  function unwritten(path: string): FileHistory | undefined {
    const versions = history.versions(path)
    const fresh = versions.slice(indexOf(versions, written.get(path)) + 1)
    const newest = fresh.at(-1)
    if (newest === undefined) return undefined
    written.set(path, newest.seq)
    return { path, versions: fresh, forgottenAt: history.forgottenAt }
  }

  function restoreFile({ path, versions, forgottenAt }: FileHistory): void {
    isRestoring = true
    history.restore({ path, versions, forgottenAt })
    isRestoring = false
    const last = versions.at(-1)
    // What this process has recorded meanwhile is written, unless the restore has found that it was known before.
    const isLaterWritten = indexOf(history.versions(path), written.get(path)) !== -1
    if (last !== undefined && !isLaterWritten) written.set(path, last.seq)
  }

  return {
    name: 'history',
    isNeededAtOnce: false,
    *dump() {
      written.clear()
      for (const { path, versions, forgottenAt } of history.dump()) {
        const last = versions.at(-1)
        if (last === undefined) continue
        written.set(path, last.seq)
        yield { path, versions: versions.slice(), forgottenAt }
      }
    },
    async restore(records) {
      const files = new Map<string, Version[]>()
      let forgottenAt: number | undefined
      await inSlices(records, (record) => {
        if (!isFileHistory(record)) return
        gather(files, record)
        forgottenAt = record.forgottenAt ?? forgottenAt
      })
      await inSlices(files, ([path, versions]) => restoreFile({ path, versions, forgottenAt }))
    },
    onChange(next) {
      notify = next
      // Above the numbers of earlier processes, whose versions are restored while this one makes new ones.
      history.continueFrom(Date.now() * 1000)
      const ends = [
        history.onTrack((path) => note(path)),
        history.onForget((path) => written.delete(path)),
        // Which agent made a change cannot be found out later. That a file exists, or was changed from outside, can.
        history.onChange(({ path, operation }) => note(path, operation !== external.operation))
      ]
      return () => {
        for (const end of ends) end()
      }
    }
  }
}

function indexOf(versions: readonly Version[], seq: number | undefined): number {
  return seq === undefined ? -1 : versions.findLastIndex((version) => version.seq === seq)
}

/** The least recently written file comes first, as in a dump. */
function gather(files: Map<string, Version[]>, { path, versions }: FileHistory): void {
  const known = files.get(path) ?? []
  files.delete(path)
  for (const version of versions) {
    // First seen by a process that did not know yet what was there before.
    if (!version.isFirstSight || known.length === 0) known.push(version)
    else if (known.at(-1)?.hash !== version.hash) known.push({ ...version, isFirstSight: false })
  }
  files.set(path, known)
}

function isFileHistory(record: unknown): record is FileHistory {
  if (!isFields(record) || typeof record['path'] !== 'string' || !Array.isArray(record['versions'])) return false
  if (!['number', 'undefined'].includes(typeof record['forgottenAt'])) return false
  return record['versions'].every(isVersion)
}

function isVersion(value: unknown): boolean {
  const isOne = hasTypes(value, {
    agentId: 'string',
    operation: 'string',
    isFirstSight: 'boolean',
    at: 'number',
    seq: 'number'
  })
  if (!isOne || !isFields(value) || !isWas(value['was'])) return false
  const { changeSet, link, restores } = value
  if (![changeSet, link].every((text) => ['string', 'undefined'].includes(typeof text))) return false
  if (!['number', 'undefined'].includes(typeof restores)) return false
  return value['hash'] === null || typeof value['hash'] === 'string'
}

function isWas(value: unknown): boolean {
  if (value === undefined) return true
  if (!isFields(value)) return false
  const { mode, link } = value
  return (mode === undefined || Number.isInteger(mode)) && (link === undefined || typeof link === 'string')
}
