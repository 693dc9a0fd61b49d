// The characters that a piece of a glob pattern takes, as ranges of code points.
import type { Ranges } from './glob-automaton.ts'

const slash = 0x2f
const lastCodePoint = 0x10ffff

export const anything: Ranges = [[0, lastCodePoint]]
export const slashAlone: Ranges = [[slash, slash]]
export const notSlash = complement(slashAlone)

/**
 * What a class takes; no class takes a slash.
 * @param body between the brackets
 * @returns undefined if a range goes from a higher to a lower character
 */
export function membersOf(body: string): Ranges | undefined {
  const isNegated = body.startsWith('!') || body.startsWith('^')
  const members = rangesOf(isNegated ? body.slice(1) : body)
  if (members.some(([from, to]) => from > to)) return undefined
  return complement([...(isNegated ? members : complement(members)), ...slashAlone])
}

function rangesOf(body: string): Ranges {
  const characters = Array.from(body)
  const ranges: [number, number][] = []
  for (let index = 0; index < characters.length; index += 1) {
    const from =
      characters[index] === '\\' && index + 1 < characters.length
        ? (characters[++index] as string)
        : (characters[index] as string)
    const isRange = characters[index + 1] === '-' && index + 2 < characters.length
    const to = isRange ? (characters[index + 2] as string) : from
    if (isRange) index += 2
    ranges.push(toRange(from, to))
  }
  return ranges
}

export function toRange(from: string, to = from): [number, number] {
  return [from.codePointAt(0) as number, to.codePointAt(0) as number]
}

/** All that is in none of the ranges; a range with reversed ends is empty. */
function complement(ranges: Ranges): Ranges {
  const others: [number, number][] = []
  let from = 0
  for (const [first, last] of [...ranges].sort((a, b) => a[0] - b[0])) {
    if (first > last) continue
    if (first > from) others.push([from, first - 1])
    from = Math.max(from, last + 1)
  }
  if (from <= lastCodePoint) others.push([from, lastCodePoint])
  return others
}
