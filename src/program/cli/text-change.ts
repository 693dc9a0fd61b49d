// The change of a file as a unified diff, for human readers.
import { diffLines } from '../../engine/diff/hunks.ts'
import { splitLines } from '../../engine/diff/lines.ts'
import { toUnified } from '../../engine/diff/unified.ts'

const contextLines = 4
const noFile = '/dev/null'
/** The two headers, which name no file. */
const headerLines = 2
/** More than the changes of these small files need, and never for long. */
const bound = { maxEditLength: 1000, timeoutMs: 1000 }

/** @param before undefined if there is no file. @param after likewise */
export function describeChange(file: string, before: string | undefined, after: string | undefined): string[] {
  const [base, current] = [before, after].map((text = '') => splitLines(text)) as [string[], string[]]
  const { hunks } = diffLines(base, current, bound)
  const sections = toUnified(base, current, hunks, contextLines).trimEnd().split('\n').slice(headerLines)
  return [`--- ${before === undefined ? noFile : file}`, `+++ ${after === undefined ? noFile : file}`, ...sections]
}
