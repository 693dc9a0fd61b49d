// The paths that the arguments of a command mean, with its patterns looked up as a shell does.
import { readdirSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { compilePathGlob } from '../../engine/files/glob/glob.ts'
import { orUndefined } from '../../support/attempt.ts'
import { isThere } from '../../support/is-there.ts'
import type { Argument } from '../../support/shell/simple-command.ts'

/** Paths of one pattern. */
const maxMatches = 20_000

/** @returns the texts that the program gets; undefined if one of them cannot be told */
export function expandArguments(args: readonly Argument[], folder: string): string[] | undefined {
  const texts: string[] = []
  for (const arg of args) {
    const own = arg === undefined ? undefined : arg.pattern === undefined ? [arg.text] : matchesOf(arg.pattern, folder)
    if (own === undefined) return undefined
    // Without a match the shell passes the pattern itself.
    texts.push(...(own.length === 0 ? [arg!.text] : own))
  }
  return texts
}

/** A matcher of one name, as a shell has it; undefined for a pattern that is too complex. */
export function nameMatcher(pattern: string): ((name: string) => boolean) | undefined {
  const matcher = orUndefined(() => compilePathGlob(pattern.replaceAll(/\*+/g, '*')))
  return matcher === undefined ? undefined : (name) => matcher.matches(name)
}

function matchesOf(pattern: string, folder: string): string[] | undefined {
  let found = [pattern.startsWith('/') ? '/' : '']
  const segments = pattern.split('/').filter((segment) => segment !== '')
  for (const [index, segment] of segments.entries()) {
    const isLast = index === segments.length - 1
    const plain = segment.replaceAll(/\\(.)/gs, '$1')
    if (!/[*?[]/.test(segment.replaceAll(/\\./gs, ''))) {
      found = found.map((base) => join(base, plain)).filter((path) => isThere(resolve(folder, path)))
      continue
    }
    const matches = nameMatcher(segment)
    if (matches === undefined) return undefined
    found = found.flatMap((base) => {
      const entries = orUndefined(() => readdirSync(resolve(folder, base), { withFileTypes: true })) ?? []
      return entries
        .filter((entry) => (!entry.name.startsWith('.') || plain.startsWith('.')) && matches(entry.name))
        .filter((entry) => isLast || !entry.isFile())
        .map((entry) => join(base, entry.name))
        .sort()
    })
    if (found.length > maxMatches) return undefined
  }
  return found
}
