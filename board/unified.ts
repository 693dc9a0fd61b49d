// A unified diff as rows to draw: in one column, or the two versions side by side. Pure.
import { cutPlace } from '../src/support/cut-text.ts'

export interface Line {
  readonly kind: 'same' | 'added' | 'removed'
  /** 1-based; undefined in the version that does not have it. */
  readonly oldNumber: number | undefined
  readonly newNumber: number | undefined
  readonly text: string
  /** The part that differs from its counterpart. */
  readonly changed?: readonly [start: number, end: number]
}

export interface Hunk {
  readonly lines: readonly Line[]
}

export interface Pair {
  readonly left: Line | undefined
  readonly right: Line | undefined
}

export function parseUnified(text: string): Hunk[] {
  const hunks: { lines: Line[] }[] = []
  let [oldNumber, newNumber, oldLeft, newLeft] = [0, 0, 0, 0]
  for (const row of text.split('\n')) {
    const hunk = hunks.at(-1)
    if (hunk === undefined || (oldLeft <= 0 && newLeft <= 0)) {
      const [, oldStart, oldCount = '1', newStart, newCount = '1'] =
        /^@@ -(\d+)(?:,(\d+))? \+(\d+)(?:,(\d+))? @@/.exec(row) ?? []
      if (oldStart === undefined || newStart === undefined) continue
      ;[oldNumber, newNumber, oldLeft, newLeft] = [+oldStart, +newStart, +oldCount, +newCount]
      hunks.push({ lines: [] })
      continue
    }
    const content = row.slice(1)
    if (row.startsWith('+')) {
      hunk.lines.push({ kind: 'added', oldNumber: undefined, newNumber, text: content })
      newNumber += 1
      newLeft -= 1
    } else if (row.startsWith('-')) {
      hunk.lines.push({ kind: 'removed', oldNumber, newNumber: undefined, text: content })
      oldNumber += 1
      oldLeft -= 1
    } else if (!row.startsWith('\\')) {
      hunk.lines.push({ kind: 'same', oldNumber, newNumber, text: content })
      oldNumber += 1
      newNumber += 1
      oldLeft -= 1
      newLeft -= 1
    }
  }
  return hunks.map(({ lines }) => ({ lines: markParts(lines) }))
}

/** Removed lines beside the added ones that take their place. */
export function pairUp(lines: readonly Line[]): Pair[] {
  const pairs: Pair[] = []
  for (const { removed, added, same } of runsOf(lines)) {
    for (let index = 0; index < Math.max(removed.length, added.length); index += 1)
      pairs.push({ left: removed[index], right: added[index] })
    if (same !== undefined) pairs.push({ left: same, right: same })
  }
  return pairs
}

/** The lines of the new version that differ, such as `3-5, 9`; where lines only went, the line after which. */
export function describeLines(hunks: readonly Hunk[], maxParts = 3): string {
  const parts: string[] = []
  for (const { lines } of hunks) {
    let last = 0
    for (const { removed, added, same } of runsOf(lines)) {
      const [first, end] = [added[0]?.newNumber, added.at(-1)?.newNumber]
      if (first !== undefined && end !== undefined) parts.push(first === end ? `${first}` : `${first}-${end}`)
      else if (removed.length > 0) parts.push(`after ${last}`)
      last = same?.newNumber ?? end ?? last
    }
  }
  const [only] = parts
  const shown = parts.slice(0, maxParts).join(', ') + (parts.length > maxParts ? ', …' : '')
  return parts.length === 0 ? '' : `${parts.length === 1 && /^\d+$/.test(only ?? '') ? 'line' : 'lines'} ${shown}`
}

export function countLines(hunks: readonly Hunk[]): { added: number; removed: number } {
  const lines = hunks.flatMap((hunk) => hunk.lines)
  const count = (kind: Line['kind']) => lines.filter((line) => line.kind === kind).length
  return { added: count('added'), removed: count('removed') }
}

interface Run {
  readonly removed: Line[]
  readonly added: Line[]
  /** The unchanged line that ends it. */
  same?: Line
}

function runsOf(lines: readonly Line[]): Run[] {
  const runs: Run[] = [{ removed: [], added: [] }]
  for (const line of lines) {
    const run = runs.at(-1) as Run
    if (line.kind === 'same') {
      run.same = line
      runs.push({ removed: [], added: [] })
    } else run[line.kind].push(line)
  }
  return runs
}

/** Marks, of lines that take each other's place, what is not equal at their beginnings and ends. */
function markParts(lines: readonly Line[]): Line[] {
  return runsOf(lines).flatMap(({ removed, added, same }) => {
    const olds = removed.map((line, index) => markAgainst(line, added[index]))
    const news = added.map((line, index) => markAgainst(line, removed[index]))
    return [...olds, ...news, ...(same === undefined ? [] : [same])]
  })
}

function markAgainst(line: Line, other: Line | undefined): Line {
  if (other === undefined) return line
  const [one, two] = [line.text, other.text]
  const shortest = Math.min(one.length, two.length)
  let start = 0
  while (start < shortest && one[start] === two[start]) start += 1
  let tail = 0
  while (tail < shortest - start && one[one.length - 1 - tail] === two[two.length - 1 - tail]) tail += 1
  // Lines with next to nothing in common are simply two lines.
  if (start + tail < Math.max(one.length, two.length) * 0.3) return line
  const end = one.length - tail
  return { ...line, changed: [cutPlace(one, start), cutPlace(one, end) === end ? end : end + 1] }
}
