// One entry of a listing as a line: its name and its size in bytes or, if asked for, its hash. What stands below a folder is said once.
import type { Entry } from '../../schemas/list.ts'
import { withoutAlgorithm } from '../support/hash-digits.ts'

/** What could be taken for another line, or for another part of one. */
const odd = /^[\s"]|[\s/]$|[\p{Cc}\u2028\u2029]/u

export interface ListingLine {
  /** With a slash at its end; empty for the listed folder. */
  readonly folder: string
  /** Undefined for a folder itself. */
  readonly line?: string
}

export function toListingLine({ name, type, name_escaped, size_bytes, hash }: Entry): ListingLine {
  if (type === 'directory') return { folder: `${name}/` }
  const cut = name.lastIndexOf('/') + 1
  // Of a file the hash tells more than the size, and both are too long for a model.
  const what = type === 'file' ? (hash === undefined ? size_bytes : hash && withoutAlgorithm(hash)) : type
  const parts = [quoteOdd(name.slice(cut)), what, name_escaped === true ? 'not-utf-8' : undefined]
  return { folder: name.slice(0, cut), line: parts.filter((part) => part !== undefined && part !== null).join(' ') }
}

/** The line before the entries of a folder. */
export function toFolderLine(folder: string): string {
  return folder === '' ? '' : quoteOdd(folder.slice(0, -1), '/')
}

function quoteOdd(name: string, end = ''): string {
  return odd.test(name) ? JSON.stringify(name + end) : name + end
}
