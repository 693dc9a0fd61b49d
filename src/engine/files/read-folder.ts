// What is in one open folder: every name, whatever its bytes, with its type.
import { opendirSync, readdirSync, type Dirent } from 'node:fs'
import { opendir, readdir } from 'node:fs/promises'
import { descriptorPaths, type Directory } from './directory.ts'
import { toName } from '../../support/raw-name.ts'

export type EntryType = 'file' | 'directory' | 'symlink' | 'other'

export interface FolderEntry {
  /** As `toName` gives it. */
  readonly name: string
  readonly type: EntryType
}

/** Read whole, the names of so large a folder would hold the event loop: it is read piece by piece, which costs a small one four times as much. */
const largeFolderBytes = 65_536
const entriesPerRead = 1024
/** Node's replacement for bytes that are not UTF-8; some names really contain it. */
const replacement = '\ufffd'

/** @throws the system's error, such as EACCES or EMFILE */
export async function readFolder(directory: Directory): Promise<FolderEntry[]> {
  const isLarge = (directory.stat('.')?.size ?? 0n) > largeFolderBytes
  const entries = isLarge ? await readInPieces(directory) : await readWhole(directory)
  if (entries.some(({ name }) => name.includes(replacement))) return readRawNames(directory)
  return entries.map((entry) => ({ name: entry.name, type: typeOf(entry) }))
}

export async function readWhole(directory: Directory): Promise<Dirent[]> {
  const options = { withFileTypes: true } as const
  return inFolder(
    directory,
    (path) => readdir(path, options),
    (path) => readdirSync(path, options)
  )
}

async function readInPieces(directory: Directory): Promise<Dirent[]> {
  const options = { bufferSize: entriesPerRead }
  const folder = await inFolder(
    directory,
    (path) => opendir(path, options),
    (path) => opendirSync(path, options)
  )
  const entries: Dirent[] = []
  for await (const entry of folder) entries.push(entry)
  return entries
}

/** Off this thread, if the folder has a path there: without descriptor paths it has one only while this thread is in it. */
async function inFolder<Found>(
  directory: Directory,
  elsewhere: (path: string) => Promise<Found>,
  here: (path: string) => Found
): Promise<Found> {
  return directory.within((at) => (descriptorPaths ? elsewhere(at('.')) : here(at('.'))))
}

/** The names as bytes: much slower, yet nothing is lost. */
async function readRawNames(directory: Directory): Promise<FolderEntry[]> {
  const options = { withFileTypes: true, encoding: 'buffer' } as const
  const entries = await inFolder(
    directory,
    (path) => readdir(path, options),
    (path) => readdirSync(path, options)
  )
  return entries.map((entry) => ({ name: toName(entry.name), type: typeOf(entry) }))
}

export function typeOf(entry: Pick<Dirent, 'isFile' | 'isDirectory' | 'isSymbolicLink'>): EntryType {
  if (entry.isFile()) return 'file'
  if (entry.isDirectory()) return 'directory'
  return entry.isSymbolicLink() ? 'symlink' : 'other'
}
