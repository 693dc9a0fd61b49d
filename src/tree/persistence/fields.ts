// Reads records that another process has written: a value that does not have our form is no record.

export type Fields = Readonly<Record<string, unknown>>

export function isFields(value: unknown): value is Fields {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

/** Whether each of these fields has the type that the model has. */
export function hasTypes(value: unknown, model: Readonly<Record<string, 'string' | 'number' | 'boolean'>>): boolean {
  if (!isFields(value)) return false
  // Called for each of very many records: it allocates nothing.
  for (const name in model) if (typeof value[name] !== model[name]) return false
  return true
}
