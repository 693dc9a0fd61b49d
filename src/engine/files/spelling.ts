// The name of a file as its caller spelt it, comparable with other spellings without a look at any file.
import { isAbsolute, sep } from 'node:path'
import { lockKey } from './lock-key.ts'
import { toUsual } from './odd-spelling.ts'
import { segmentsBelow, type Root } from './roots.ts'

const separators = process.platform === 'win32' ? /[\\/]/ : '/'

/**
 * Absolute, below the real paths of the roots, folded as lock keys are. A path without links has its lock key as its name.
 * A ".." stays: which name it removes depends on links, which may lead elsewhere tomorrow.
 */
export function createSpelling(roots: readonly Root[]): (path: string) => string {
  return (spelt) => {
    const path = toUsual(spelt) ?? spelt
    const base = isAbsolute(path) ? '' : (roots[0]?.real ?? '')
    const names = `${base}${sep}${path}`.split(separators).filter((name) => name !== '' && name !== '.')
    const absolute = (process.platform === 'win32' ? '' : sep) + names.join(sep)
    for (const { given, real, knownAs } of roots) {
      for (const base of [given, ...knownAs]) {
        const below = segmentsBelow(base, absolute)
        if (below !== undefined) return lockKey([real.replace(/[\\/]$/, ''), ...below].join(sep))
      }
    }
    return lockKey(absolute)
  }
}
