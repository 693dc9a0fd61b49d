// A change of one stretch of a text, and the data of a configuration file.

export interface TextEdit {
  readonly offset: number
  /** Number of characters to remove. */
  readonly length: number
  /** The text that replaces them. */
  readonly content: string
}

export type Data = Readonly<Record<string, unknown>>

export function applyEdit(text: string, { offset, length, content }: TextEdit): string {
  return text.slice(0, offset) + content + text.slice(offset + length)
}
