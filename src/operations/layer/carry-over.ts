// What of a layer goes over without versions, once its files have: ignored files and folders, empty folders, modes of folders.
import { chmodSync, cpSync, mkdirSync, renameSync, rmdirSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import type { OperationContext } from '../../engine/call/context.ts'
import { Directory } from '../../engine/files/directory.ts'
import { isOwnName } from '../../engine/files/protection.ts'
import { readFolder } from '../../engine/files/read-folder.ts'
import type { OpenEntry } from '../../engine/files/walk.ts'
import { isWhiteout, type IgnoredEntry, type LayerContents } from '../../engine/layers/layer-contents.ts'
import { isErrno } from '../../errors.ts'
import { attempt } from '../../support/attempt.ts'
import { messageOf } from '../../support/error-message.ts'
import { createSlices } from '../../support/slices.ts'

type Contents = Pick<LayerContents, 'ignored' | 'made' | 'modes' | 'removed'>

/** @returns a sentence for each thing that did not go over */
export async function carryOver(
  { files }: Pick<OperationContext, 'files'>,
  { ignored, made, modes, removed }: Contents,
  hidden: ReadonlySet<string>
): Promise<string[]> {
  const problems: string[] = []
  const { pause } = createSlices()

  /** Where others have removed a folder on the way, or put something else there, nothing is done. */
  async function at(path: string, use: (place: OpenEntry) => unknown): Promise<void> {
    await pause()
    try {
      const place = files.open(path, 'canonical')
      try {
        files.checkWritable(place, path)
        if (place.missing.length === 0) await use(place)
      } finally {
        place.close()
      }
    } catch (error) {
      problems.push(`${path}: ${messageOf(error)}`)
    }
  }

  for (const path of made)
    await at(path, (place) => {
      if (place.stat === undefined) mkdirSync(place.directory.at(place.name))
    })
  for (const entry of ignored) await at(entry.path, (place) => carry(place, entry, hidden))
  // The innermost first: a mode can close a folder.
  for (const { path, mode } of modes.toReversed()) await at(path, (place) => setMode(place, mode))
  // One that others have put something into stays.
  for (const path of removed) await at(path, (place) => attempt(() => rmdirSync(place.directory.at(place.name))))
  return problems
}

function setMode({ directory, name }: OpenEntry, mode: number): void {
  const stat = directory.stat(name)
  if (stat?.isDirectory() === true && (Number(stat.mode) & 0o7777) !== mode) chmodSync(directory.at(name), mode)
}

async function carry(place: OpenEntry, { path, upper }: IgnoredEntry, hidden: ReadonlySet<string>): Promise<void> {
  const at = upper.lastIndexOf('/')
  const from = openIfThere(upper.slice(0, at))
  try {
    await move(from, place.directory, upper.slice(at + 1), path, hidden)
  } finally {
    from?.close()
  }
}

/** @param from undefined if the command has removed what the layer could have there */
async function move(
  from: Directory | undefined,
  to: Directory,
  name: string,
  path: string,
  hidden: ReadonlySet<string>
): Promise<void> {
  const stat = from?.stat(name)
  const target = to.at(name)
  if (from === undefined || stat === undefined || isWhiteout(stat))
    return rmSync(target, { recursive: true, force: true })
  const there = to.stat(name)
  if (!stat.isDirectory()) {
    if (!stat.isFile() && !stat.isSymbolicLink()) return
    if (there?.isDirectory() === true) rmSync(target, { recursive: true, force: true })
    return place(from.at(name), target)
  }
  const inside = from.openChild(name)
  try {
    const entries = await readFolder(inside)
    if (there?.isDirectory() !== true) {
      if (there !== undefined) rmSync(target, { force: true })
      mkdirSync(target)
    }
    const folder = to.openChild(name)
    try {
      if (hidden.has(path)) await removeOthers(folder, new Set(entries.map((entry) => entry.name)))
      for (const entry of entries)
        if (!isOwnName(entry.name)) await move(inside, folder, entry.name, join(path, entry.name), hidden)
    } finally {
      folder.close()
    }
    chmodSync(target, Number(stat.mode) & 0o7777)
  } finally {
    inside.close()
  }
}

async function removeOthers(folder: Directory, names: ReadonlySet<string>): Promise<void> {
  for (const { name } of await readFolder(folder))
    if (!names.has(name)) rmSync(folder.at(name), { recursive: true, force: true })
}

function place(source: string, target: string): void {
  try {
    renameSync(source, target)
  } catch (error) {
    // Another file system, or a folder of the layer that the command has closed.
    if (!isErrno(error, 'EXDEV', 'EACCES')) throw error
    rmSync(target, { force: true })
    cpSync(source, target, { verbatimSymlinks: true, preserveTimestamps: true })
  }
}

function openIfThere(path: string): Directory | undefined {
  try {
    return Directory.open(path)
  } catch (error) {
    if (isErrno(error, 'ENOENT', 'ENOTDIR', 'ELOOP')) return undefined
    throw error
  }
}
