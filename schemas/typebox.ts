// The one file that imports TypeBox, so that a later move to another version touches one file.
import * as typebox from '@sinclair/typebox'
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
  TUnion
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

/** Named one by one: a bundle then leaves out the rest of TypeBox. */
const builders = {
  Array: typebox.Array,
  Boolean: typebox.Boolean,
  Integer: typebox.Integer,
  Literal: typebox.Literal,
  Null: typebox.Null,
  Number: typebox.Number,
  Object: typebox.Object,
  Optional: typebox.Optional,
  String: typebox.String,
  Union: typebox.Union,
  Unsafe: typebox.Unsafe
}

// A cast, since TypeBox declares less than it does: each builder returns the options that it was given.
export const Type = builders as unknown as Omit<typeof builders, keyof Builders> & Builders

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
