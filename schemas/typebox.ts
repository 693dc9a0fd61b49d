// The one file that imports TypeBox, so that a later move to another version touches one file. It imports only types: TypeBox itself
// loads 200 modules, a fifth of the start of the server, for the dozen keywords below.
import type {
  ArrayOptions,
  IntegerOptions,
  NumberOptions,
  SchemaOptions,
  Static,
  StringOptions,
  TArray,
  TBoolean,
  TInteger,
  TNumber,
  TObject,
  TProperties,
  TSchema,
  TString,
  TUnion,
  Type as TypeBoxType
} from '@sinclair/typebox'

export type { Static, TArray, TObject, TOptional, TProperties, TSchema, TUnion } from '@sinclair/typebox'

/** The part of a schema's type that carries its default. */
type Default<Options> = Options extends { default: infer Value } ? { readonly default: Value } : unknown

/** The part of a string schema's type that narrows its static type to the choices of its `enum`. */
type Choice<Options> = Options extends { enum: readonly (infer Value)[] } ? { static: Value } : unknown

interface Options<Value> {
  /** Must be a value of the schema. */
  default?: Value
}

/**
 * TypeBox forgets `default` and `enum` in the type of a schema. These builders keep them, so that types can tell which
 * property a caller may leave out, and its possible values. At run time they are TypeBox's own.
 */
interface Builders {
  Array<Item extends TSchema, const Given extends ArrayOptions & Options<readonly Static<Item>[]>>(
    item: Item,
    options?: Given
  ): TArray<Item> & Default<Given>
  Boolean<const Given extends SchemaOptions & Options<boolean>>(options?: Given): TBoolean & Default<Given>
  Integer<const Given extends IntegerOptions & Options<number>>(options?: Given): TInteger & Default<Given>
  Number<const Given extends NumberOptions & Options<number>>(options?: Given): TNumber & Default<Given>
  String<const Given extends StringOptions & Options<string>>(options?: Given): TString & Choice<Given> & Default<Given>
  Union<Members extends TSchema[], const Given extends SchemaOptions & Options<Static<Members[number]>>>(
    members: [...Members],
    options?: Given
  ): TUnion<Members> & Default<Given>
}

type Schema = Readonly<Record<string | symbol, unknown>>

/** Marks a property that its object does not require; not part of the JSON. */
const optional = Symbol('optional')

function makeObject(properties: Readonly<Record<string, Schema>>, options: Schema = {}): Schema {
  const required = Object.keys(properties).filter((name) => properties[name]?.[optional] !== true)
  return { ...options, type: 'object', ...(required.length > 0 && { required }), properties }
}

const make =
  (keywords: Schema) =>
  (options: Schema = {}): Schema => ({ ...options, ...keywords })

/** The JSON Schema of TypeBox's call of that name. Only Record differs: TypeBox adds patternProperties with a pattern that every name fits. */
const builders = {
  Array: (items: Schema, options: Schema = {}): Schema => ({ ...options, type: 'array', items }),
  Boolean: make({ type: 'boolean' }),
  Integer: make({ type: 'integer' }),
  Literal: (value: unknown, options: Schema = {}): Schema => ({ ...options, const: value, type: typeof value }),
  Null: make({ type: 'null' }),
  Number: make({ type: 'number' }),
  Object: makeObject,
  Optional: (schema: Schema): Schema => ({ ...schema, [optional]: true }),
  Record: (_key: Schema, value: Schema, options: Schema = {}): Schema => ({
    ...options,
    type: 'object',
    additionalProperties: value
  }),
  String: make({ type: 'string' }),
  Union: (anyOf: readonly Schema[], options: Schema = {}): Schema => ({ ...options, anyOf }),
  Unknown: make({}),
  Unsafe: (schema: Schema): Schema => ({ ...schema })
}

// A cast, since TypeBox declares less than it does: each builder returns the options that it was given.
export const Type = builders as unknown as Omit<Pick<typeof TypeBoxType, keyof typeof builders>, keyof Builders> &
  Builders

/**
 * The schema of an input object: closed, and a property with a default may be left out. Its static type is the handler's
 * input after the defaults have been filled in, so that a default is written once.
 */
export function inputObject<Properties extends TProperties>(
  properties: Properties,
  options: { title?: string; description?: string } = {}
): TObject<Properties> {
  const schema = Type.Object(properties, { additionalProperties: false, ...options })
  const required = ((schema.required ?? []) as readonly string[]).filter(
    (name) => properties[name]?.['default'] === undefined
  )
  return { ...schema, required }
}
