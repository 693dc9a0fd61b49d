// JSON from outside, of bounded shape. Valid UTF-8 only: Node would turn bad bytes into U+FFFD, and they would be written.
import { isUtf8 } from 'node:buffer'
import { OperationError } from '../../errors.ts'
import { maxElements } from './copy-input.ts'
import { endOfString, inTurns, parseInPieces } from '../../support/parse-large.ts'
import { largeBytes, largeTurn, pieceBytes } from '../../support/large-work.ts'

/** A larger object takes longer than its size explains, and so do many objects that are not small. */
const maxKeys = 20_000
const maxFewKeys = 100
/** More than any request of ours or of MCP has; code after the parser may recurse. */
const maxDepth = 64
/** A smaller body cannot take long to parse, and counting would cost it as much as parsing does. */
const maxUncountedBytes = 65_536
const jsonRpcCode = -32700
/** Some clients write it in front of a body or a line; RFC 8259 allows to take it. */
const byteOrderMark = Buffer.from('\uFEFF')

/** Of large JSON a promise: it is parsed in pieces, and other calls are served between them. @throws OperationError INVALID_REQUEST, over JSON-RPC -32700 */
export function parseJson(message: Buffer): unknown {
  const bytes = message.subarray(
    message.subarray(0, byteOrderMark.length).equals(byteOrderMark) ? byteOrderMark.length : 0
  )
  return bytes.length > largeBytes ? parseLarge(bytes) : parseAtOnce(bytes)
}

async function parseLarge(bytes: Buffer): Promise<unknown> {
  await largeTurn()
  requireUtf8(bytes)
  await inTurns(checkShape(bytes))
  try {
    const value = await parseInPieces(bytes)
    // To check it is the next step.
    await largeTurn()
    return value
  } catch (error) {
    throw invalid('is not valid JSON.', error)
  }
}

function requireUtf8(bytes: Buffer): void {
  if (!isUtf8(bytes)) throw invalid('is not valid UTF-8. Send JSON encoded in UTF-8.')
}

function parseAtOnce(bytes: Buffer): unknown {
  requireUtf8(bytes)
  const isCounted = bytes.length > maxUncountedBytes
  if (isCounted) for (const _ of checkShape(bytes));
  let value: unknown
  try {
    value = JSON.parse(bytes.toString('utf8'))
  } catch (error) {
    const position = error instanceof SyntaxError ? positionOf(error) : ''
    throw invalid(`is not valid JSON${position}.`, error)
  }
  if (!isCounted && isDeeperThan(value, maxDepth)) throw tooDeep()
  return value
}

function isDeeperThan(value: unknown, depth: number): boolean {
  if (typeof value !== 'object' || value === null) return false
  return depth === 0 || Object.values(value).some((item) => isDeeperThan(item, depth - 1))
}

const quote = 0x22
const comma = 0x2c
const openArray = 0x5b
const closeArray = 0x5d
const openObject = 0x7b
const closeObject = 0x7d

/**
 * Counts what the parser would build. A million keys or brackets fit into a body and take seconds to build; counting them
 * takes milliseconds; it yields after each piece. The parser finds text that is not JSON, at the latest at the place where the count ends.
 */
function* checkShape(bytes: Buffer): Generator<void, void> {
  const commas = new Uint32Array(maxDepth)
  const limits = new Uint32Array(maxDepth)
  let depth = 0
  let elements = 0
  let keysOfLarge = 0
  let pieceEnd = pieceBytes
  for (let at = 0; at < bytes.length; at++) {
    const byte = bytes[at]
    if (byte === quote) at = yield* endOfString(bytes, at)
    else if (byte === comma) {
      if (depth === 0) return
      elements++
      if (limits[depth - 1] === maxKeys && commas[depth - 1]! > maxFewKeys && ++keysOfLarge > maxKeys)
        throw tooManyKeys()
      if (++commas[depth - 1]! >= limits[depth - 1]!) {
        throw tooManyKeys()
      }
    } else if (byte === openArray || byte === openObject) {
      if (depth === maxDepth) throw tooDeep()
      limits[depth] = byte === openArray ? maxElements + 1 : maxKeys
      commas[depth++] = 0
      elements++
    } else if ((byte === closeArray || byte === closeObject) && --depth < 0) return
    if (elements > maxElements) throw invalid(`has more than ${maxElements} elements. Send it in several calls.`)
    if (at < pieceEnd) continue
    yield
    pieceEnd = at + pieceBytes
  }
}

function tooManyKeys(): OperationError {
  return invalid(
    `has more than ${maxKeys} parameters in one object, or in objects that are large. Send only known ones.`
  )
}

function tooDeep(): OperationError {
  return invalid(`is nested more than ${maxDepth} levels deep. Send fewer levels.`)
}

/** The place of the fault, without the text around it: that may be content. */
function positionOf({ message }: SyntaxError): string {
  const position = /position (\d+)/.exec(message)?.[1]
  return position === undefined ? '' : ` (at position ${position})`
}

function invalid(what: string, cause?: unknown): OperationError {
  return new OperationError('INVALID_REQUEST', `The request ${what}`, { cause, jsonRpcCode })
}
