// Parses the parameters of a call that came as strings of JSON, at the edge of the process: a relay and its authority see the same input.
import { isFields, type Fields } from '../../support/json-fields.ts'
import { fromText, wantsJson, type JsonSchema } from './json-text.ts'

/** @returns the input with its lists and objects; a promise if one of them is large. An input that has them already comes back as it is */
export type Unpack = (given: unknown) => unknown

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
