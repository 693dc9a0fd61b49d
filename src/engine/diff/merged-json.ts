// Whether a merge of JSON texts is still JSON, and keeps what both sides said.

/**
 * True if all the inputs are JSON and the merged text is not, or names a property of one object twice and neither side
 * did: readers would see only one of the two values.
 */
export function breaksJson(merged: string, inputs: readonly string[]): boolean {
  if (!inputs.every((input) => parse(input) !== undefined)) return false
  const parsed = parse(merged)
  if (parsed === undefined) return true
  return (
    surplusNames(merged, parsed.value) > Math.max(...inputs.map((input) => surplusNames(input, parse(input)?.value)))
  )
}

/** A byte order mark is no part of the JSON. */
function parse(text: string): { value: unknown } | undefined {
  try {
    return { value: JSON.parse(text.replace(/^\uFEFF/, '')) }
  } catch {
    return undefined
  }
}

/** A parser keeps one of two properties of the same name: by this many properties the text exceeds the value. */
function surplusNames(text: string, value: unknown): number {
  return countColons(text) - countProperties(value)
}

/** Of a valid text: those outside of strings. */
function countColons(text: string): number {
  let count = 0
  let isString = false
  for (let at = 0; at < text.length; at++) {
    const char = text[at]
    if (char === '"') isString = !isString
    else if (isString && char === '\\') at++
    else if (!isString && char === ':') count++
  }
  return count
}

function countProperties(value: unknown): number {
  // Not by recursion: a text can be nested as deeply as it likes.
  const open = [value]
  let count = 0
  while (open.length > 0) {
    const next = open.pop()
    if (typeof next !== 'object' || next === null) continue
    const inner: unknown[] = Object.values(next)
    if (!Array.isArray(next)) count += inner.length
    for (const item of inner) open.push(item)
  }
  return count
}
