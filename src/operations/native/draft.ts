// A text on which edits are tried as native tools make them, with what they announced to change. Line ends do not count.
import type { StringPatch } from '../../../schemas/patches.ts'
import type { Line } from '../../engine/diff/hunks.ts'
import { splitLines, splitMark, withoutTerminator } from '../../engine/diff/lines.ts'
import type { LineRange } from '../../engine/seen/line-ranges.ts'

interface DraftLine {
  readonly text: string
  /** An edit has announced it. */
  readonly isAnnounced: boolean
  /** An edit has announced to remove what was before it. */
  readonly isBehindRemoval: boolean
}

/** The last one is none: it stands for the end of the text. */
export type Draft = readonly DraftLine[]

const plain = (text: string): DraftLine => ({ text, isAnnounced: false, isBehindRemoval: false })
const toLines = (text: string) => splitLines(splitMark(text).body).map(withoutTerminator)

export function draftOf(text: string): Draft {
  return [...toLines(text), ''].map(plain)
}

/** Without the end. */
export function linesOf(draft: Draft): readonly string[] {
  return draft.slice(0, -1).map(({ text }) => text)
}

/** What a tool takes for the same when it looks for a text: white space, quotes, dashes. */
export function looseForm(line: string): string {
  return line
    .replaceAll(/\s+/g, '')
    .replaceAll(/[‘’‚‛′]/g, "'")
    .replaceAll(/[“”„‟″]/g, '"')
    .replaceAll(/[‐-―−]/g, '-')
}

/** Undefined if the text to replace is not there. */
export function withPatch(draft: Draft, patch: StringPatch): Draft | undefined {
  const old = patch.old_string.replaceAll('\r\n', '\n')
  const next = patch.new_string.replaceAll('\r\n', '\n')
  const places = findText(draft, old, patch.replace_all === true)
  if (places.length === 0) return withLines(draft, old, next)
  // The last one first: the others stay where they are.
  return places.toReversed().reduce((text, place) => replaceText(text, place, next), draft)
}

interface Place {
  /** Lines, 0-based, the last one included, and where the text begins and ends in them. */
  readonly first: number
  readonly from: number
  readonly last: number
  readonly to: number
}

function findText(draft: Draft, text: string, isEverywhere: boolean): readonly Place[] {
  if (text === '') return []
  const all = draft.map((line) => line.text).join('\n')
  const places: Place[] = []
  let line = 0
  let start = 0
  const seek = (offset: number) => {
    for (let end = all.indexOf('\n', start); end !== -1 && end < offset; end = all.indexOf('\n', start)) {
      line += 1
      start = end + 1
    }
    return { line, column: offset - start }
  }
  for (let at = all.indexOf(text); at !== -1; at = isEverywhere ? all.indexOf(text, at + text.length) : -1) {
    const [from, to] = [seek(at), seek(at + text.length)]
    places.push({ first: from.line, from: from.column, last: to.line, to: to.column })
  }
  return places
}

/** The lines that a text to replace stands in, 1-based; undefined if it is not there, or more than once where one is meant. */
export function linesWith(text: string, patch: StringPatch): readonly LineRange[] | undefined {
  const draft = draftOf(text)
  const places = findText(draft, patch.old_string.replaceAll('\r\n', '\n'), true)
  if (places.length === 0 || (places.length > 1 && patch.replace_all !== true)) return undefined
  return places.map(({ first, last, to }) => ({
    start: first + 1,
    end: Math.max(first, to === 0 ? last - 1 : last) + 1
  }))
}

function replaceText(draft: Draft, { first, from, last, to }: Place, text: string): Draft {
  const [head, tail] = [draft[first]!, draft[last]!]
  const made = `${head.text.slice(0, from)}${text}${tail.text.slice(to)}`.split('\n')
  // A line that is only touched stays.
  const keepsTail = to === 0 && last > first && made.at(-1) === tail.text
  const keepsHead =
    from === head.text.length && last > first && made[0] === head.text && made.length > Number(keepsTail)
  const lines = made.slice(keepsHead ? 1 : 0, keepsTail ? -1 : undefined)
  const isEnd = last === draft.length - 1
  return [
    ...draft.slice(0, first + Number(keepsHead)),
    ...announced(isEnd && !keepsTail ? lines.slice(0, -1) : lines),
    ...markRemoval(draft.slice(keepsTail ? last : isEnd ? last : last + 1), lines.length === 0)
  ]
}

/** As tools look for lines that differ in white space or quotes only, or whose first and last line are these. */
function withLines(draft: Draft, old: string, next: string): Draft | undefined {
  const wanted = trimBlank(old.split('\n').map(looseForm))
  if (wanted.length === 0) return undefined
  const forms = draft.map(({ text }) => looseForm(text))
  const isAt = (at: number) => wanted.every((line, index) => forms[at + index] === line)
  const found = forms.findIndex((_, at) => isAt(at))
  const place = found === -1 ? findBlock(forms, wanted) : { start: found, end: found + wanted.length }
  if (place === undefined) return undefined
  const lines = next === '' ? [] : next.replace(/\n$/, '').split('\n')
  return [
    ...draft.slice(0, place.start),
    ...announced(lines),
    ...markRemoval(draft.slice(place.end), lines.length === 0)
  ]
}

function findBlock(forms: readonly string[], wanted: readonly string[]): LineRange | undefined {
  if (wanted.length < 3) return undefined
  const start = forms.indexOf(wanted[0]!)
  const end = start === -1 ? -1 : forms.indexOf(wanted.at(-1)!, start + 1)
  return end === -1 ? undefined : { start, end: end + 1 }
}

function trimBlank(lines: readonly string[]): readonly string[] {
  const first = lines.findIndex((line) => line !== '')
  return first === -1 ? [] : lines.slice(first, lines.findLastIndex((line) => line !== '') + 1)
}

function announced(lines: readonly string[]): Draft {
  return lines.map((text) => ({ text, isAnnounced: true, isBehindRemoval: false }))
}

function markRemoval([next, ...others]: Draft, isRemoval: boolean): Draft {
  if (next === undefined) return []
  return [isRemoval ? { ...next, isBehindRemoval: true } : next, ...others]
}

/** Whether what differs there lies within what was announced: in its lines, or beside them. */
export function isAnnouncedAt(draft: Draft, start: number, end: number): boolean {
  if (start < end) return draft.slice(start, end).every(({ isAnnounced }) => isAnnounced)
  return draft[start]?.isBehindRemoval === true || [draft[start - 1], draft[start]].some((line) => line?.isAnnounced)
}

export function keysOf(lines: readonly string[], isLoose: boolean): readonly Line[] {
  return isLoose ? lines.map((line) => line.trimEnd()) : lines
}
