// Whether two calls with one request_id ask for the same: a digest of the operation and its input, whatever the order of its keys.
import { createHash, hash as hashAtOnce, type Hash } from 'node:crypto'
import { firstDigits, withAlgorithm } from '../../support/hash-digits.ts'
import { largeBytes, largeTurn, pieceBytes } from '../../support/large-work.ts'
import { cutPlace } from '../../support/cut-text.ts'

/** An input that is nested deeper is refused; until then it must not exhaust the stack. */
const maxDepth = 32

/** @param without names that do not say what is asked for */
export async function digestOf(operation: string, input: object, without: readonly string[]): Promise<string> {
  const asked = Object.entries(input).filter(([name]) => !without.includes(name))
  const pieces = [operation]
  addObject(pieces, Object.fromEntries(asked), maxDepth)
  if (pieces.every((piece) => piece.length <= largeBytes)) return hashAtOnce('sha256', pieces.join(''), 'base64url')
  const hash = createHash('sha256')
  let short = ''
  for (const piece of pieces) {
    if (piece.length <= largeBytes) {
      short += piece
      continue
    }
    hash.update(short)
    short = ''
    await addLarge(hash, piece)
  }
  return hash.update(short).digest('base64url')
}

/** Inputs that name a version: by as many digits of its hash as the caller likes, and by this many at least. */
const versionNames: ReadonlySet<string> = new Set(['expected_hash', 'hash'])
const versionDigits = 12

function add(pieces: string[], value: unknown, depth: number): void {
  if (typeof value === 'string') pieces.push(`"${value.length};`, value)
  else if (typeof value !== 'object' || value === null) pieces.push(`${String(value)};`)
  else if (depth === 0) return
  else if (!Array.isArray(value)) addObject(pieces, value, depth - 1)
  else {
    pieces.push(`[${value.length};`)
    for (const item of value) add(pieces, item, depth - 1)
  }
}

function addObject(pieces: string[], value: object, depth: number): void {
  const entries = Object.entries(value).filter(([, item]) => item !== undefined)
  entries.sort(([one], [other]) => (one < other ? -1 : 1))
  pieces.push(`{${entries.length};`)
  for (const [name, item] of entries) {
    pieces.push(`"${name.length};${name}`)
    add(
      pieces,
      versionNames.has(name) && typeof item === 'string' ? firstDigits(withAlgorithm(item), versionDigits) : item,
      depth
    )
  }
}

async function addLarge(hash: Hash, text: string): Promise<void> {
  for (let from = 0; from < text.length;) {
    await largeTurn()
    // Half a character would be hashed as the sign for what cannot be read, and different texts as one.
    const to = cutPlace(text, from + pieceBytes)
    hash.update(text.slice(from, to))
    from = to
  }
}
