// The words for true and false that people write into the environment.

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

/** In upper and lower case alike. @returns undefined where it is none of these words */
export function parseBoolean(text: string): boolean | undefined {
  return words[text.trim().toLowerCase()]
}
