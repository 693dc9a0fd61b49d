// An object of JSON that another program has written, whose members may be anything.
import { orUndefined } from './attempt.ts'

export type Fields = Readonly<Record<string, unknown>>

export function isFields(value: unknown): value is Fields {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

/** Anything else has no fields. */
export function toFields(value: unknown): Fields {
  return isFields(value) ? value : {}
}

/** Undefined for a text that is no JSON, or no object. */
export function parseFields(text: string): Fields | undefined {
  const value = orUndefined(() => JSON.parse(text) as unknown)
  return isFields(value) ? value : undefined
}

/** Whether each of these fields has the type that the model has. */
export function hasTypes(value: unknown, model: Readonly<Record<string, 'string' | 'number' | 'boolean'>>): boolean {
  if (!isFields(value)) return false
  // Called for each of very many records: it allocates nothing.
  for (const name in model) if (typeof value[name] !== model[name]) return false
  return true
}
