// Names that agents write for other names: as addresses, in quotes, with a line number. docs/operations.md has the table.
import { join } from 'node:path'
import { OperationError } from '../../errors.ts'
import { beginningOf } from '../../support/cut-text.ts'
import { findRefusedName } from './system-names.ts'
import { fromFileUri, isFileUri } from '../../support/file-uri.ts'

const isWindows = process.platform === 'win32'
/** Between names, for a pattern. */
const slash = isWindows ? String.raw`[\\/]` : '/'
/** What only some paths have. Checked first, since every path of every call comes through here. */
const unusual = isWindows
  ? /[^\w./\\+,=@()-](?<!^[A-Za-z]:)|(?:^|[\\/])@|\.(?:[\\/]|$)|\)$/
  : /[^\w./+,=@()-]|(?:^|\/)@|\.(?:\/|$)|\)$/

interface Rule {
  readonly pattern: RegExp
  /** The subject is the path. */
  readonly fault: string
  /** What is meant by it, as far as that is certain. */
  readonly meant?: (path: string) => string
  readonly advice?: string
}

const quotes = '"\'`\u2018\u2019\u201c\u201d\u00ab\u00bb'
/** Of a search, an error or a chat: `a.ts:12:5`, `a.ts:12-20`, `a.ts:`, `a.ts#L12-L20`, `a.ts(12,5)`. */
const lineNumber = /(?::(?:\d+(?:[:,-]\d+)*:?)?|#L\d+(?:-L?\d+)?|\(\d+,\d+\))$/
const escape = /%(?:[2-7][\da-f]|[c-f][\da-f]%[89ab][\da-f])/i
/** White space, controls, and what is not visible at all. */
const blank = String.raw`[\s\p{Cc}\u200b\u200e\u200f\u2060\ufeff]`

/** In the order in which they are told. */
const rules: readonly Rule[] = [
  { pattern: /^file:/i, fault: 'is not the address of a file of this machine', advice: 'Pass the absolute path.' },
  {
    pattern: /^[a-z][a-z\d+.-]+:\//i,
    fault: 'is an address, not a path',
    advice: 'Pass the path of the file, absolute or relative to the first root.'
  },
  {
    pattern: new RegExp(`(?:^|${slash})${blank}|${blank}(?:${slash}|$)`, 'u'),
    fault: 'has white space at the start or the end of a name',
    meant: (path) => path.replaceAll(new RegExp(`(?<=^|${slash})${blank}+|${blank}+(?=${slash}|$)`, 'gu'), '')
  },
  { pattern: /\p{Cc}/u, fault: 'has a line end or another control character in it', advice: 'Pass one path.' },
  {
    pattern: new RegExp(`^[${quotes}]|[${quotes}]$`),
    fault: 'has a quotation mark at its start or end',
    meant: (path) => path.replaceAll(new RegExp(`^[${quotes}]+|[${quotes}]+$`, 'g'), '')
  },
  { pattern: /^<.*>$/, fault: 'is in angle brackets', meant: (path) => path.slice(1, -1) },
  {
    pattern: /^~(?:[\w.-]*[\\/]|$)/,
    fault: 'begins with ~, which only a shell expands',
    advice: 'Pass the absolute path.'
  },
  ...(isWindows
    ? [{ pattern: /^[a-z]:(?![\\/])/i, fault: 'has a drive without a folder', advice: 'Pass the absolute path.' }]
    : [
        {
          pattern: /^[a-z]:[\\/]/i,
          fault: 'is a path of Windows',
          advice: 'Pass it as the system of the server names it, or relative to the first root.'
        },
        {
          pattern: /\\x[89a-f][\da-f]/,
          fault: 'has \\xHH in it, which in a listing with name_escaped is a byte that is not UTF-8',
          advice: 'No operation reaches such a name. Ask for it to be renamed on the system first.'
        },
        {
          pattern: /\\/,
          fault: 'has a backslash in it; names are separated by slashes, and nothing in them is escaped',
          meant: (path: string) => path.replaceAll(/\\(?=[ '"()&$[\]*?!])/g, '').replaceAll('\\', '/')
        }
      ]),
  {
    pattern: lineNumber,
    fault: 'ends with a colon or the number of a line',
    meant: (path) => path.replace(lineNumber, ''),
    advice: 'Lines are named by parameters of their own.'
  },
  { pattern: escape, fault: 'has percent-encoded characters in it', meant: decode },
  {
    pattern: /(?:[^.\\/]\.+|(?:^|[\\/])\.{3,})(?:[\\/]|$)/,
    fault: 'has a name that ends with a dot',
    meant: (path) => path.replaceAll(/(?<=[^.\\/])\.+(?=[\\/]|$)/g, '')
  }
]

/** False for nearly all paths: they mean what they say. */
export function isOdd(path: string): boolean {
  return unusual.test(path)
}

/** The same file by its usual path; undefined if that is no other. Looks at no file. */
export function toUsual(path: string): string | undefined {
  return isFileUri(path) ? fromFileUri(path) : undefined
}

/**
 * The name that an existing file has on the disk, in another normal form of Unicode: models write one form, and some systems the other.
 * @param isThere whether anything is at a path
 */
export function toExistingForm(path: string, isThere: (path: string) => boolean): string | undefined {
  if (!/[^\0-\x7f]/.test(path)) return undefined
  const parts = path.split(/(?<=[\\/])/)
  let done = ''
  for (const part of parts) {
    const forms = new Set([part, part.normalize('NFC'), part.normalize('NFD')])
    done += (forms.size === 1 ? undefined : [...forms].find((form) => isThere(done + form))) ?? part
  }
  return done === path ? undefined : done
}

/** Where a walk has ended at nothing. */
interface NewName {
  readonly path: string
  /** The folder that is there. */
  readonly folder: string
  /** What is not there below it. */
  readonly names: readonly string[]
  /** Whether anything is at a path. */
  readonly isThere: (path: string) => boolean
}

/**
 * Refuses names at which nothing is if they look like another spelling: a call must not make a file of such a name.
 * @throws OperationError INVALID_REQUEST
 */
export function refuseMisspelt({ path, folder, names, isThere }: NewName): void {
  const text = names.join('/')
  const isMention = /^@./.test(text) && isThere(join(folder, (names[0] ?? '').slice(1)))
  const rule = rules.find(({ pattern }) => pattern.test(text)) ?? (isMention ? mention : undefined)
  if (rule === undefined) return
  const { fault, meant, advice } = rule
  throw misspelt(path, fault, meant?.(path), advice)
}

function misspelt(path: string, fault: string, instead?: string, advice?: string): OperationError {
  const next = [...(instead ? [`Pass ${JSON.stringify(instead)}.`] : []), ...(advice === undefined ? [] : [advice])]
  const message = `The path ${fault}: ${JSON.stringify(beginningOf(path, 300))}. There is no file of this name, and no call makes one. ${next.join(' ')}`
  return new OperationError('INVALID_REQUEST', message, { path })
}

/**
 * Refuses names that the system does not take, or takes for another file, whatever is there.
 * @throws OperationError INVALID_REQUEST
 */
export function refuseUntaken(path: string): void {
  const refused = findRefusedName(toUsual(path) ?? path)
  if (refused === undefined) return
  const { fault, meant, advice } = rules.find(({ pattern }) => pattern.test(path)) ?? {
    fault: refused.fault,
    advice: 'Choose another name.'
  }
  throw misspelt(path, fault, meant?.(path), advice)
}

/** `@src/a.ts` where `src` is there: chats mention files so. Folders such as `@types` exist, too. */
const mention: Rule = {
  pattern: /^@/,
  fault: 'begins with @, as a mention in a chat',
  meant: (path) => path.replace(/(^|[\\/])@/, '$1')
}

function decode(path: string): string {
  try {
    return decodeURIComponent(path)
  } catch {
    return ''
  }
}
