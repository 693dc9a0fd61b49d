// A text as one word of a command line of a POSIX shell.

/** True if the text is that word without quotes. */
export function isPlain(text: string): boolean {
  return /^[\w@%+=:,./-]+$/.test(text)
}

export function quoteWord(text: string): string {
  return isPlain(text) ? text : `'${text.replaceAll("'", String.raw`'\''`)}'`
}
