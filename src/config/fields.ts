// The settings by their dotted names, which flags, environment and file use.
import { Config } from '../../schemas/config.ts'
import { nearest } from '../support/suggest.ts'

/** The schema of one setting. */
export interface FieldSchema {
  readonly type: string | readonly string[]
  readonly description: string
  readonly default: unknown
  readonly enum?: readonly string[]
  readonly minimum?: number
  readonly maximum?: number
  readonly minLength?: number
  readonly examples?: readonly unknown[]
  readonly items?: object
  readonly writeOnly?: boolean
  readonly 'x-live'?: boolean
  /** The words that are accepted but are not paths. */
  readonly 'x-path'?: readonly string[]
  readonly 'x-any-case'?: boolean
  readonly 'x-aliases'?: Readonly<Record<string, string>>
}

export interface Field {
  /** Such as `daemon.port`. */
  readonly name: string
  readonly section: string
  readonly key: string
  /** Environment variable, such as `ASYNC_CRUD_MCP_DAEMON__PORT`. */
  readonly variable: string
  readonly schema: FieldSchema
}

export const variablePrefix = 'ASYNC_CRUD_MCP_'

const sectionSchemas = Object.entries(Config.properties) as [string, { properties: Record<string, FieldSchema> }][]

export const sections: readonly string[] = sectionSchemas.map(([section]) => section)

export const fields: ReadonlyMap<string, Field> = new Map(
  sectionSchemas.flatMap(([section, { properties }]) =>
    Object.entries(properties).map(([key, schema]): [string, Field] => {
      const variable = `${variablePrefix}${section}__${key}`.toUpperCase()
      return [`${section}.${key}`, { name: `${section}.${key}`, section, key, variable, schema }]
    })
  )
)

/** @throws if the program itself names a setting that does not exist */
export function fieldOf(name: string): Field {
  const field = fields.get(name)
  if (field === undefined) throw new Error(`there is no setting ${name}`)
  return field
}

/** The setting that was probably meant: the same key in another section, else the nearest in this section, else the nearest of all. */
export function nearestField(section: string, key: string): Field | undefined {
  const all = [...fields.values()]
  const elsewhere = all.find((field) => field.key === key)
  if (elsewhere !== undefined) return elsewhere
  const here = all.filter((field) => field.section === section)
  for (const candidates of [here, all]) {
    const best = nearest(
      key,
      candidates.map((field) => field.key)
    )
    const found = candidates.find((field) => field.key === best)
    if (found !== undefined) return found
  }
  return undefined
}

/** Such as `a whole number from 1 to 10` or `one of http, stdio, dual`. */
export function expectationOf({ type, enum: choices, minimum, maximum, minLength, items }: FieldSchema): string {
  const [main, ...others] = [type].flat() as [string, ...string[]]
  const orNull = others.includes('null') ? ' or null' : ''
  if (choices !== undefined) return `one of ${choices.join(', ')}`
  if (items !== undefined) return 'a list of non-empty strings'
  if (main === 'boolean') return 'true or false'
  if (main === 'string') return (minLength === undefined ? 'a string' : 'a non-empty string') + orNull
  const kind = main === 'integer' ? 'a whole number' : 'a number'
  const bounds = maximum === undefined ? ` not below ${minimum}` : ` from ${minimum} to ${maximum}`
  return (minimum === undefined ? kind : kind + bounds) + orNull
}
