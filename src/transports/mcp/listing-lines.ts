// A listing as a model gets it: one line of JSON, then a line for each entry, grouped by folder.
import type { Entry } from '../../../schemas/list.ts'
import type { OperationResult } from '../../engine/call/context.ts'
import { toFolderLine, toListingLine } from '../../operations/listing-line.ts'

/** @param isIgnoredByDefault whether the model has not said if it wants what Git ignores */
export function listingLines(structured: OperationResult, isIgnoredByDefault: boolean) {
  const { entries, pattern: _p, recursive: _r, timestamp: _t, ...others } = structured
  const listed = entries as readonly Entry[]
  const message = messageFor(structured, listed.length, isIgnoredByDefault)
  const hasHashes = listed.some(({ hash }) => hash !== undefined)
  const head = { ...others, ...(message !== undefined && { message }), lines: hasHashes ? 'name hash' : 'name bytes' }
  return { text: { head: [JSON.stringify(head), ...toLines(listed)].join('\n') } }
}

function messageFor({ next_cursor, total_entries }: OperationResult, shown: number, isIgnoredByDefault: boolean) {
  if (next_cursor !== undefined)
    return `${shown} of ${String(total_entries)} entries: go on with cursor, or narrow them with pattern.`
  if (shown > 0 || !isIgnoredByDefault) return undefined
  return 'There is nothing that .gitignore does not exclude: ignore: false lists the rest.'
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
    const { folder, line } = toListingLine(entry)
    const group = groupOf(folder)
    if (line !== undefined) group.push(line)
  }
  return [...groups].flatMap(([folder, lines]) =>
    folder === '' ? lines : [toFolderLine(folder), ...lines.map((line) => ` ${line}`)]
  )
}
