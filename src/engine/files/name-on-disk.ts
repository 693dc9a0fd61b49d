// The names that a path has on the disk. File systems of Windows and macOS take other letters, or another normal form, for the same name.
import { realpathSync } from 'node:fs'
import { orUndefined } from '../../support/attempt.ts'
import { lockKey } from './lock-key.ts'

const takesOtherLetters = process.platform === 'win32' || process.platform === 'darwin'

/**
 * One path for a file, however it is spelt: its history and all that is known of it hang on that.
 * @param existing the start of the path that is there, and no link
 */
export function nameOnDisk(path: string, existing: string): string {
  if (!takesOtherLetters) return path
  const real = orUndefined(() => realpathSync.native(existing))
  // Anything but other letters is another file, which has come there since.
  if (real === undefined || real === existing || lockKey(real) !== lockKey(existing)) return path
  return real + path.slice(existing.length)
}
