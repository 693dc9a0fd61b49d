// What native tools have made of a text, and what of it another program has made: a formatter, a person.
import { diffLines, type Hunk } from '../../engine/diff/hunks.ts'
import { carrySpans, spanOf, type Spans } from '../../engine/seen/spans.ts'
import { draftOf, isAnnouncedAt, keysOf, linesOf, looseForm, withPatch, type Draft } from './draft.ts'
import type { TargetFile } from '../../engine/leases/native-turns.ts'

/** What a tool has said that it is about to change. */
export type Announced = Pick<TargetFile, 'patches' | 'content'>

export interface Trace {
  /** True if the tools have made all that differs: as announced, with the liberties that they take, or within the announced lines. */
  readonly isOwn: boolean
  /** True if nothing differs from what was announced. */
  readonly isExact: boolean
  /** What an agent has seen of the text after them, by what it had seen before. */
  readonly carry: (before: Spans) => Spans
}

/** Of one comparison. Beyond it more counts as different. */
const bound = { maxEditLength: 2000, timeoutMs: 50 }

/** @param edits of one file, in the order in which they were announced; not all need have been made */
export function traceMade(before: string, made: string, edits: readonly Announced[]): Trace {
  const base = linesOf(draftOf(before))
  const now = linesOf(draftOf(made))
  const { draft, isSent } = findMade(draftOf(before), now, edits)
  const lines = linesOf(draft)
  const toDraft = isSent ? [] : diffLines(base, lines, bound).hunks
  const toMade = diffLines(keysOf(lines, isSent), keysOf(now, isSent), bound).hunks
  const isOthers = ({ baseStart, baseEnd }: Hunk) => !isAnnouncedAt(draft, baseStart, baseEnd)
  return {
    isOwn: !toMade.some(isOthers),
    isExact: toMade.length === 0,
    carry(spans) {
      const ofDraft = isSent ? [spanOf({ start: 1, end: lines.length })] : carrySpans(spans, toDraft, () => 'written')
      return carrySpans(ofDraft, toMade, (hunk) => (isOthers(hunk) ? 'unseen' : 'written'))
    }
  }
}

interface Found {
  readonly draft: Draft
  /** The tool has sent the whole text. */
  readonly isSent: boolean
}

/** The edits that were made: each one after which less differs, or no more. */
function findMade(before: Draft, made: readonly string[], edits: readonly Announced[]): Found {
  const exact = applyAll({ draft: before, isSent: false }, edits)
  if (exact !== undefined && isSame(linesOf(exact.draft), made)) return exact
  let found: Found = { draft: before, isSent: false }
  let rest = distance(before, made)
  for (const edit of edits) {
    const next = apply(found, edit)
    const nextRest = next === undefined ? Infinity : distance(next.draft, made)
    if (next === undefined || nextRest > rest) continue
    found = next
    rest = nextRest
  }
  return found
}

function applyAll(found: Found, edits: readonly Announced[]): Found | undefined {
  return edits.reduce<Found | undefined>((text, edit) => text && apply(text, edit), found)
}

function apply({ draft, isSent }: Found, { patches, content }: Announced): Found | undefined {
  if (patches === undefined) return content === undefined ? undefined : { draft: draftOf(content), isSent: true }
  const made = patches.reduce<Draft | undefined>((text, patch) => text && withPatch(text, patch), draft)
  return made && { draft: made, isSent }
}

function isSame(one: readonly string[], other: readonly string[]): boolean {
  return one.length === other.length && one.every((line, index) => line === other[index])
}

/** Lines that differ, but for what tools take for the same. */
function distance(draft: Draft, made: readonly string[]): number {
  const forms = (lines: readonly string[]) => lines.map(looseForm).filter((line) => line !== '')
  const { hunks } = diffLines(forms(linesOf(draft)), forms(made), bound)
  return hunks.reduce(
    (sum, { baseStart, baseEnd, currentStart, currentEnd }) => sum + baseEnd - baseStart + currentEnd - currentStart,
    0
  )
}
