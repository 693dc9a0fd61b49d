// The parameters of a querystring in the OpenAPI document.
import type { TObject, TSchema } from '../../schemas/typebox.ts'
import type { JsonObject } from './components.ts'
import type { Workshop } from './responses.ts'

export function describeQuery({ properties, required = [] }: TObject, { components }: Workshop): JsonObject[] {
  return Object.entries(properties).map(([name, { description = '', ...schema }]) => ({
    name,
    in: 'query',
    required: required.includes(name),
    description,
    ...(isListOfWords(schema['items']) && { style: 'form', explode: false }),
    schema: components.schema(schema)
  }))
}

/** Words of a fixed list have commas between them; other lists repeat the parameter. */
function isListOfWords(items: TSchema | undefined): boolean {
  return items !== undefined && 'enum' in items
}
