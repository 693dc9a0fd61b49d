// With hooks the server keeps what agents may want back after a restart: setup sets persistence.enabled in the configuration file.
import { existsSync } from 'node:fs'
import { findConfigFile } from '../../config/file.ts'
import { findRootAbove } from '../../config/outside-roots.ts'
import type { Journal } from './journal.ts'
import { planAddition, planRemoval, type EntryLocation, type Plan } from './plan.ts'
import { createJsonTarget } from './targets.ts'
import { readUserFile } from './user-file.ts'

/** In the journal. */
export const persistenceRecord = 'persistence'

/** Where the setting is, to write it or to take it back. */
export function persistenceLocation(file: string): EntryLocation {
  const target = createJsonTarget(['persistence', 'enabled'], true)
  return { what: persistenceRecord, file, target, newMode: 0o600 }
}

/** The setting is ours to take back as long as it has the value that setup wrote. */
export const isOurSetting = (value: unknown): boolean => value === true

/**
 * Sets `persistence.enabled` in the configuration file of this user: no server reads one from a tree, so that of a project is this one, too.
 * @param roots inside which the file must not come to be
 * @returns undefined if it is set already, or no file is read
 * @throws Error that names the file if it cannot be read
 */
export function planPersistence(
  roots: readonly string[],
  environment: Readonly<Record<string, string | undefined>>,
  journal: Journal
): Plan | undefined {
  const file = findConfigFile(undefined, environment)?.path
  if (file === undefined) return undefined
  const location = persistenceLocation(file)
  const { bytes, text } = readUserFile(file)
  const data = location.target.parse(text.replace(/^\uFEFF/, ''))
  const current = location.target.current(data)
  const left = (why: string): Plan => {
    const note = `What the server keeps may end with its last process: ${why}.`
    return { file, before: bytes === undefined ? undefined : text, after: text, isChange: false, note, apply() {} }
  }
  if (current === true) return undefined
  if (current !== undefined) return left(`${file} sets persistence.enabled to ${JSON.stringify(current)}`)
  const root = findRootAbove(file, roots)
  if (root !== undefined)
    return left(
      `${file} lies inside the root ${root}, where no server reads settings; set them in a file outside of it`
    )
  const note = `What the server keeps survives its restart from now on: persistence.enabled is true in ${file}.`
  return { ...planAddition(location, journal, isOurSetting), note }
}

/**
 * Takes the setting back if setup wrote it, with the last client that has hooks.
 * @param goingFiles whose hooks go now
 */
export function planPersistenceRemoval(goingFiles: readonly string[], journal: Journal): Plan | undefined {
  const { edits } = journal.read()
  const record = edits.find(({ what }) => what === persistenceRecord)
  if (record === undefined) return undefined
  const isNeeded = edits.some(
    ({ what, file }) => what.startsWith('hook:') && !goingFiles.includes(file) && existsSync(file)
  )
  if (isNeeded) return undefined
  const plan = planRemoval(persistenceLocation(record.file), journal, isOurSetting)
  const note = plan.isChange
    ? 'persistence.enabled, which setup had set, removed'
    : 'persistence.enabled was changed since, and stays'
  return { ...plan, note: `${record.file}: ${note}` }
}
