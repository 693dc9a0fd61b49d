// The named components of the OpenAPI document: what occurs in several places is written once and referred to.
import {
  AgentId,
  CreateDirs,
  DiffFormat,
  Encoding,
  Hash,
  Path,
  RequestId,
  Timeout,
  Timestamp
} from '../../schemas/common.ts'

export type Json = null | boolean | number | string | Json[] | { [key: string]: Json }
export type JsonObject = { [key: string]: Json }

export interface Components {
  /** The schema with a reference in place of every part that has a name. */
  schema(schema: object): JsonObject
  /** A reference to the response of that name, which is made at its first use. */
  response(name: string, make: () => JsonObject): JsonObject
  toJson(): { schemas: JsonObject; responses: JsonObject }
}

/** Shared properties. A schema with a title has its name there; these have none, since error messages and tools name them by their key. */
const properties = { AgentId, CreateDirs, DiffFormat, Encoding, Hash, Path, RequestId, Timeout, Timestamp }
const propertyNames = new Map(Object.entries(properties).map(([name, schema]) => [JSON.stringify(schema), name]))

export function createComponents(): Components {
  const schemas: JsonObject = {}
  const responses: JsonObject = {}

  function hoist(value: Json): Json {
    if (Array.isArray(value)) return value.map(hoist)
    return typeof value === 'object' && value !== null ? hoistObject(value) : value
  }

  function hoistObject(schema: JsonObject): JsonObject {
    const name = schema['title'] ?? propertyNames.get(JSON.stringify(schema))
    const inner = Object.fromEntries(Object.entries(schema).map(([key, value]) => [key, hoist(value)]))
    // A property may itself be called "title": its value is a schema then, not a text.
    if (typeof name !== 'string') return inner
    const known = schemas[name]
    if (known !== undefined && JSON.stringify(known) !== JSON.stringify(inner))
      throw new Error(`two schemas are called ${name}: give one of them another title`)
    schemas[name] = inner
    return { $ref: `#/components/schemas/${name}` }
  }

  return {
    schema: (schema) => hoistObject(toJson(schema)),
    response(name, make) {
      responses[name] ??= make()
      return { $ref: `#/components/responses/${name}` }
    },
    toJson: () => ({ schemas: sortByName(schemas), responses: sortByName(responses) })
  }
}

/** Leaves out what TypeBox adds for itself. */
function toJson(schema: object): JsonObject {
  return JSON.parse(JSON.stringify(schema)) as JsonObject
}

function sortByName(components: JsonObject): JsonObject {
  return Object.fromEntries(Object.entries(components).sort(([a], [b]) => (a < b ? -1 : 1)))
}
