// Guesses what a misspelt name was meant to be.

/** Names the nearest known one, or all of them: the end of a sentence. */
export function suggest(unknown: string, known: readonly string[]): string {
  if (known.length === 0) return '; there are none'
  const best = nearest(unknown, known)
  return best === undefined ? `; known: ${known.join(', ')}` : `; did you mean "${best}"?`
}

/** @returns undefined if none is near */
export function nearest(unknown: string, known: readonly string[]): string | undefined {
  const [best] = known
    .map((name) => ({ name, distance: distanceBetween(unknown.toLowerCase(), name.toLowerCase()) }))
    .sort((a, b) => a.distance - b.distance)
  if (best === undefined || best.distance > Math.max(2, Math.floor(best.name.length / 3))) return undefined
  return best.name
}

/** A question that names the nearest one, with a blank before it; empty if none is near, or it is known. */
export function questionOf(name: string, known: readonly string[]): string {
  const best = nearest(name, known)
  return best === undefined || best === name ? '' : ` Did you mean ${JSON.stringify(best)}?`
}

function distanceBetween(one: string, other: string): number {
  return hasWordsOf(one, other) ? 1 : editDistance(one, other)
}

/** Whether one name is the beginning or the end of the other, as `timeout` is of `timeout_seconds`. */
function hasWordsOf(one: string, other: string): boolean {
  const [long, short] = one.length > other.length ? [one, other] : [other, one]
  return long.startsWith(`${short}_`) || long.endsWith(`_${short}`)
}

/** Levenshtein distance, on names cut to 64 characters. */
function editDistance(a: string, b: string): number {
  const [left, right] = [a.slice(0, 64), b.slice(0, 64)]
  let row = Array.from({ length: right.length + 1 }, (_, index) => index)
  for (let i = 1; i <= left.length; i += 1) {
    const next = [i]
    for (let j = 1; j <= right.length; j += 1) {
      const substitution = (row[j - 1] as number) + (left[i - 1] === right[j - 1] ? 0 : 1)
      next.push(Math.min((row[j] as number) + 1, (next[j - 1] as number) + 1, substitution))
    }
    row = next
  }
  return row[right.length] as number
}
