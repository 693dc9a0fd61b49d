// The input type of a schema for its caller: a property with a default may be left out.
import type { Static, TArray, TObject, TOptional, TProperties, TSchema, TUnion } from './typebox.ts'

/**
 * The type of an input for its caller. `Static` is the same input for its handler, after the defaults have been filled in.
 * Covers objects, arrays and unions; defaults in any other kind of schema are ignored.
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

/** An empty object type is not `{}`, which would accept everything. The last line merges two types into one, for readers in an editor. */
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
