// The JSON of results: content that is answered again and again is encoded once.
import { contentText, type OperationResult } from '../engine/context.ts'

/** @throws RangeError for a result that is too long for a string */
export function encodeResult(result: OperationResult): string {
  const known = result[contentText]
  return known === undefined ? JSON.stringify(result) : `${headOf(result)}${known.json}}`
}

/** The result as JSON, and that JSON as a string of JSON. @throws RangeError */
export function encodeTwice(result: OperationResult): { readonly json: string; readonly asString: string } {
  const known = result[contentText]
  if (known === undefined) {
    const json = JSON.stringify(result)
    return { json, asString: JSON.stringify(json) }
  }
  const head = headOf(result)
  const escapedHead = JSON.stringify(head).slice(0, -1)
  return { json: `${head}${known.json}}`, asString: `${escapedHead}${known.escapedJson}}"` }
}

/** All other members, up to the value of `content`. */
function headOf(result: Readonly<Record<string, unknown>>): string {
  return `${JSON.stringify({ ...result, content: undefined }).slice(0, -1)},"content":`
}
