// Why a patch does not apply, with what its author needs to fix it: the places found, or the nearest lines and how they differ.
import type { StringPatch } from '../../../schemas/patches.ts'
import type { Budget } from './budget.ts'
import { describeLinePatchFailure, type LinePatchFailure } from './line-patch-failure.ts'
import { lineNumbersAt } from './lines.ts'
import { describeFirstDifference } from './first-difference.ts'
import { costOfNearest, findNearest, type Nearest } from './nearest.ts'
import type { Difference } from './normalizations.ts'
import { occurrences } from './occurrences.ts'

/** too_large: the text would exceed the limit given. */
export type PatchFault = 'not_found' | 'ambiguous' | 'too_large'

/** Fit for `details` of an error. Line numbers are 1-based; of a patch by text, those of the text with the earlier patches applied. */
export type PatchFailure =
  | { readonly patch_index: number; readonly reason: 'not_found'; readonly nearest?: Nearest }
  | {
      readonly patch_index: number
      readonly reason: 'ambiguous'
      readonly count: number
      /** Where the occurrences begin, the first 20 of them. */
      readonly lines: readonly number[]
    }
  | { readonly patch_index: number; readonly reason: 'too_large' }
  | LinePatchFailure

const maxLinesNamed = 20
const stepsPerPlace = 64

const differences: Record<Difference, string> = {
  line_ends: 'differ from NAME only in line ends',
  whitespace: 'differ from NAME only in whitespace',
  case: 'differ from NAME only in upper and lower case',
  characters: 'differ from NAME only in characters that look alike, or cannot be seen',
  whitespace_and_case: 'differ from NAME only in whitespace and in upper and lower case',
  text: 'are similar to NAME, but not the same'
}

/** @throws OutOfBudget */
export function explainFailure(
  text: string,
  patch: StringPatch,
  patch_index: number,
  reason: PatchFault,
  budget: Budget
): PatchFailure {
  switch (reason) {
    case 'not_found': {
      budget.spend(costOfNearest(text, patch.old_string))
      const isAlone = patch_index === 0 && patch.replace_all !== true
      const nearest = findNearest(text, patch.old_string, isAlone ? patch.new_string : undefined)
      return { patch_index, reason, ...(nearest && { nearest }) }
    }
    case 'ambiguous': {
      const offsets: number[] = []
      let count = 0
      for (const offset of occurrences(text, patch.old_string, 'overlapping')) {
        budget.spend(stepsPerPlace)
        if (count++ < maxLinesNamed) offsets.push(offset)
      }
      return { patch_index, reason, count, lines: lineNumbersAt(text, offsets) }
    }
    case 'too_large':
      return { patch_index, reason }
    default:
      return reason satisfies never
  }
}

/** The failure in sentences: what happened and what to do next. */
export function describeFailure(failure: PatchFailure): string {
  const { patch_index } = failure
  const counted = patch_index > 0 ? ' (counted with the earlier patches applied)' : ''
  switch (failure.reason) {
    case 'not_found': {
      const { nearest } = failure
      const missing = `patches[${patch_index}]: old_string does not occur in the text.`
      if (nearest === undefined) return `${missing} The text has nothing similar: read the file again.`
      const offer =
        nearest.patch === undefined
          ? ''
          : ' Or send details.nearest.patch in place of this patch, without other patches by text: it makes this change by lines.'
      return `${missing} ${describeNearest(nearest, 'old_string', counted)} Copy old_string from the file exactly.${offer}`
    }
    case 'ambiguous': {
      const { count, lines } = failure
      const named = lines.join(', ') + (count > lines.length ? ', ...' : '')
      return `patches[${patch_index}]: old_string occurs ${count} times, starting at lines ${named}${counted}. Make it longer until it is unique, or set replace_all.`
    }
    case 'too_large':
      return `patches[${patch_index}]: the text would become larger than the limit.`
    case 'reversed_range':
    case 'inserts_nothing':
    case 'out_of_range':
    case 'overlap':
    case 'unexpected_lines':
      return describeLinePatchFailure(failure)
    default:
      return failure satisfies never
  }
}

/** @param name of what was looked for @param counted what the line numbers count */
export function describeNearest(nearest: Nearest, name: string, counted = ''): string {
  const { start_line, end_line, difference, text, clipped, first_difference: first } = nearest
  const range = start_line === end_line ? `line ${start_line}` : `lines ${start_line}-${end_line}`
  const shown = JSON.stringify(text) + (clipped === true ? ' and more' : '')
  const what = differences[difference].replace('NAME', name)
  const where = first === undefined ? '' : `: ${describeFirstDifference(first, name)}`
  return `The nearest is ${range}${counted}: ${shown}. They ${what}${where}.`
}
