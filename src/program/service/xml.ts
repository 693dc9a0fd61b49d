// Text between and in the tags of XML.
import { refuseControlCharacters } from './definition.ts'

const entities: Readonly<Record<string, string>> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  "'": '&apos;'
}

/** @throws Error for characters that XML cannot hold */
export function escapeXml(text: string): string {
  refuseControlCharacters(text)
  return text.replaceAll(/[&<>"']/g, (character) => entities[character] ?? character)
}
