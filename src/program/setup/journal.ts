// Records what was set up outside of any tree, so that `uninstall` can undo exactly that.
import { readdirSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { isErrno } from '../../support/errno.ts'
import { makeFolders, removeEmptyFolders } from './folders.ts'
import { replaceFile } from '../../support/replace-file.ts'
import { readText } from '../../support/read-text.ts'
import { parseFields } from '../../support/json-fields.ts'

export interface EditRecord {
  /** The name of a client, or "guard" for the hook. */
  readonly what: string
  readonly file: string
  /** Removing this text restores the file. */
  readonly inserted?: string
  readonly isNewFile: boolean
}

export interface Records {
  readonly version: 1
  readonly edits: readonly EditRecord[]
  /** The folders that had to be made. They are removed when they are empty. */
  readonly folders: readonly string[]
  /** Roots for which something was set up. */
  readonly roots: readonly string[]
  /** The program that was set up on this machine, by its path: launchers of projects start it. */
  readonly program?: string
}

export type Journal = ReturnType<typeof createJournal>

const fileName = 'installed.json'
const nothing: Records = { version: 1, edits: [], folders: [], roots: [] }

/** @param folder the data folder of this user; made when something must be written */
export function createJournal(folder: string) {
  const path = join(folder, fileName)

  /** @throws Error that names the file if another version wrote it */
  function read(): Records {
    let text: string
    try {
      text = readText(path)
    } catch (error) {
      if (isErrno(error, 'ENOENT', 'ENOTDIR')) return nothing
      throw error
    }
    const records = parseRecords(text)
    if (records === undefined) throw new Error(`${path} is not of this version: remove it, and run this again`)
    return records
  }

  function write(records: Records): void {
    const made = makeFolders(folder, 0o700)
    const all = { ...records, folders: unique([...made, ...records.folders]), roots: unique(records.roots) }
    replaceFile(path, `${JSON.stringify(all, undefined, 2)}\n`)
  }

  const find = (what: string, file: string) => read().edits.find((edit) => edit.what === what && edit.file === file)
  const editsBut = (what: string, file: string) =>
    read().edits.filter((edit) => edit.what !== what || edit.file !== file)

  return {
    read,
    find,
    /** Adds the edit, or replaces the one in the same file. */
    recordEdit(edit: EditRecord, folders: readonly string[]): void {
      const records = read()
      write({
        ...records,
        edits: [...editsBut(edit.what, edit.file), edit],
        folders: [...records.folders, ...folders]
      })
    },
    /** Also removes the folders that had to be made for the file, and this journal itself, as far as nothing else is in them. */
    forgetEdit(what: string, file: string): void {
      const records = read()
      if (find(what, file) !== undefined) write({ ...records, edits: editsBut(what, file) })
      removeEmptyFolders(records.folders.filter((made) => file.startsWith(made)))
      const { edits, roots, folders } = read()
      if (edits.length > 0 || roots.length > 0 || !isAloneIn(folder)) return
      rmSync(path, { force: true })
      removeEmptyFolders(folders)
    },
    recordFolders(folders: readonly string[]): void {
      if (folders.length > 0) write({ ...read(), folders: [...read().folders, ...folders] })
    },
    recordProgram(program: string): void {
      if (read().program !== program) write({ ...read(), program })
    },
    recordRoots(roots: readonly string[]): void {
      if (roots.some((root) => !read().roots.includes(root))) write({ ...read(), roots: [...read().roots, ...roots] })
    }
  }
}

function parseRecords(text: string): Records | undefined {
  const value = parseFields(text)
  const areLists = ['edits', 'folders', 'roots'].every((name) => Array.isArray(value?.[name]))
  return value?.['version'] === 1 && areLists ? (value as unknown as Records) : undefined
}

/** Whether the folder contains only the journal. */
function isAloneIn(folder: string): boolean {
  try {
    return readdirSync(folder).every((name) => name === fileName)
  } catch (error) {
    if (isErrno(error, 'ENOENT')) return false
    throw error
  }
}

function unique(list: readonly string[]): string[] {
  return [...new Set(list)]
}
