// Whether two calls with one request_id ask for the same: a digest of the operation and its input, whatever the order of its keys.
import { createHash, type Hash } from 'node:crypto'
import { largeBytes, largeTurn, pieceBytes } from '../../support/large-work.ts'

/** An input that is nested deeper is refused; until then it must not exhaust the stack. */
const maxDepth = 32

/** @param without names that do not say what is asked for */
export async function digestOf(operation: string, input: object, without: readonly string[]): Promise<string> {
  const hash = createHash('sha256')
  hash.update(operation)
  const asked = Object.entries(input).filter(([name]) => !without.includes(name))
  await addObject(hash, Object.fromEntries(asked), maxDepth)
  return hash.digest('base64url')
}

async function add(hash: Hash, value: unknown, depth: number): Promise<void> {
  if (typeof value === 'string') return addText(hash, value)
  if (typeof value !== 'object' || value === null) return void hash.update(`${String(value)};`)
  if (depth === 0) return
  if (!Array.isArray(value)) return addObject(hash, value, depth - 1)
  hash.update(`[${value.length};`)
  for (const item of value) await add(hash, item, depth - 1)
}

async function addObject(hash: Hash, value: object, depth: number): Promise<void> {
  const entries = Object.entries(value).filter(([, item]) => item !== undefined)
  entries.sort(([one], [other]) => (one < other ? -1 : 1))
  hash.update(`{${entries.length};`)
  for (const [name, item] of entries) {
    addShort(hash, name)
    await add(hash, item, depth)
  }
}

function addShort(hash: Hash, text: string): void {
  hash.update(`"${text.length};`).update(text)
}

async function addText(hash: Hash, text: string): Promise<void> {
  if (text.length <= largeBytes) return addShort(hash, text)
  hash.update(`"${text.length};`)
  for (let start = 0; start < text.length; start += pieceBytes) {
    await largeTurn()
    hash.update(text.slice(start, start + pieceBytes))
  }
}
