// The JSON of large results, made in pieces, so that other calls are served between them.
import { randomUUID } from 'node:crypto'
import type { OperationResult } from '../engine/context.ts'
import { largeBytes, largeTurn, pieceBytes } from '../support/large-work.ts'

/** A text up to this length is encoded with the rest. */
const longText = 65_536

/** Whether it has a large text, or texts that are large together. */
export function isLargeResult({ content, results }: OperationResult): boolean {
  if (typeof content === 'string') return content.length > largeBytes
  if (!Array.isArray(results)) return false
  return (
    results.reduce<number>((sum, { content: text = '' }: { content?: string }) => sum + text.length, 0) > largeBytes
  )
}

/** The same JSON as that of `encodeResult`, but for the order of members, as bytes. */
export async function encodeInPieces(result: OperationResult): Promise<Buffer[]> {
  const texts: string[] = []
  // No text of a file can be equal to a place.
  const place = randomUUID()
  const rest = JSON.stringify(result, (_, value: unknown) => {
    if (typeof value !== 'string' || value.length <= longText) return value
    texts.push(value)
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
  return bytes
}

/** No cut is within a character. */
function* piecesOf(text: string): Generator<string> {
  for (let from = 0; from < text.length;) {
    const end = from + pieceBytes
    const to = text.codePointAt(end - 1)! > 0xffff ? end - 1 : end
    yield text.slice(from, to)
    from = to
  }
}
