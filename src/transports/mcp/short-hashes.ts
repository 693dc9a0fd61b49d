// Hashes in what MCP answers: 16 of the 64 digits, which every input takes for them, unless `mcp.hashes` is full.
import type { Config } from '../../config/config.ts'
import { firstDigits, shortDigits } from '../../support/hash-digits.ts'

type Settings = Pick<Config['mcp'], 'hashes'>

/** The same, or a copy with short hashes. */
export function withHashes<Value>(value: Value, { hashes }: Settings): Value {
  return hashes === 'full' ? value : shorten(value)
}

/** The JSON of a schema of such answers. */
export function schemaWithHashes(json: string, { hashes }: Settings): string {
  if (hashes === 'full') return json
  return json
    .replaceAll('^sha256:[0-9a-f]{64}$', `^sha256:[0-9a-f]{${shortDigits}}$`)
    .replaceAll('and 64 lower-case hex digits', `and the first ${shortDigits} hex digits`)
}

/** What is named so is a hash. Text of a file has another name, and stays as it is whatever it looks like. */
const hashName = 'hash'

function shorten<Value>(value: Value): Value {
  if (typeof value !== 'object' || value === null) return value
  // The items of a list are of one kind.
  if (Array.isArray(value)) return typeof value[0] === 'object' ? (value.map(shorten) as Value) : value
  const copy = { ...value } as Record<string, unknown>
  for (const name in copy) {
    const member = copy[name]
    if (typeof member !== 'string') copy[name] = shorten(member)
    else if (name.endsWith(hashName)) copy[name] = firstDigits(member)
  }
  return copy as Value
}
