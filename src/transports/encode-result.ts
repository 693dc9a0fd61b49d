// The JSON of results: content that is answered again and again is encoded once, as bytes.
import { contentText, type OperationResult } from '../engine/call/context.ts'

/** JSON in pieces, in order. */
export type Pieces = readonly (string | Buffer)[]

/** @throws RangeError for a result that is too long for a string */
export function encodeResult(result: OperationResult): Pieces {
  const known = result[contentText]
  return known === undefined ? [JSON.stringify(result)] : [headOf(result), known.json, '}']
}

/** The result as JSON, and that JSON as a string of JSON. @throws RangeError */
export function encodeTwice(result: OperationResult): { readonly json: Pieces; readonly asString: Pieces } {
  const known = result[contentText]
  if (known === undefined) {
    const json = JSON.stringify(result)
    return { json: [json], asString: [JSON.stringify(json)] }
  }
  const head = headOf(result)
  const escapedHead = JSON.stringify(head).slice(0, -1)
  return { json: [head, known.json, '}'], asString: [escapedHead, known.escapedJson, '}"'] }
}

/** All other members, up to the value of `content`. */
function headOf(result: Readonly<Record<string, unknown>>): string {
  const { content: _, ...others } = result
  return `${JSON.stringify(others).slice(0, -1)},"content":`
}

/** Bytes if any piece is: they go out as they are, where a long text would be encoded once more. @throws RangeError */
export function joinPieces(pieces: Pieces): string | Buffer {
  if (pieces.every((piece) => typeof piece === 'string')) return pieces.join('')
  return Buffer.concat(pieces.map((piece) => (typeof piece === 'string' ? Buffer.from(piece) : piece)))
}
