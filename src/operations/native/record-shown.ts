// Records which lines native tools have shown to a session, and of which version.
import { OperationError } from '../../errors.ts'
import type { OperationContext } from '../../engine/context.ts'
import { decodeIfText } from '../../engine/files/text.ts'
import { glanceAt } from '../change/file-version.ts'
import type { ShownText } from './native-call.ts'

/** Files of one search that are recorded, and versions of one file that are compared. */
const maxShown = 50
const maxVersions = 5
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
  const { files, history, reads, bases, config } = context
  const place = files.open(shown.path, 'target')
  const { path } = place
  try {
    if (place.stat?.isFile() !== true) return
    await glanceAt(context, place, shown.path)
  } finally {
    place.close()
    context.work.release()
  }
  // The file may have changed since the tool read it: what the model has seen counts.
  for (const { hash } of history.versions(path).slice(-maxVersions).reverse()) {
    if (hash === null) continue
    const text = decodeIfText(await bases.get(hash), config.crud.default_encoding, path)
    const lines = text === undefined ? undefined : findLines(text, shown)
    if (lines === undefined) continue
    return reads.recordRead(agentId, { path, given: shown.path, hash, lines: lines === 'all' ? undefined : lines })
  }
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
  // The beginning of a longer version is not what was shown as a whole file.
  if (!isWhole && startLine === 1 && totalLines !== undefined && count >= totalLines - 1) return undefined
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
