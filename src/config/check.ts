// Checks settings against the schema. Ajv decides, the words are ours.
import type { ErrorObject } from 'ajv'
import { Config } from '../../schemas/config.ts'
import { Validator } from '../support/validation/validator.ts'
import { expectationOf, fieldOf } from './fields.ts'
import { faultAt, showValue, type Fault, type Given } from './layer.ts'

/** The schema without required members: a source gives only some of the settings. */
const partialSchema = {
  type: 'object',
  properties: Object.fromEntries(
    Object.entries(Config.properties).map(([section, { properties }]) => [section, { type: 'object', properties }])
  )
}

const validator = new Validator('settings', partialSchema)

export function checkValues(values: ReadonlyMap<string, Given>): Fault[] {
  const config: Record<string, Record<string, unknown>> = {}
  for (const [name, { value }] of values) {
    const { section, key } = fieldOf(name)
    config[section] = { ...config[section], [key]: value }
  }
  if (validator.accepts(config)) return []
  // A value that breaks two rules, such as those of its type and its bounds, is one fault.
  const paths = new Set(validator.findFaults(config).map(({ instancePath }: ErrorObject) => instancePath))
  return [...paths].map((path) => explain(path, values))
}

/** @param path such as `/daemon/port` or `/crud/base_directories/1` */
function explain(path: string, values: ReadonlyMap<string, Given>): Fault {
  const [, section, key, index] = path.split('/')
  const field = fieldOf(`${section}.${key}`)
  const { value, origin, itemOrigins } = values.get(field.name) as Given
  const shown = index === undefined ? value : (value as unknown[])[Number(index)]
  const from = index === undefined ? origin : (itemOrigins?.[Number(index)] ?? origin)
  return faultAt(
    from,
    `${field.name} must be ${expectationOf(field.schema)}, not ${showValue(field, shown)}`,
    field.name
  )
}
