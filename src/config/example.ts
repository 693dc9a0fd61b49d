// The file that `config init` writes: the chosen settings, and every other setting in a comment with its default and meaning.
import { fields, sections, type Field } from './fields.ts'

/**
 * A setting that was not chosen must not count as chosen: some have other defaults when the server runs as a service.
 * @param chosen by the dotted names of the settings
 * @param schemaAddress of the JSON Schema, for editors
 */
export function createExample(chosen: Readonly<Record<string, unknown>>, schemaAddress: string): string {
  const example: Record<string, unknown> = {
    $schema: schemaAddress,
    _version: '1.0',
    _help: 'Names that begin with _ are comments. To choose a setting, remove the _ before its name.'
  }
  const describe = ({ name, key, schema }: Field): [string, unknown][] => [
    [`_${key}_help`, schema.description],
    name in chosen ? [key, chosen[name]] : [`_${key}`, schema.default]
  ]
  for (const section of sections) {
    const ofSection = [...fields.values()].filter((field) => field.section === section)
    example[section] = Object.fromEntries(ofSection.flatMap(describe))
  }
  return `${JSON.stringify(example, null, 2)}\n`
}
