// A listing as a model gets it: one line of JSON, then the entries grouped by folder, each with its name and its size in bytes or, if asked for, the beginning of its hash.
import type { Entry } from '../../../schemas/list.ts'
import type { OperationResult } from '../../engine/context.ts'

/** What could be taken for another line, or for another part of one. */
const odd = /^[\s"]|[\s/]$|[\p{Cc}\u2028\u2029]/u

/** @param isIgnoredByDefault whether the model has not said if it wants what Git ignores */
export function listingLines(structured: OperationResult, isIgnoredByDefault: boolean) {
  const { entries, pattern: _p, recursive: _r, timestamp: _t, ...others } = structured
  const listed = entries as readonly Entry[]
  const isHinted = listed.length === 0 && isIgnoredByDefault
  const hint = isHinted && {
    message: 'There is nothing that .gitignore does not exclude: ignore: false lists the rest.'
  }
  const hasHashes = listed.some(({ hash }) => hash !== undefined)
  const head = { ...others, ...hint, lines: hasHashes ? 'name hash' : 'name bytes' }
  return { text: { head: [JSON.stringify(head), ...toLines(listed)].join('\n') } }
}

/** Files of the listed folder first, then each folder with its own, indented by one blank. */
function toLines(entries: readonly Entry[]): string[] {
  const groups = new Map<string, string[]>([['', []]])
  const groupOf = (folder: string): string[] => {
    const known = groups.get(folder) ?? []
    groups.set(folder, known)
    return known
  }
  for (const entry of entries) {
    if (entry.type === 'directory') {
      groupOf(`${entry.name}/`)
      continue
    }
    const cut = entry.name.lastIndexOf('/') + 1
    groupOf(entry.name.slice(0, cut)).push(toLine(entry, entry.name.slice(cut)))
  }
  return [...groups].flatMap(([folder, lines]) =>
    folder === '' ? lines : [quoteOdd(folder.slice(0, -1), '/'), ...lines.map((line) => ` ${line}`)]
  )
}

function toLine({ type, name_escaped, size_bytes, hash }: Entry, name: string): string {
  const digits = hash?.slice(hash.indexOf(':') + 1)
  // Of a file the hash tells more than the size, and both are too long for a model.
  const what = type === 'file' ? (hash === undefined ? size_bytes : digits) : type
  return [quoteOdd(name), what, name_escaped === true ? 'not-utf-8' : undefined]
    .filter((part) => part !== undefined)
    .join(' ')
}

function quoteOdd(name: string, end = ''): string {
  return odd.test(name) ? JSON.stringify(name + end) : name + end
}
