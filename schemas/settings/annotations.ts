// Facts in the schema of a setting other than its bounds. Validators ignore these words.

/** The setting takes effect while the server runs, as soon as its file is saved. */
export const live = { 'x-live': true } as const

/** The value is never shown: `writeOnly` is JSON Schema's own word for that. */
export const secret = { writeOnly: true } as const

/** Ignores case. */
export const anyCase = { 'x-any-case': true } as const

/** Other words for values, such as those of the specification. */
export const aliases = (words: Readonly<Record<string, string>>) => ({ 'x-aliases': words })

/** A path: absolute in a file, since a file has no working directory; or one of these words. */
export const path = (...words: readonly string[]) => ({ 'x-path': words })
