// Writes the declarations of src/client/contract.ts that a package contains, from the schemas of the contract: with their
// descriptions, and without TypeBox, which would have to be installed to read the types that they are derived from.
import { Contention } from '../schemas/contention.ts'
import { contract } from '../schemas/contract.ts'
import { errorTable } from '../schemas/errors.ts'
import { createComponents, type Json } from './openapi/components.ts'

interface Schema {
  readonly title?: string
  readonly description?: string
  readonly $ref?: string
  readonly const?: Json
  readonly enum?: readonly Json[]
  readonly anyOf?: readonly Schema[]
  readonly type?: string | readonly string[]
  readonly items?: Schema
  readonly properties?: Readonly<Record<string, Schema>>
  readonly required?: readonly string[]
  readonly additionalProperties?: boolean | Schema
}

/** How a schema is written as a type. */
interface Form {
  /** Inputs may be frozen. */
  readonly isInput: boolean
  /** The named schema at a `$ref`. */
  readonly find: (name: string) => Schema
}

/** @returns the text of `contract.d.ts` */
export function writeClientTypes(): string {
  const components = createComponents()
  const operations = Object.entries(contract)
  const outputs = operations.map(([name, { output }]) => [name, components.schema(output)] as const)
  components.schema(Contention)
  const named = components.toJson().schemas as Record<string, Schema>
  const output = { isInput: false, find: (name: string) => named[name] ?? {} }
  const input = { isInput: true, find: () => ({}) }
  const inputs = operations.map(([name, { input }]) => [name, JSON.parse(JSON.stringify(input)) as Schema] as const)
  const contending = operations.filter(([, { contends }]) => contends).map(([name]) => name)
  return [
    '// Written at the build by scripts/client-types.ts of the project, from its schemas.',
    `export type OperationName = keyof Inputs`,
    `export type ErrorCode = ${unionOf(Object.keys(errorTable))}`,
    `export type ContendingName = ${unionOf(contending)}`,
    `export type Inputs = ${membersOf(inputs.map(([name, schema]) => `${name}: ${typeOf(schema, input)}`))}`,
    `export type Outputs = ${membersOf(outputs.map(([name, schema]) => `${name}: ${typeOf(schema, output)}`))}`,
    ...Object.entries(named)
      .filter(([, { title }]) => title !== undefined)
      .map(([name, schema]) => `${comment(schema)}export type ${name} = ${typeOf(schema, output)}`),
    ''
  ].join('\n\n')
}

/** The schema itself in place of a reference to one whose name says no more than that of its property. */
function resolve(schema: Schema, { find }: Form): Schema {
  if (schema.$ref === undefined) return schema
  const found = find(nameAt(schema.$ref))
  return found.title === undefined ? found : schema
}

const nameAt = (reference: string): string => reference.slice(reference.lastIndexOf('/') + 1)

function typeOf(given: Schema, form: Form): string {
  const schema = resolve(given, form)
  if (schema.$ref !== undefined) return nameAt(schema.$ref)
  if (schema.const !== undefined) return JSON.stringify(schema.const)
  if (schema.enum !== undefined) return unionOf(schema.enum)
  if (schema.anyOf !== undefined) return schema.anyOf.map((member) => typeOf(member, form)).join(' | ')
  return [schema.type ?? []]
    .flat()
    .map((type) => typeOfKind(type, schema, form))
    .join(' | ')
}

function typeOfKind(type: string, schema: Schema, form: Form): string {
  switch (type) {
    case 'string':
    case 'boolean':
    case 'null':
      return type
    case 'integer':
    case 'number':
      return 'number'
    case 'array':
      return `${form.isInput ? 'readonly ' : ''}${inBrackets(typeOf(schema.items ?? {}, form))}[]`
    case 'object':
      return typeOfObject(schema, form)
    default:
      throw new Error(`no type for ${JSON.stringify(schema)}: see scripts/client-types.ts`)
  }
}

function typeOfObject({ properties, required = [] }: Schema, form: Form): string {
  if (properties === undefined) return 'Record<string, unknown>'
  // Not {}, which takes any value.
  if (form.isInput && Object.keys(properties).length === 0) return 'Readonly<Record<string, never>>'
  const members = Object.entries(properties).map(([name, schema]) => {
    const mark = required.includes(name) ? '' : '?'
    return `${comment(resolve(schema, form))}${form.isInput ? 'readonly ' : ''}${name}${mark}: ${typeOf(schema, form)}`
  })
  return membersOf(members)
}

function inBrackets(type: string): string {
  return type.includes(' | ') ? `(${type})` : type
}

function membersOf(members: readonly string[]): string {
  return `{\n${members.join('\n').replaceAll(/^/gm, '  ')}\n}`
}

function unionOf(values: readonly Json[]): string {
  return values.map((value) => JSON.stringify(value)).join(' | ')
}

function comment({ description }: Schema): string {
  return description === undefined ? '' : `/** ${description.replaceAll('*/', '* /')} */\n`
}
