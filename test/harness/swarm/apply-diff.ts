// Turns the text a client knows into the current one by the diff of a contention answer, from the schema's descriptions alone.
import type { Change, Diff } from '../../../schemas/diff.ts'

/** @throws Error where the diff does not fit the base */
export function applyDiff(base: string, { format, changes, content }: Diff): string {
  if (format === 'json' && changes !== undefined) return applyChanges(base, changes)
  if (format === 'unified' && content !== undefined) return applyUnified(base, content)
  throw new Error(`diff of format ${format} without its part`)
}

function applyChanges(base: string, changes: readonly Change[]): string {
  const lines = base.match(/[^\r\n]*(?:\r\n|\r|\n)|[^\r\n]+$/g) ?? []
  const out: string[] = []
  let next = 0
  for (const change of changes) {
    const start = change.base_start_line - 1
    const end = change.type === 'added' ? start : change.end_line
    if (start < next || end > lines.length) throw new Error(`change at base line ${start + 1} is out of order or range`)
    out.push(...lines.slice(next, start))
    const old = lines.slice(start, end)
    if (change.terminators_only === true) throw new Error('the JSON form does not say which terminators are new')
    if (change.type !== 'added') requireSame(withoutTerminator(old.join('')), change.old_content, start)
    requireContext(lines.slice(0, start).join(''), lines.slice(end).join(''), change)
    // Contents come without the last line's terminator: it is that of the line replaced, or of the line above.
    if (change.type !== 'removed') {
      out.push(change.new_content ?? '', terminatorOf(old.at(-1) ?? lines[start - 1] ?? lines[start] ?? '\n'))
    }
    next = end
  }
  return out.join('') + lines.slice(next).join('')
}

function requireSame(have: string, said: string | undefined, start: number): void {
  if (have !== said) throw new Error(`the diff's old content at base line ${start + 1} is not the base's`)
}

function requireContext(above: string, below: string, change: Change): void {
  const { context_before: before = '', context_after: after = '' } = change
  const fits = withoutTerminator(above).endsWith(before) && below.startsWith(after)
  if (!fits) throw new Error(`the diff's context at base line ${change.base_start_line} is not the base's`)
}

function withoutTerminator(text: string): string {
  return text.replace(/(?:\r\n|\r|\n)$/, '')
}

function terminatorOf(line: string): string {
  return /(?:\r\n|\r|\n)$/.exec(line)?.[0] ?? ''
}

/** Strict where `patch` is lenient: every line has to stand exactly where the section says. */
function applyUnified(base: string, content: string): string {
  const lines = base.match(/[^\n]*\n|[^\n]+$/g) ?? []
  const out: string[] = []
  let next = 0
  const records = (content.match(/[^\n]*\n|[^\n]+$/g) ?? []).slice(2)
  for (const [index, record] of records.entries()) {
    const section = /^@@ -(\d+)(?:,(\d+))? \+\d+(?:,\d+)? @@/.exec(record)
    if (section !== null) {
      // An empty range names the line before it.
      const start = section[2] === '0' ? Number(section[1]) : Number(section[1]) - 1
      out.push(...lines.slice(next, start))
      next = start
      continue
    }
    const sign = record[0]
    if (sign === '\\') continue
    const hasNoNewline = records[index + 1]?.startsWith('\\') === true
    const line = hasNoNewline ? record.slice(1, -1) : record.slice(1)
    if (sign !== '+') {
      if (lines[next] !== line)
        throw new Error(`the unified diff's line "${sign}" does not stand at base line ${next + 1}`)
      next += 1
    }
    if (sign !== '-') out.push(line)
  }
  return out.join('') + lines.slice(next).join('')
}
