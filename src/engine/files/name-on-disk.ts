// The names that a path has on the disk. Some file systems take other letters, or another normal form, for the same name.
import { readdirSync, realpathSync } from 'node:fs'
import { join, sep } from 'node:path'
import { orUndefined } from '../../support/attempt.ts'
import { OperationError } from '../../errors.ts'
import { isThere } from '../../support/is-there.ts'
import { lockKey } from './lock-key.ts'
import { segmentsBelow, type Root } from './roots.ts'

/** On these the system says under which name a file is on the disk. */
const tellsNames = process.platform === 'win32' || process.platform === 'darwin'
/** Of Windows, where files with long names have a second one: `PROGRA~1`. */
const shortName = /^[^.]{1,6}~\w{1,5}(?:\.[^.]{0,3})?$/

/**
 * One path for a file, however it is spelt: its history and all that is known of it hang on that.
 * @param existing the start of the path that is there, and no link
 */
export function nameOnDisk(root: Root, path: string, existing: string): string {
  if (!ignoresLetters(root)) return path
  const real = orUndefined(() => (tellsNames ? realpathSync.native(existing) : readNames(root, existing)))
  // Anything but another spelling is another file, which has come there since.
  if (real === undefined || real === existing || !isOtherSpelling(existing, real)) return path
  return real + path.slice(existing.length)
}

/** Whether the disk has the name in these letters. @param path of what is there, and is no link */
export function isSpeltSo(root: Root, path: string): boolean {
  return nameOnDisk(root, path, path) === path
}

/** True if a file below the root may be named in other letters. */
export function ignoresLetters(root: Root): boolean {
  if (tellsNames) return true
  const known = probed.get(root)
  if (known !== undefined) return known
  const found = orUndefined(() => probe(root.real))
  if (found !== undefined) probed.set(root, found)
  return found === true
}

/** For a rename between two spellings of one name that has to be made together with other steps, or through a stage. */
export function onlyOtherLetters(path: string, newPath: string): OperationError {
  const message = `${path} and ${newPath} are one name to this file system: only the letters differ. Nothing was changed. Rename it to a third name by async_rename first, then that to ${newPath}.`
  return new OperationError('INVALID_REQUEST', message, { path: newPath })
}

const probed = new WeakMap<Root, boolean>()

/** Looks for a name of the folder in other letters. @returns undefined while there is no name with letters */
function probe(folder: string): boolean | undefined {
  const names = readdirSync(folder)
  for (const name of names) {
    const upper = name.replaceAll(/[a-z]/g, (letter) => letter.toUpperCase())
    const other = upper === name ? name.replaceAll(/[A-Z]/g, (letter) => letter.toLowerCase()) : upper
    if (other === name || names.includes(other)) continue
    // Some file systems give a file another inode number under each spelling.
    if (isThere(join(folder, other))) return true
    if (isThere(join(folder, name))) return false
  }
  return undefined
}

/** Linux has no call for it. */
function readNames(root: Root, path: string): string {
  let folder = root.real
  for (const name of segmentsBelow(root.real, path) ?? []) folder = join(folder, readName(folder, name))
  return folder
}

function readName(folder: string, name: string): string {
  const names = readdirSync(folder)
  if (names.includes(name)) return name
  const key = lockKey(name)
  return names.find((other) => lockKey(other) === key) ?? name
}

/** @param real the path by which the system has it on the disk */
export function isOtherSpelling(spelt: string, real: string, separator = sep): boolean {
  const names = spelt.split(separator)
  const others = real.split(separator)
  return (
    names.length === others.length &&
    names.every((name, index) => {
      const other = others[index] as string
      return lockKey(name) === lockKey(other) || (separator === '\\' && shortName.test(name))
    })
  )
}
