// Nulls of optional parameters: models send them for parameters that they do not use.

/** The keywords of JSON Schema that decide whether a null means something. */
export interface JsonSchema {
  readonly type?: string
  readonly required?: readonly string[]
  readonly properties?: Readonly<Record<string, JsonSchema>>
  readonly items?: JsonSchema
  readonly anyOf?: readonly JsonSchema[]
}

/**
 * Removes each null from an input whose parameter is optional and does not allow null as a value.
 * @param value is changed: a copy that belongs to the call
 * @returns whether there was one
 */
export function leaveOutNulls(value: unknown, schema: JsonSchema): boolean {
  if (typeof value !== 'object' || value === null) return false
  if (Array.isArray(value)) {
    const { items = {} } = schema
    return value.map((item) => leaveOutNulls(item, items)).includes(true)
  }
  return leaveOutOf(value as Record<string, unknown>, schema)
}

function leaveOutOf(value: Record<string, unknown>, schema: JsonSchema): boolean {
  const { required = [], properties } = nearestForm(value, schema)
  let found = false
  for (const [name, inner] of Object.entries(value)) {
    const property = properties[name]
    if (property === undefined) continue
    if (inner !== null) found = leaveOutNulls(inner, property) || found
    else if (!required.includes(name) && !allowsNull(property)) {
      delete value[name]
      found = true
    }
  }
  return found
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
