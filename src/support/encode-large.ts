// The JSON of large messages, made in pieces, so that other calls are served between them.
import { randomUUID } from 'node:crypto'
import { largeBytes, largeTurn, pieceBytes } from './large-work.ts'
import { cutPlace } from './cut-text.ts'
import { isFields, type Fields } from './json-fields.ts'

/** A text up to this length is encoded with the rest. */
const longText = 65_536

/** Whether the input or the answer of an operation has a large text, or texts that are large together. */
export function isLarge(value: unknown): boolean {
  if (!isFields(value)) return false
  const { content, results, files } = value
  if (typeof content === 'string') return content.length > largeBytes
  const items = results ?? files
  if (!Array.isArray(items)) return false
  let length = 0
  for (const item of items as (Fields | null)[]) {
    const text = item?.['content']
    if (typeof text === 'string') length += text.length
  }
  return length > largeBytes
}

/** The JSON of a value, as bytes. To send them is the next step. */
export async function encodeInPieces(value: object): Promise<Buffer[]> {
  const texts: string[] = []
  // No text of a file can be equal to a place.
  const place = randomUUID()
  const rest = JSON.stringify(value, (_, item: unknown) => {
    if (typeof item !== 'string' || item.length <= longText) return item
    texts.push(item)
    return place
  })
  const bytes: Buffer[] = []
  for (const [index, part] of rest.split(place).entries()) {
    bytes.push(Buffer.from(part))
    for (const piece of piecesOf(texts[index] ?? '')) {
      await largeTurn()
      bytes.push(Buffer.from(JSON.stringify(piece).slice(1, -1)))
    }
  }
  await largeTurn()
  return bytes
}

/** No cut is within a character. */
function* piecesOf(text: string): Generator<string> {
  for (let from = 0; from < text.length;) {
    const to = cutPlace(text, from + pieceBytes)
    yield text.slice(from, to)
    from = to
  }
}
