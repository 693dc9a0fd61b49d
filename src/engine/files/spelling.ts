// The name of a file as its caller spelt it, comparable with other spellings without a look at any file.
import thisSystem, { type PlatformPath } from 'node:path'
import { lockKey } from './lock-key.ts'
import { toUsual } from './odd-spelling.ts'
import { namesOf, segmentsBelow, type Root } from './roots.ts'

/**
 * Absolute, below the real paths of the roots, folded as lock keys are. A path without links has its lock key as its name.
 * A ".." stays: which name it removes depends on links, which may lead elsewhere tomorrow.
 */
export function createSpelling(roots: readonly Root[], system: PlatformPath = thisSystem): (spelt: string) => string {
  const { sep } = system
  return (spelt) => {
    const usual = toUsual(spelt) ?? spelt
    const names = namesOf(system.isAbsolute(usual) ? usual : `${roots[0]?.real ?? ''}${sep}${usual}`, system)
    const absolute = (sep === '/' ? sep : '') + names.filter((name) => name !== '.').join(sep)
    for (const { given, real, knownAs } of roots) {
      for (const base of [given, ...knownAs]) {
        const below = segmentsBelow(base, absolute, sep)
        if (below !== undefined) return lockKey([real.replace(/[\\/]$/, ''), ...below].join(sep))
      }
    }
    return lockKey(absolute)
  }
}
