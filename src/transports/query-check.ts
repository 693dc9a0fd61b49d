// Checks the querystring of a plain route against its schema: closed, and every fault at once, like the input of an operation.
import type { ErrorObject } from 'ajv'
import { routes } from '../../schemas/routes.ts'
import type { TObject, TSchema } from '../../schemas/typebox.ts'
import { OperationError } from '../errors.ts'
import { describeFaults, type Fault } from '../operations/definition/input-faults.ts'
import { suggest } from '../support/suggest.ts'
import { Validator } from '../support/validation/validator.ts'
import { beginningOf } from '../support/cut-text.ts'

/** As Fastify parses it. */
type Query = Readonly<Record<string, string | string[]>>

/** What Fastify takes from a validator. */
type Verdict = { readonly value: object } | { readonly error: OperationError }

const maxFaults = 10
const maxShown = 60

const checks = new Map<unknown, (query: Query) => Verdict>()
for (const [path, route] of Object.entries(routes))
  if ('querystring' in route) checks.set(route.querystring, createQueryCheck(path, route.querystring))

/** The check of a route's schema, for Fastify: compiled at the build. */
export function queryCheckOf({ schema }: { readonly schema: unknown }): (query: Query) => Verdict {
  const check = checks.get(schema)
  if (check === undefined) throw new Error('A build compiles no check for this schema: see schemas/routes.ts.')
  return check
}

function createQueryCheck(path: string, schema: TObject): (query: Query) => Verdict {
  const validator = new Validator<object>(`querystring of ${path}`, schema)
  return (query) => {
    const value = readQuery(query, schema)
    if (validator.accepts(value)) return { value }
    const faults = validator
      .findFaults(value)
      .slice(0, maxFaults)
      .map((error) => describeFault(error, Object.keys(schema.properties)))
    const message = `Invalid query for GET ${path}: ${faults.map((fault) => fault.message).join('; ')}`
    const advice = 'Correct it or leave it out: GET /openapi.json describes what the route takes.'
    const error = new OperationError('INVALID_REQUEST', `${message}${message.endsWith('?') ? '' : '.'} ${advice}`, {
      details: { faults }
    })
    return { error }
  }
}

/** The texts of a query as values of the kinds that the schema asks for; what is none of them remains a text. */
function readQuery(query: Query, { properties }: TObject): Record<string, unknown> {
  const read = (name: string, given: string | string[]) =>
    Object.hasOwn(properties, name) ? readParameter(given, properties[name] as TSchema) : given
  return Object.fromEntries(Object.entries(query).map(([name, given]) => [name, read(name, given)]))
}

function readParameter(given: string | string[], { type, items }: TSchema): unknown {
  if (type === 'array') {
    const texts = [given].flat()
    // Words of a fixed list have no commas in them; paths may.
    return 'enum' in items ? texts.flatMap((text) => text.split(',')) : texts
  }
  return type === 'integer' && typeof given === 'string' && /^\d+$/.test(given) ? Number(given) : given
}

function describeFault(error: ErrorObject, names: readonly string[]): Fault {
  const [fault] = describeFaults([error], names) as [Fault]
  return { ...fault, message: explainText(error, fault) ?? fault.message }
}

/** Faults that only a text has. */
function explainText({ keyword, data, params, parentSchema }: ErrorObject, { parameter }: Fault): string | undefined {
  const name = parameter.replace(/\[\d+\]$/, '')
  const shown = JSON.stringify(beginningOf(String(data), maxShown))
  if (keyword === 'enum') return `${name} has an unknown name ${shown}${suggest(String(data), params['allowedValues'])}`
  if (keyword !== 'type') return undefined
  if (Array.isArray(data)) return `${name} is given more than once`
  const { minimum, maximum } = parentSchema as { minimum: number; maximum: number }
  return `${name} must be a whole number from ${minimum} to ${maximum}, not ${shown}`
}
