// The words for true and false in the environment.

const words: Readonly<Record<string, boolean>> = {
  true: true,
  '1': true,
  yes: true,
  on: true,
  false: false,
  '0': false,
  no: false,
  off: false
}

/** Ignores case. @returns undefined if it is none of these words */
export function parseBoolean(text: string): boolean | undefined {
  return words[text.trim().toLowerCase()]
}
