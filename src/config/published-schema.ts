// The JSON Schema of a configuration file, for editors: the settings, the words that are also accepted, and comments.
import { Config } from '../../schemas/config.ts'
import { fields, type FieldSchema } from './fields.ts'

const comments = { '^[_$]': { description: 'A comment: names that begin with _ or $ are not read.' } }

export function createPublishedSchema(): object {
  const sections = Object.entries(Config.properties).map(([name, { description }]) => {
    const ofSection = [...fields.values()].filter(({ section }) => section === name)
    const properties = Object.fromEntries(ofSection.map(({ key, schema }) => [key, toPublished(schema)]))
    return [name, { type: 'object', description, properties, patternProperties: comments, additionalProperties: false }]
  })
  return {
    $schema: 'http://json-schema.org/draft-07/schema#',
    title: 'async-crud-mcp',
    description: Config.description,
    type: 'object',
    properties: Object.fromEntries(sections) as object,
    patternProperties: comments,
    additionalProperties: false
  }
}

/** The schema of one setting in a file, which accepts more spellings than the program. */
function toPublished(schema: FieldSchema): object {
  const { enum: choices, 'x-any-case': anyCase, 'x-aliases': words } = schema
  if (choices === undefined) return schema
  const upper = anyCase === true ? choices.map((value) => value.toUpperCase()) : []
  return { ...schema, enum: [...choices, ...upper, ...Object.keys(words ?? {})] }
}
