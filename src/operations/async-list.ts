// async_list (PRD 3.8): takes no lock; a snapshot of one moment.
import { join, resolve } from 'node:path'
import { contract } from '../../schemas/contract.ts'
import type { Entry, ListInput, ListOutput } from '../../schemas/list.ts'
import type { Static } from '../../schemas/typebox.ts'
import { identityOf, isSameIdentity } from '../engine/files/identity.ts'
import type { ListedEntry } from '../engine/files/list-directory.ts'
import { toSearch } from '../engine/files/glob/list-pattern.ts'
import { showName, toBytes, toName } from '../support/raw-name.ts'
import { OperationError } from '../errors.ts'
import type { Caller, OperationContext } from '../engine/call/context.ts'
import { firstDigits } from '../support/hash-digits.ts'
import { toFolderLine, toListingLine } from './listing-line.ts'
import { countSteps } from '../support/progress.ts'
import { defineOperation, pathErrors } from './definition/define.ts'
import { glanceAt } from './change/file-version.ts'
import { readCursor, toCursor } from './query-cursor.ts'
import { timestamp } from '../support/timestamp.ts'

export const asyncList = defineOperation({
  name: 'async_list',
  title: 'List a directory',
  description:
    'Lists a directory, recursively if asked, filtered by a glob pattern, sorted by name. include_hashes gives the hash of files that were read or written through this server and are unchanged since: if it differs from yours, the file has changed. Use it instead of a native glob or ls.',
  ...contract.async_list,
  annotations: { readOnlyHint: true, destructiveHint: false, idempotentHint: true, openWorldHint: false },
  readsDisk: true,
  errors: [...pathErrors, 'INVALID_PATTERN'],
  handle: list
})

const maxUnreadable = 100
/** Room in an answer for what is not an entry: a cursor, above all. */
const otherChars = 1500

async function list(input: ListInput, context: OperationContext): Promise<Static<typeof ListOutput>> {
  const { path, pattern, recursive, include_hashes, ignore, limit, cursor } = input
  const { files } = context
  const spellings = () => [
    ...files.roots.slice(0, 1).map(({ given }) => resolve(given, path)),
    files.resolve(path, 'target').path
  ]
  const query = [path, pattern, recursive, ignore]
  const steps = countSteps(context.progress, 'entries')
  const found = await files.list(path, {
    search: toSearch(pattern, recursive, spellings),
    searchKey: JSON.stringify([pattern, recursive]),
    ignore,
    limit,
    after: cursor === undefined ? undefined : toName(readCursor(cursor, query, path)),
    maxEntries: context.config.crud.max_list_entries,
    signal: context.signal,
    onExamined: steps?.add
  })
  steps?.expect(found.entries.length)
  const entries: Entry[] = []
  const { maxAnswerChars = Infinity } = context.caller
  const charsOf = createMeter(context.caller)
  let left = maxAnswerChars - otherChars
  let { lastName } = found
  for (const [index, entry] of found.entries.entries()) {
    const shown = toEntry(
      entry,
      include_hashes ? await knownHash(context, entry, join(found.path, entry.name)) : undefined
    )
    left -= maxAnswerChars === Infinity ? 0 : charsOf(shown)
    // One at least, so that the next page is another one.
    if (left < 0 && index > 0) {
      lastName = found.entries[index - 1]!.name
      break
    }
    entries.push(shown)
    steps?.add()
  }
  return {
    status: 'ok',
    path,
    total_entries: found.total,
    pattern,
    recursive,
    ...(found.unreadable.length > 0 && { unreadable_directories: found.unreadable.slice(0, maxUnreadable) }),
    ...(lastName !== undefined && { next_cursor: toCursor(toBytes(lastName), query) }),
    timestamp: timestamp(),
    entries
  }
}

/** What entries take of an answer. In lines a folder is named once for the entries in it that follow each other. */
function createMeter({ takesLines = false, hashDigits = Infinity }: Caller): (entry: Entry) => number {
  let before = ''
  return (entry) => {
    const shown = { ...entry, ...(entry.hash && { hash: firstDigits(entry.hash, hashDigits) }) }
    if (!takesLines) return JSON.stringify(shown).length + 1
    const { folder, line } = toListingLine(shown)
    const heading = folder === before ? 0 : charsOfLine(toFolderLine(folder))
    before = folder
    return heading + (line === undefined ? 0 : charsOfLine(` ${line}`))
  }
}

/** With its end as JSON writes it, which takes as much as the quotes. */
function charsOfLine(line: string): number {
  return JSON.stringify(line).length
}

function toEntry({ name, type, stat }: ListedEntry, hash: string | null | undefined): Entry {
  const shown = showName(name)
  return {
    name: shown.name,
    ...(shown.isEscaped && { name_escaped: true }),
    type,
    ...(type === 'file' && { size_bytes: Number(stat.size) }),
    modified: stat.mtime.toISOString(),
    ...(type === 'file' && hash !== undefined && { hash })
  }
}

/** The hash of a file whose version is known and unchanged; if its times cannot show that yet, its bytes are read again. */
async function knownHash(context: OperationContext, { type, stat }: ListedEntry, path: string): Promise<string | null> {
  const known = context.history.known(path)
  if (type !== 'file' || known?.identity === undefined) return null
  if (!isSameIdentity(known.identity, identityOf(stat))) return null
  if (known.identity.isSettled === true) return known.hash
  return rehash(context, path)
}

async function rehash(context: OperationContext, path: string): Promise<string | null> {
  try {
    const place = context.files.open(path, 'entry')
    try {
      return (await glanceAt(context, place, path)).hash
    } finally {
      place.close()
    }
  } catch (error) {
    if (error instanceof OperationError) return null
    throw error
  }
}
