// What stands between the braces of a glob pattern.

/** @param from behind the opening brace @returns the index of the brace that closes it; -1 if none does */
export function closingBrace(pattern: string, from: number): number {
  let depth = 1
  for (let index = from; index < pattern.length; index += 1) {
    const character = pattern[index]
    if (character === '\\') index += 1
    else if (character === '{') depth += 1
    else if (character === '}' && --depth === 0) return index
  }
  return -1
}

/** Items of one range. */
export const maxRangeItems = 100

/** The items of `1..3` or `a..e`, at most one more than allowed; undefined if the braces hold no range. */
export function rangeOf(body: string): string[] | undefined {
  const numbers = /^(-?\d{1,9})\.\.(-?\d{1,9})$/.exec(body)
  const letters = /^([a-zA-Z])\.\.([a-zA-Z])$/.exec(body)
  const match = numbers ?? letters
  if (match === null) return undefined
  const valueOf = (text: string) => (numbers === null ? text.charCodeAt(0) : Number(text))
  const [from, to] = [valueOf(match[1] as string), valueOf(match[2] as string)]
  const length = Math.min(Math.abs(to - from) + 1, maxRangeItems + 1)
  const step = to < from ? -1 : 1
  return Array.from({ length }, (_, index) => {
    const value = from + index * step
    return numbers === null ? String.fromCharCode(value) : String(value)
  })
}

/** Commas that separate alternatives of these braces, not of nested ones. */
export function commasAtTop(body: string): number {
  let depth = 0
  let commas = 0
  for (let index = 0; index < body.length; index += 1) {
    const character = body[index]
    if (character === '\\') index += 1
    else if (character === '{') depth += 1
    else if (character === '}') depth -= 1
    else if (character === ',' && depth === 0) commas += 1
  }
  return commas
}
