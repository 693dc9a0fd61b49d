// The one file that imports TypeBox, so that a later move to another version touches one file.
import { Type, type TObject, type TProperties } from '@sinclair/typebox'

export { Type }
export type { Static, TObject, TProperties, TSchema } from '@sinclair/typebox'

/**
 * The schema of an input object: closed, and a property with a default may be left out. Its static type is what the handler
 * gets after the defaults have been filled in, so that a default is written once.
 */
export function inputObject<Properties extends TProperties>(
  properties: Properties,
  options: { title?: string; description?: string } = {}
): TObject<Properties> {
  const schema = Type.Object(properties, { additionalProperties: false, ...options })
  const required = ((schema.required ?? []) as readonly string[]).filter(
    (name) => properties[name]?.['default'] === undefined
  )
  return { ...schema, required }
}
