// The items of a batch in their full form, so that two spellings of one named batch are one request.
import { largeTurn } from '../../support/large-work.ts'
import type { InputCheck } from './check-input.ts'
import { takeInput } from './copy-input.ts'

/** Of items that are small. */
const itemsAtOnce = 100

/** An item that is refused stays as it is: its refusal is a result of its own. */
export async function withFullItems<Input extends object>(
  input: Input,
  { name, check }: { readonly name: string; readonly check: InputCheck<object> }
): Promise<Input> {
  const items = (input as Readonly<Record<string, unknown>>)[name]
  if (!Array.isArray(items)) return input
  const full: unknown[] = []
  for (const [index, item] of (items as unknown[]).entries()) {
    if (index % itemsAtOnce === itemsAtOnce - 1) await largeTurn()
    full.push(fullItem(item, check))
  }
  return { ...input, [name]: full }
}

function fullItem(item: unknown, check: InputCheck<object>): unknown {
  try {
    return check(takeInput(item))
  } catch {
    return item
  }
}
