// What a caller passes for a schema, as a type: a property with a default may be left out.
import type { Static, TArray, TObject, TOptional, TProperties, TSchema, TUnion } from './typebox.ts'

/**
 * The type of an input as its caller sees it. `Static` is the same input as its handler sees it, after the defaults have been
 * filled in. Goes into objects, arrays and unions; the defaults in any other kind of schema are not seen.
 */
export type CallerInput<Schema extends TSchema> =
  Schema extends TObject<infer Properties>
    ? ObjectInput<Properties>
    : Schema extends TArray<infer Item>
      ? readonly CallerInput<Item>[]
      : Schema extends TUnion<infer Members>
        ? CallerInput<Members[number]>
        : Static<Schema>

type Omittable = TOptional<TSchema> | { readonly default: unknown }

/** Without any property it is not `{}`, which would take everything. The last line makes one type of two, for who reads it in an editor. */
type ObjectInput<Properties extends TProperties> = [keyof Properties] extends [never]
  ? Readonly<Record<string, never>>
  : {
        readonly [Name in keyof Properties as Properties[Name] extends Omittable ? never : Name]: CallerInput<
          Properties[Name]
        >
      } & {
        readonly [Name in keyof Properties as Properties[Name] extends Omittable ? Name : never]?: CallerInput<
          Properties[Name]
        >
      } extends infer Both
    ? { [Name in keyof Both]: Both[Name] }
    : never
