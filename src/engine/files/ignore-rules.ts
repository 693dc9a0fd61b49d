// What .gitignore files exclude, leaving out patterns that would hang the matcher.
import ignore, { type Ignore } from 'ignore'
import type { Directory } from './directory.ts'
import type { EntryType, FolderEntry } from './read-folder.ts'
import { readNow } from './read-file.ts'

/** Rules of one .gitignore, for paths below the directory that contains it. */
export interface IgnoreRules {
  readonly prefix: string
  readonly rules: Ignore
}

const maxIgnoreBytes = 262_144
const maxIgnoreLine = 256

/** The rules of a directory. The file may come from an attacker. */
export function readIgnoreRules(
  directory: Directory,
  prefix: string,
  entries: readonly FolderEntry[]
): readonly IgnoreRules[] {
  if (!entries.some(({ name, type }) => name === '.gitignore' && type === 'file')) return []
  const bytes = readNow(directory, '.gitignore', maxIgnoreBytes)
  if (bytes === undefined) return []
  return [rulesOf(bytes.toString('utf8'), prefix)]
}

/** The rules of a text, without lines that would make the matcher backtrack for long. */
export function rulesOf(text: string, prefix: string): IgnoreRules {
  const lines = text.split('\n')
  const harmless = lines.filter((line) => line.length <= maxIgnoreLine && line.split('**').length <= 3)
  return { prefix, rules: ignore().add(harmless) }
}

/** The innermost .gitignore with a matching rule decides, as in git. */
export function isIgnored(all: readonly IgnoreRules[], name: string, type: EntryType): boolean {
  for (const { prefix, rules } of all.toReversed()) {
    const relative = name.slice(prefix.length) + (type === 'directory' ? '/' : '')
    const { ignored, unignored } = rules.test(relative)
    if (ignored || unignored) return ignored
  }
  return false
}
