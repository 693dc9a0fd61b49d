// Quotes what agents say of themselves in messages, so that no reader takes it for the server's words.

const plainName = /^[\w.@:/\\+-]+$/

export function quoteName(name: string): string {
  return plainName.test(name) ? name : quote(name)
}

/** Of a note or a reason. */
export function quote(words: string): string {
  return JSON.stringify(words)
}
