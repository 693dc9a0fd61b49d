// The file that `config init` writes: every setting with its default, each explained by a comment.
import { fields, sections } from './fields.ts'

/**
 * @param values by the dotted names of the settings, instead of their defaults
 * @param schemaAddress of the JSON Schema, for editors
 */
export function createExample(values: Readonly<Record<string, unknown>>, schemaAddress: string): string {
  const example: Record<string, unknown> = { $schema: schemaAddress, _version: '1.0' }
  for (const section of sections) {
    const ofSection = [...fields.values()].filter((field) => field.section === section)
    example[section] = Object.fromEntries(
      ofSection.flatMap(({ name, key, schema }) => [
        [`_${key}_help`, schema.description],
        [key, values[name] ?? schema.default]
      ])
    )
  }
  return `${JSON.stringify(example, null, 2)}\n`
}
