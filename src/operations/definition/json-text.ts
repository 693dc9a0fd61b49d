// A string where a list or an object is meant: its JSON, as some harnesses send it, or one path of a list of paths.
import { isFields, type Fields } from '../../support/json-fields.ts'
import { parseJson } from './parse-json.ts'

/** The keywords of JSON Schema that decide what a value means. */
export interface JsonSchema {
  readonly type?: string
  readonly required?: readonly string[]
  readonly properties?: Readonly<Record<string, JsonSchema>>
  readonly items?: JsonSchema
  readonly anyOf?: readonly JsonSchema[]
}

/** True if a list or an object is meant, and no string. */
export function wantsJson({ type, anyOf }: JsonSchema): boolean {
  return type === 'array' || type === 'object' || anyOf?.every((form) => form.type === 'object') === true
}

/**
 * @param schema for which `wantsJson` is true
 * @returns the list or the object; the text itself if it is neither. Of a large text a promise
 */
export function fromText(text: string, schema: JsonSchema): unknown {
  const otherwise = schema.items?.type === 'string' ? [text] : text
  const opening = schema.type === 'array' ? '[' : '{'
  // Lone surrogates are refused later. Here they would be replaced.
  if (!text.trimStart().startsWith(opening) || !text.isWellFormed()) return otherwise
  const fitting = (value: unknown) => (fits(value, schema) ? value : otherwise)
  try {
    const value = parseJson(Buffer.from(text))
    return value instanceof Promise ? value.then(fitting, () => otherwise) : fitting(value)
  } catch {
    return otherwise
  }
}

/** A path may look like a list, too: `[1]` is a usual name of a folder. */
function fits(value: unknown, { type, items }: JsonSchema): boolean {
  if (type !== 'array') return isFields(value)
  return Array.isArray(value) && (items?.type !== 'string' || value.every((item) => typeof item === 'string'))
}

/** @returns the input with its lists and objects; a promise if one of them is large. An input that has them already comes back as it is */
export type Unpack = (given: unknown) => unknown

/** For the edge of the process: a relay and its authority see the same input. */
export function createUnpack(input: JsonSchema): Unpack {
  const lists = Object.entries(input.properties ?? {}).filter(([, schema]) => wantsJson(schema))
  return (given) => {
    if (typeof given === 'string') return fromText(given, input)
    if (!isFields(given) || !lists.some(([name]) => typeof given[name] === 'string')) return given
    return unpackMembers(given, lists)
  }
}

function unpackMembers(members: Fields, lists: readonly (readonly [name: string, schema: JsonSchema])[]): unknown {
  const unpacked = lists.flatMap(([name, schema]) => {
    const text = members[name]
    return typeof text === 'string' ? [[name, fromText(text, schema)] as const] : []
  })
  const join = (values: readonly unknown[]) => ({
    ...members,
    ...Object.fromEntries(unpacked.map(([name], index) => [name, values[index]]))
  })
  const values = unpacked.map(([, value]) => value)
  return values.some((value) => value instanceof Promise) ? Promise.all(values).then(join) : join(values)
}
