// The input schema of a tool as a model is shown it: what the server alone needs for its checks is left out.
import { parameterWords, unlistedParameters, type ToolWords } from './tool-words.ts'

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
  readonly defaults?: ToolWords['defaults'] | undefined
}

/** @param words those of this tool */
export function toListedSchema(
  input: object,
  { parameters: own = {}, unlisted, defaults }: Partial<ToolWords> = {}
): JsonObjectSchema {
  const words: Words = Object.assign((name: string) => own[name] ?? parameterWords[name], { unlisted, defaults })
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
        const value = words.defaults?.[name]
        const own = value === undefined ? schema : { ...schema, default: value }
        return [name, { ...shorten(own, words, name), ...(description !== undefined && { description }) }]
      })
    ),
    ...(required.length > 0 && { required })
  }
}

/** Bounds and patterns are checked all the same, and a refusal says what is wrong. */
function shorten(schema: Schema, words: Words, name = ''): object {
  const { type, enum: choices, default: value, items } = schema
  const anyOf = schema.anyOf?.filter((form) => form.type !== 'null' || meansNull(words(name)))
  if (anyOf?.length === 1) return shorten(anyOf[0] as Schema, words, name)
  return {
    ...(type !== undefined && { type }),
    ...(choices !== undefined && { enum: choices }),
    ...(!isExpected(value, choices) && { default: value }),
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

/** Null is taken for every parameter, as if it were not given; it is listed if the words say what else it means. */
function meansNull(description: string | undefined): boolean {
  return description?.includes('null') === true
}

/** A default that goes without saying: nothing, or the first of the choices. */
function isExpected(value: unknown, choices: readonly string[] | undefined): boolean {
  return (
    value === undefined || value === null || value === choices?.[0] || value === '' || value === 0 || value === false
  )
}

const noWords = ({ unlisted }: Words): Words => Object.assign(() => undefined, { unlisted })

function isPathOwner({ properties }: Schema): boolean {
  return properties !== undefined && 'path' in properties
}
