// Why a patch by lines cannot be made, with what its author needs to fix it.
import { describeFirstDifference, type FirstDifference } from './first-difference.ts'

/** Fit for `details` of an error. Line numbers are 1-based, of the text before any patch. */
export type LinePatchFailure =
  | { readonly patch_index: number; readonly reason: 'reversed_range' | 'inserts_nothing' }
  | { readonly patch_index: number; readonly reason: 'out_of_range'; readonly total_lines: number }
  | { readonly patch_index: number; readonly reason: 'overlap'; readonly other_patch_index: number }
  | {
      readonly patch_index: number
      readonly reason: 'unexpected_lines'
      readonly start_line: number
      readonly end_line: number
      /** The lines there, without the last one's terminator: at most twenty lines, at most 2,000 characters. */
      readonly text: string
      /** True if `text` is not all of it. */
      readonly clipped?: boolean
      /** Absent if they are not as many as expected. */
      readonly first_difference?: FirstDifference
    }

/** The failure in sentences: what happened and what to do next. */
export function describeLinePatchFailure(failure: LinePatchFailure): string {
  const name = `patches[${failure.patch_index}]`
  switch (failure.reason) {
    case 'reversed_range':
      return `${name}: end_line lies before start_line. Give the last line to replace, or start_line - 1 to insert before start_line.`
    case 'inserts_nothing':
      return `${name}: new_content is empty, and there are no lines to replace. Pass a line break to insert an empty line.`
    case 'out_of_range':
      return failure.total_lines === 0
        ? `${name}: the version has no lines. Insert with start_line 1 and end_line 0.`
        : `${name}: the version has lines 1 to ${failure.total_lines}. To add lines after them, pass start_line ${failure.total_lines + 1} and end_line ${failure.total_lines}.`
    case 'overlap':
      return `${name}: its lines overlap those of patches[${failure.other_patch_index}]. All line numbers refer to the version before any patch; combine the two patches.`
    case 'unexpected_lines': {
      const { start_line, end_line, text, clipped, first_difference: first } = failure
      if (end_line < start_line) return `${name}: it inserts, so leave out expected_lines.`
      const range = start_line === end_line ? `line ${start_line} is` : `lines ${start_line}-${end_line} are`
      const shown = JSON.stringify(text) + (clipped === true ? ' and more' : '')
      const where =
        first === undefined ? '' : ` The first difference: ${describeFirstDifference(first, 'expected_lines')}.`
      return `${name}: expected_lines does not match the file: ${range} ${shown}.${where} Correct the line numbers, or expected_lines.`
    }
    default:
      return failure satisfies never
  }
}
