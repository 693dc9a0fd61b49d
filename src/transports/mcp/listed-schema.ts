// The input schema of a tool as a model is shown it: what the server alone needs for its checks is left out.
import { parameterWords, unlistedParameters } from './tool-words.ts'

export interface JsonObjectSchema {
  readonly type: 'object'
  readonly [key: string]: unknown
}

interface Schema {
  readonly type?: string
  readonly enum?: readonly string[]
  readonly default?: unknown
  readonly properties?: Readonly<Record<string, Schema>>
  readonly required?: readonly string[]
  readonly items?: Schema
  readonly anyOf?: readonly Schema[]
}

interface Words {
  (name: string): string | undefined
  /** Of this tool. */
  readonly unlisted?: readonly string[] | undefined
}

/** @param own words for parameters of this tool */
export function toListedSchema(
  input: object,
  own: Readonly<Record<string, string>> = {},
  unlisted?: readonly string[]
): JsonObjectSchema {
  const words: Words = Object.assign((name: string) => own[name] ?? parameterWords[name], { unlisted })
  return { type: 'object', ...toObject(input, words), additionalProperties: false }
}

function toObject({ properties = {}, required = [] }: Schema, words: Words): object {
  const listed = Object.entries(properties).filter(
    ([name]) => !unlistedParameters.has(name) && words.unlisted?.includes(name) !== true
  )
  return {
    properties: Object.fromEntries(
      listed.map(([name, schema]) => {
        const description = words(name)
        return [name, { ...shorten(schema, words, name), ...(description !== undefined && { description }) }]
      })
    ),
    ...(required.length > 0 && { required })
  }
}

/** Bounds and patterns are checked all the same, and a refusal says what is wrong. */
function shorten(schema: Schema, words: Words, name = ''): object {
  const { type, enum: choices, default: value, items, anyOf } = schema
  return {
    ...(type !== undefined && { type }),
    ...(choices !== undefined && { enum: choices }),
    ...(value !== undefined && value !== null && value !== '' && { default: value }),
    ...(schema.properties !== undefined && toObject(schema, words)),
    // A batch takes for each file what the tool for one file takes, and that is described there.
    ...(items !== undefined && {
      items:
        words.unlisted?.includes(`${name}[]`) === true
          ? { type: 'object' }
          : shorten(items, isPathOwner(items) ? noWords(words) : words)
    }),
    ...(anyOf !== undefined && { anyOf: anyOf.map((form) => shorten(form, words)) })
  }
}

const noWords = ({ unlisted }: Words): Words => Object.assign(() => undefined, { unlisted })

function isPathOwner({ properties }: Schema): boolean {
  return properties !== undefined && 'path' in properties
}
