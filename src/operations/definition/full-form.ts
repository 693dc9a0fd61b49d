// The full form of an input: nulls of optional parameters left out, a string of JSON where a list or an object is meant parsed, and one path where
// a list of paths is meant put into one. Models and harnesses send all of these.
import { largeBytes } from '../../support/large-work.ts'
import { takeInput } from './copy-input.ts'
import { fromText, wantsJson, type JsonSchema } from './json-text.ts'

/** Of one input. */
interface Progress {
  /** What is parsed at once must not hold the event loop for long: a text beyond this stays as it is. */
  bytesLeft: number
  /** True once something was not in its full form. */
  hasChanged: boolean
}

/**
 * @param value is changed: a copy that belongs to the call
 * @param at where it is in the input of the call, such as `files[2]`
 * @returns undefined if it is in its full form already
 * @throws OperationError INVALID_REQUEST for JSON in a string that no operation can want
 */
export function toFullForm(value: unknown, schema: JsonSchema, at: string): unknown {
  const progress = { bytesLeft: largeBytes, hasChanged: false }
  const full = complete(value, schema, at, progress)
  return progress.hasChanged ? full : undefined
}

function complete(value: unknown, schema: JsonSchema, at: string, progress: Progress): unknown {
  if (typeof value === 'string') return wantsJson(schema) ? completeText(value, schema, at, progress) : value
  if (typeof value !== 'object' || value === null) return value
  if (!Array.isArray(value)) completeMembers(value as Record<string, unknown>, schema, at, progress)
  else if (schema.items !== undefined) {
    for (const [index, item] of value.entries())
      value[index] = complete(item, schema.items, `${at}[${index}]`, progress)
  }
  return value
}

function completeText(text: string, schema: JsonSchema, at: string, progress: Progress): unknown {
  progress.bytesLeft -= Buffer.byteLength(text)
  const value = progress.bytesLeft < 0 ? text : fromText(text, schema)
  if (value === text) return text
  progress.hasChanged = true
  return complete(takeInput(value, at), schema, at, progress)
}

function completeMembers(value: Record<string, unknown>, schema: JsonSchema, at: string, progress: Progress): void {
  const { required = [], properties } = nearestForm(value, schema)
  for (const [name, inner] of Object.entries(value)) {
    const property = properties[name]
    if (property === undefined) continue
    if (inner !== null) value[name] = complete(inner, property, at === '' ? name : `${at}.${name}`, progress)
    else if (!required.includes(name) && !allowsNull(property)) {
      delete value[name]
      progress.hasChanged = true
    }
  }
}

/** If an object may have one of several forms, the one it has most parameters of; those of the other forms may be left out. */
function nearestForm(
  value: Readonly<Record<string, unknown>>,
  schema: JsonSchema
): JsonSchema & { readonly properties: Readonly<Record<string, JsonSchema>> } {
  const forms = schema.anyOf?.filter(({ type }) => type === 'object') ?? [schema]
  const given = Object.keys(value).filter((name) => value[name] !== null)
  const count = ({ properties = {} }: JsonSchema) => given.filter((name) => Object.hasOwn(properties, name)).length
  const nearest = forms.reduce((best, form) => (count(form) > count(best) ? form : best), forms[0] ?? {})
  return { ...nearest, properties: Object.assign({}, ...forms.map(({ properties }) => properties), nearest.properties) }
}

function allowsNull({ type, anyOf = [] }: JsonSchema): boolean {
  return type === 'null' || anyOf.some(allowsNull)
}
