// JSON from outside, strictly: valid UTF-8 only (Node's own reading would turn bad bytes into U+FFFD, and they would be written), of bounded depth.
import { isUtf8 } from 'node:buffer'
import { OperationError } from './errors.ts'

/** More than any request of ours or of MCP has; what comes after the parser may recurse. */
const maxDepth = 64
const jsonRpcCode = -32700

/** @throws OperationError INVALID_REQUEST, over JSON-RPC -32700 */
export function parseJson(bytes: Buffer): unknown {
  if (!isUtf8(bytes)) throw invalid('is not valid UTF-8. Send JSON encoded in UTF-8.')
  let value: unknown
  try {
    value = JSON.parse(bytes.toString('utf8'))
  } catch (error) {
    const position = error instanceof SyntaxError ? positionOf(error) : ''
    throw invalid(`is not valid JSON${position}.`, error)
  }
  if (isDeeperThan(value, maxDepth)) throw invalid(`is nested more than ${maxDepth} levels deep.`)
  return value
}

function isDeeperThan(value: unknown, depth: number): boolean {
  if (typeof value !== 'object' || value === null) return false
  return depth === 0 || Object.values(value).some((item) => isDeeperThan(item, depth - 1))
}

/** Where the fault is, without the text around it: that may be content. */
function positionOf({ message }: SyntaxError): string {
  const position = /position (\d+)/.exec(message)?.[1]
  return position === undefined ? '' : ` (at position ${position})`
}

function invalid(what: string, cause?: unknown): OperationError {
  return new OperationError('INVALID_REQUEST', `The request ${what}`, { cause, jsonRpcCode })
}
