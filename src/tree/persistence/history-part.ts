// The versions of the files, and which agents made them.
import { external } from '../../engine/versions/author.ts'
import type { History, LogEntry } from '../../engine/versions/history.ts'
import type { FileHistory } from '../../engine/versions/kept-history.ts'
import { asLater, type Forgotten, type Version } from '../../engine/versions/version.ts'
import { hasTypes, isFields } from '../../support/json-fields.ts'
import { inSlices } from '../../support/slices.ts'
import type { Change, PersistedPart } from './part.ts'

/** One change of several files: its records are read together or not at all. */
interface EntryRecord {
  /** Number of the change. */
  readonly entry: number
  readonly files: readonly FileHistory[]
  /** False if more of its records follow. */
  readonly isWhole: boolean
}

/** Characters, as far as files allow it. */
const maxRecordLength = 65_536
/** Of a file as it is written anew. */
const versionsPerRecord = 100

/** A record has the versions of one file that were not written before, or those of the files of one change. */
export function createHistoryPart(history: History): PersistedPart {
  /** Number of the last version of each file that is in the journal. */
  const written = new Map<string, number>()
  let isRestoring = false
  let notify: (change: Change) => void = () => {}

  function note(path: string): void {
    if (!isRestoring) notify({ key: path, records: () => unwritten(path) })
  }

  /** Which agent made a change cannot be found out later. That a file exists, or was changed from outside, can. */
  function noteEntry({ number, operation, steps }: LogEntry): void {
    if (operation === external.operation) for (const { path } of steps) note(path)
    else
      notify({
        key: steps[0].path,
        records: () =>
          recordsOf(
            number,
            steps.flatMap(({ path }) => unwritten(path))
          ),
        isUrgent: true
      })
  }

  /** Before the file is restored these are versions of this process only: read back, they come after the earlier ones. */
  function unwritten(path: string): readonly FileHistory[] {
    const versions = history.versions(path)
    const fresh = versions.slice(indexOf(versions, written.get(path)) + 1)
    const newest = fresh.at(-1)
    if (newest === undefined) return []
    written.set(path, newest.seq)
    return [{ path, versions: fresh, mode: history.was(path)?.mode, forgottenAt: history.forgottenAt }]
  }

  function restoreFile(file: FileHistory): void {
    const { path, versions } = file
    isRestoring = true
    history.restore(file)
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
      for (const { path, versions, ...more } of history.dump()) {
        const last = versions.at(-1)
        if (last === undefined) continue
        written.set(path, last.seq)
        for (let at = 0; at < versions.length; at += versionsPerRecord)
          yield { path, versions: versions.slice(at, at + versionsPerRecord), ...more }
      }
    },
    async restore(records) {
      const files = new Map<string, Version[]>()
      /** By path: what an earlier process had forgotten before these versions. */
      const forgotten = new Map<string, Forgotten>()
      const modes = new Map<string, number | undefined>()
      let forgottenAt: number | undefined
      const collect = (file: FileHistory) => {
        gather(files, file)
        modes.set(file.path, file.mode)
        if (file.forgotten !== undefined) forgotten.set(file.path, file.forgotten)
        forgottenAt = file.forgottenAt ?? forgottenAt
      }
      /** Of a change of which not all records were read so far. */
      let parts: EntryRecord[] = []
      await inSlices(records, (record) => {
        if (isFileHistory(record)) collect(record)
        if (!isEntryRecord(record)) return
        parts = [...parts.filter(({ entry }) => entry === record.entry), record]
        if (!record.isWhole) return
        for (const { files: changed } of parts) changed.forEach(collect)
        parts = []
      })
      await inSlices(files, ([path, versions]) =>
        restoreFile({ path, versions, mode: modes.get(path), forgotten: forgotten.get(path), forgottenAt })
      )
    },
    onChange(next) {
      notify = next
      // Above the numbers of earlier processes, whose versions are restored while this one makes new ones.
      history.continueFrom(Date.now() * 1000)
      const ends = [
        history.onTrack((path) => note(path)),
        history.onForget((path) => written.delete(path)),
        history.onEntry(noteEntry)
      ]
      return () => {
        for (const end of ends) end()
      }
    }
  }
}

function recordsOf(entry: number, files: readonly FileHistory[]): readonly (FileHistory | EntryRecord)[] {
  if (files.length <= 1) return files
  const parts: FileHistory[][] = [[]]
  let length = 0
  for (const file of files) {
    const own = JSON.stringify(file).length
    if (length > 0 && length + own > maxRecordLength) {
      parts.push([])
      length = 0
    }
    parts.at(-1)!.push(file)
    length += own
  }
  return parts.map((some, index) => ({ entry, files: some, isWhole: index === parts.length - 1 }))
}

function indexOf(versions: readonly Version[], seq: number | undefined): number {
  return seq === undefined ? -1 : versions.findLastIndex((version) => version.seq === seq)
}

/** As earlier versions of this program named it. */
interface EarlierVersion extends Version {
  readonly group?: number
}

/** The least recently written file comes first, as in a dump. */
function gather(files: Map<string, Version[]>, { path, versions }: FileHistory): void {
  const known = files.get(path) ?? []
  files.delete(path)
  for (const { group, ...read } of versions as readonly EarlierVersion[]) {
    const version = group === undefined ? read : { ...read, entry: group }
    if (!version.isFirstSight || known.length === 0) known.push(version)
    else if (known.at(-1)?.hash !== version.hash) known.push(asLater(version))
  }
  files.set(path, known)
}

function isFileHistory(record: unknown): record is FileHistory {
  if (!isFields(record) || typeof record['path'] !== 'string' || !Array.isArray(record['versions'])) return false
  const numbers = [record['forgottenAt'], record['mode']]
  if (!numbers.every((value) => ['number', 'undefined'].includes(typeof value))) return false
  if (!isForgotten(record['forgotten'])) return false
  return record['versions'].every(isVersion)
}

function isForgotten(value: unknown): boolean {
  if (value === undefined) return true
  if (!isFields(value) || (value['hash'] !== null && typeof value['hash'] !== 'string')) return false
  const { agents } = value
  return Array.isArray(agents) && agents.every((agent) => typeof agent === 'string')
}

function isEntryRecord(record: unknown): record is EntryRecord {
  if (!hasTypes(record, { entry: 'number', isWhole: 'boolean' }) || !isFields(record)) return false
  return Array.isArray(record['files']) && record['files'].every(isFileHistory)
}

function isVersion(value: unknown): boolean {
  const isOne = hasTypes(value, {
    agentId: 'string',
    operation: 'string',
    isFirstSight: 'boolean',
    at: 'number',
    seq: 'number'
  })
  if (!isOne || !isFields(value) || !isWas(value['was']) || !isModes(value['modes'])) return false
  const { changeSet, link, restores, takesBack = [], command, agents = [] } = value
  if (!Array.isArray(agents) || !agents.every((agent) => typeof agent === 'string')) return false
  if (![changeSet, link, command].every((text) => ['string', 'undefined'].includes(typeof text))) return false
  if (!['number', 'undefined'].includes(typeof restores)) return false
  if (!Array.isArray(takesBack) || !takesBack.every(Number.isInteger)) return false
  return value['hash'] === null || typeof value['hash'] === 'string'
}

function isModes(value: unknown): boolean {
  return value === undefined || (Array.isArray(value) && value.length === 2 && value.every(Number.isInteger))
}

function isWas(value: unknown): boolean {
  if (value === undefined) return true
  if (!isFields(value)) return false
  const { mode, link } = value
  return (mode === undefined || Number.isInteger(mode)) && (link === undefined || typeof link === 'string')
}
