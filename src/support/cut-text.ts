// Cuts texts, and no character in two: a lone surrogate is no text, and a model's API refuses a whole session for one.

/** The last place up to `at` that is not between the two halves of a character beyond U+FFFF. */
export function cutPlace(text: string, at: number): number {
  return isWithin(text.charCodeAt(at - 1), text.charCodeAt(at)) ? at - 1 : at
}

function isWithin(before: number, after: number): boolean {
  return before >= 0xd800 && before < 0xdc00 && after >= 0xdc00 && after < 0xe000
}

/** The beginning of a text, of at most this many UTF-16 code units. */
export function beginningOf(text: string, most: number): string {
  return text.length <= most ? text : text.slice(0, cutPlace(text, most))
}

/** The same, with a mark if it is not all of the text. */
export function shortened(text: string, most: number, mark = '...'): string {
  return text.length <= most ? text : beginningOf(text, most) + mark
}

/** The first of them, and how many more there are. */
export function someOf(names: readonly string[], most: number): string {
  const more = names.length > most ? ` and ${names.length - most} more` : ''
  return names.slice(0, most).join(', ') + more
}
