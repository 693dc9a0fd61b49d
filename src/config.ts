// The settings the server runs with: flags over environment over defaults, checked once and frozen.
import { Ajv } from 'ajv'
import { Config } from '../schemas/config.ts'

export type { Config } from '../schemas/config.ts'

/** Some of the settings, by section. Which of its choices a text is, `loadConfig` checks. */
export type PartialConfig = {
  [Section in keyof Config]?: { [Name in keyof Config[Section]]?: Unchecked<Config[Section][Name]> }
}
type Unchecked<Value> = Value extends string ? string : Value

const environmentPrefix = 'ASYNC_CRUD_MCP_'

/**
 * Merges and checks the settings.
 * @throws Error with one line per fault: the setting, what it should be, and the value.
 */
export function loadConfig(
  flags: PartialConfig,
  environment: Readonly<Record<string, string | undefined>> = {}
): Config {
  const fromEnvironment = readEnvironment(environment)
  const config: Record<string, Record<string, unknown>> = {}
  for (const section of Object.keys(Config.properties) as (keyof Config)[]) {
    config[section] = { ...fromEnvironment[section], ...flags[section] }
  }
  const ajv = new Ajv({ allErrors: true, useDefaults: true, verbose: true })
  const check = ajv.compile<Config>(Config)
  if (!check(config)) {
    const faults = (check.errors ?? []).map(({ instancePath, message, data, params }) => {
      const name = instancePath.slice(1).replaceAll('/', '.')
      if ('additionalProperty' in params) return `${name}.${String(params['additionalProperty'])} is no setting`
      return `${name} ${message}, but is ${JSON.stringify(data)}`
    })
    throw new Error(`invalid configuration: ${faults.join('; ')}`)
  }
  return deepFreeze(config)
}

/** Settings named `ASYNC_CRUD_MCP_<SECTION>__<FIELD>`; numbers and lists are written as JSON. */
function readEnvironment(
  environment: Readonly<Record<string, string | undefined>>
): Record<string, Record<string, unknown>> {
  const result: Record<string, Record<string, unknown>> = {}
  for (const [name, value] of Object.entries(environment)) {
    if (!name.startsWith(environmentPrefix) || value === undefined) continue
    const [section, field] = name.slice(environmentPrefix.length).toLowerCase().split('__')
    if (section === undefined || field === undefined) continue
    if (!(section in Config.properties)) throw new Error(`invalid configuration: ${name} names no section`)
    result[section] = { ...result[section], [field]: parseValue(section, field, value) }
  }
  return result
}

function parseValue(section: string, field: string, value: string): unknown {
  const properties = Config.properties[section as keyof Config].properties as Record<string, { type?: string }>
  if (properties[field]?.type === 'string') return value
  try {
    return JSON.parse(value)
  } catch {
    return value
  }
}

function deepFreeze<T>(value: T): T {
  if (typeof value === 'object' && value !== null) Object.values(value).forEach(deepFreeze)
  return Object.freeze(value)
}
