// The forms in which one edit can be asked for.
import { hunksOf, unifiedOf, type Text } from './text.ts'

/** What async_update takes beside path and expected_hash. */
export function updateOf(form: string, base: Text, wanted: Text): object {
  const content = { content: wanted.join('') }
  const hunks = hunksOf(base, wanted)
  if (hunks.length === 0 || base.length === 0 || !isPlain(base) || !isPlain(wanted)) return content
  if (form === 'lines')
    return {
      patches: hunks.map(({ start, end, lines }) => ({
        start_line: start + 1,
        end_line: end,
        new_content: lines.join(''),
        expected_lines: base.slice(start, end).join('').replace(/\n$/, '')
      }))
    }
  if (form === 'text')
    return {
      patches: hunks.map(({ start, end, lines }) => {
        // What is put in stands beside a line that stays.
        const [first, last] = start < end ? [start, end] : start > 0 ? [start - 1, start] : [0, 1]
        const kept = start < end ? '' : base[first]!
        const added = lines.join('')
        const new_string = start > 0 ? kept + added : added + kept
        return { old_string: base.slice(first, last).join(''), new_string }
      })
    }
  if (form === 'unified') return { unified_diff: unifiedOf(base, wanted) }
  return content
}

/** The edits of edit_file; undefined if it has no form for that. */
export function editsOf(base: Text, wanted: Text): object[] | undefined {
  if (base.length === 0 || wanted.length === 0 || !isPlain(base) || !isPlain(wanted)) return undefined
  return hunksOf(base, wanted).flatMap(({ start, end, lines }) => {
    const count = Math.min(end - start, lines.length)
    const content = (line: string) => line.replace(/\n$/, '')
    const replaced = lines
      .slice(0, count)
      .map((line, at) => ({ line: start + at + 1, operation: 'replace', content: content(line) }))
    const deleted = Array.from({ length: end - start - count }, (_, at) => ({
      line: start + count + at + 1,
      operation: 'delete'
    }))
    const inserted = lines.slice(count).map((line) => ({ line: end + 1, operation: 'insert', content: content(line) }))
    return [...replaced, ...deleted, ...inserted]
  })
}

/** Forms by lines add line ends; these texts have them all. */
export function isPlain(text: Text): boolean {
  return text.every((line) => line.endsWith('\n'))
}
