// Where a string occurs in a text, always in time linear in both.

// The native search is the fastest, yet its worst case is the product of the lengths: a needle of 500 characters like
// aaaabaaaa in a million a's takes half a second. Beyond 30 ms Knuth-Morris-Pratt, always linear, takes over.
const maxNativeSteps = 32_000_000

/** The offsets of `needle`, ascending; if two overlap, both or only the first of them. An empty needle occurs nowhere. */
export function occurrences(text: string, needle: string, overlap: 'overlapping' | 'disjoint'): Iterable<number> {
  if (needle === '' || needle.length > text.length) return []
  const isCheap = text.length * needle.length <= maxNativeSteps
  return isCheap ? nativeOccurrences(text, needle, overlap) : linearOccurrences(text, needle, overlap)
}

function* nativeOccurrences(text: string, needle: string, overlap: 'overlapping' | 'disjoint'): Generator<number> {
  const step = overlap === 'overlapping' ? 1 : needle.length
  for (let at = text.indexOf(needle); at !== -1; at = text.indexOf(needle, at + step)) yield at
}

/** Knuth-Morris-Pratt. */
function* linearOccurrences(text: string, needle: string, overlap: 'overlapping' | 'disjoint'): Generator<number> {
  const fallback = fallbackTable(needle)
  let matched = 0
  for (let at = 0; at < text.length; at++) {
    const code = text.charCodeAt(at)
    while (matched > 0 && needle.charCodeAt(matched) !== code) matched = fallback[matched - 1]!
    if (needle.charCodeAt(matched) === code) matched++
    if (matched < needle.length) continue
    yield at + 1 - needle.length
    matched = overlap === 'overlapping' ? fallback[matched - 1]! : 0
  }
}

/** For each prefix of the needle the length of the longest shorter prefix that also ends it. */
function fallbackTable(needle: string): Int32Array {
  const table = new Int32Array(needle.length)
  let matched = 0
  for (let at = 1; at < needle.length; at++) {
    const code = needle.charCodeAt(at)
    while (matched > 0 && needle.charCodeAt(matched) !== code) matched = table[matched - 1]!
    if (needle.charCodeAt(matched) === code) matched++
    table[at] = matched
  }
  return table
}
