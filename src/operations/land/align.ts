// Which lines of a sequence a text has: as many as possible, and among equal ones those that weigh more.
import { diffLines } from '../../engine/diff/hunks.ts'

export interface WeighedLine {
  readonly text: string
  /** From 0 to 9. */
  readonly weight: number
}

/** Beyond it the first of several equal lines is taken. */
const maxCells = 25_000_000
/** More lines count for more than what all weigh: by the bound above the shorter side has at most 5,000. */
const ofMatch = 50_000
const bound = { maxEditLength: 5000, timeoutMs: 200 }

/** @returns for each line of the text the index of its line in the sequence; undefined if it has none */
export function align(sequence: readonly WeighedLine[], text: readonly string[]): (number | undefined)[] {
  return sequence.length * text.length > maxCells ? alignFirst(sequence, text) : alignBest(sequence, text)
}

/** A longest common subsequence by dynamic programming, from the end. */
function alignBest(sequence: readonly WeighedLine[], text: readonly string[]): (number | undefined)[] {
  const width = text.length + 1
  /** 0: skip the line of the sequence, 1: skip that of the text, 2: they match. */
  const ways = new Uint8Array((sequence.length + 1) * width)
  let below = new Int32Array(width)
  let row = new Int32Array(width)
  for (let at = sequence.length - 1; at >= 0; at -= 1) {
    const line = sequence[at]!
    for (let index = text.length - 1; index >= 0; index -= 1) {
      const [skipped, left] = [below[index]!, row[index + 1]!]
      const matched = line.text === text[index] ? below[index + 1]! + ofMatch + line.weight : -1
      const best = Math.max(skipped, left, matched)
      row[index] = best
      ways[at * width + index] = best === matched ? 2 : best === skipped ? 0 : 1
    }
    ;[below, row] = [row, below]
    row[text.length] = 0
  }
  const found: (number | undefined)[] = Array.from({ length: text.length })
  for (let at = 0, index = 0; at < sequence.length && index < text.length;) {
    const way = ways[at * width + index]!
    if (way === 2) found[index] = at
    if (way !== 1) at += 1
    if (way !== 0) index += 1
  }
  return found
}

function alignFirst(sequence: readonly WeighedLine[], text: readonly string[]): (number | undefined)[] {
  const found: (number | undefined)[] = Array.from({ length: text.length })
  const { hunks } = diffLines(
    sequence.map((line) => line.text),
    text,
    bound
  )
  let [at, index] = [0, 0]
  for (const { baseStart, baseEnd, currentEnd } of [
    ...hunks,
    { baseStart: sequence.length, baseEnd: sequence.length, currentEnd: text.length }
  ]) {
    for (; at < baseStart; at += 1, index += 1) found[index] = at
    at = baseEnd
    index = currentEnd
  }
  return found
}
