// Records which lines native tools have shown to a session, and of which version.
import { OperationError } from '../../errors.ts'
import type { OperationContext } from '../../engine/call/context.ts'
import { hashInTurns } from '../../engine/files/content-hash.ts'
import type { FileVersion } from '../../engine/files/read-file.ts'
import type { Shown } from '../../engine/seen/read-tracker.ts'
import { glanceAt } from '../change/file-version.ts'
import { keptText } from '../change/kept-version.ts'
import type { ShownText } from './native-call.ts'

/** Files of one search that are recorded, and versions of one file that are compared. */
const maxShown = 50
const maxVersions = 20
/** Harnesses cut long lines. */
const comparedLength = 500

export async function recordShown(
  context: OperationContext,
  agentId: string,
  shown: readonly ShownText[]
): Promise<void> {
  for (const one of shown.slice(0, maxShown)) {
    try {
      await recordOne(context, agentId, one)
    } catch (error) {
      // A file that this server does not serve, or cannot read.
      if (!(error instanceof OperationError)) throw error
    }
  }
}

async function recordOne(context: OperationContext, agentId: string, shown: ShownText): Promise<void> {
  const { files, history, reads } = context
  const place = files.open(shown.path, 'target')
  const { path } = place
  const seen = { path, given: shown.path }
  let current: FileVersion
  try {
    if (place.stat?.isFile() !== true) return
    current = await glanceAt(context, place, shown.path)
  } finally {
    place.close()
    context.work.release()
  }
  // The file may have changed since the tool read it: what the model has seen counts.
  const known = history.versions(path).slice(-maxVersions).reverse()
  let part: Shown | undefined
  for (const hash of new Set([current.hash, ...known.map((version) => version.hash)])) {
    if (hash === null) continue
    const text = await keptText(context, path, hash)
    const lines = text === undefined ? undefined : findLines(text, shown)
    if (lines === undefined) continue
    if (lines === 'all') return reads.recordRead(agentId, { ...seen, hash, lines: undefined })
    part ??= { ...seen, hash, lines }
    if (!mayBeWhole(shown)) break
  }
  if (part !== undefined) return reads.recordRead(agentId, part)
  if (shown.text !== undefined && shown.totalLines !== undefined)
    recordUnmatched(context, agentId, { ...seen, hash: await hashInTurns(Buffer.from(shown.text)) }, current.hash)
}

/**
 * The model was shown a file as no known version is, such as one half written. Its older view no longer says what it knows: its next
 * edit is refused, and it reads again. What is the same then is the form in which the harness shows the file.
 */
function recordUnmatched(
  { history, reads, nativeTurns }: OperationContext,
  agentId: string,
  shown: Shown,
  current: string
): void {
  const { path, hash } = shown
  const hashes = reads.seen(agentId, path)?.seen.map((version) => version.hash) ?? []
  const isChanging = nativeTurns.isAt(path) || history.last(path)?.hash !== current
  if (!isChanging && (hashes.length === 0 || hashes.includes(current))) return
  const isForm = !isChanging && hashes.includes(hash)
  reads.recordRead(agentId, isForm ? { ...shown, hash: current } : shown)
}

/**
 * Some harnesses count the empty line behind the last line end: "one of two lines" can be all of an older version, too. Then that one
 * counts, of which the model has seen no more than it was shown.
 */
function mayBeWhole({ startLine, text, totalLines }: ShownText): boolean {
  return startLine === 1 && text !== undefined && totalLines === toLines(text).length + 1
}

/** The lines of the text that were shown; undefined if it has others there. */
function findLines(text: string, { startLine, text: shownText, lineCount, totalLines }: ShownText) {
  const lines = toLines(text)
  // Another version may have the same lines at that place.
  if (totalLines !== undefined && totalLines !== lines.length && totalLines !== lines.length + 1) return undefined
  const given = shownText === undefined ? undefined : toLines(shownText)
  const count = given?.length ?? lineCount ?? lines.length
  const end = Math.min(lines.length, startLine + count - 1)
  const isSame = given?.every((line, index) => isSameLine(line, lines[startLine - 1 + index])) ?? true
  if (!isSame || (end < startLine && lines.length > 0)) return undefined
  const isWhole = startLine === 1 && end === lines.length
  return isWhole ? 'all' : { start: startLine, end }
}

function isSameLine(shown: string, line: string | undefined): boolean {
  if (line === undefined || shown === line) return shown === line
  return shown.length > comparedLength && line.startsWith(shown.slice(0, comparedLength))
}

function toLines(text: string): readonly string[] {
  const lines = text.replace(/^\uFEFF/, '').split(/\r\n|\r|\n/)
  if (lines.at(-1) === '') lines.pop()
  return lines
}
