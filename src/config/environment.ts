// The settings in the environment: ASYNC_CRUD_MCP_<SECTION>__<FIELD>. Numbers, booleans and lists are written as JSON.
import { nearest } from '../suggest.ts'
import { fields, nearestField, sections, variablePrefix, type Field } from './fields.ts'
import { faultAt, normalise, type Fault, type Given, type Layer } from './layer.ts'

export type Environment = Readonly<Record<string, string | undefined>>

export function readEnvironment(environment: Environment): Layer {
  const values = new Map<string, Given>()
  const faults: Fault[] = []
  for (const [variable, text] of Object.entries(environment)) {
    // Variables without the two underscores are no settings, such as ASYNC_CRUD_MCP_AGENT_ID.
    if (text === undefined || !variable.startsWith(variablePrefix) || !variable.includes('__')) continue
    const origin = { source: 'environment', variable } as const
    const [section = '', ...rest] = variable.slice(variablePrefix.length).toLowerCase().split('__')
    const key = rest.join('__')
    const field = fields.get(`${section}.${key}`)
    if (field === undefined) faults.push(faultAt(origin, explainUnknown(section, key)))
    else values.set(field.name, { value: normalise(field, parseText(field, text)), origin })
  }
  return { values, faults }
}

function parseText({ schema }: Field, text: string): unknown {
  const types = [schema.type].flat()
  if (types.includes('string')) return types.includes('null') && text === 'null' ? null : text
  try {
    return JSON.parse(text)
  } catch {
    return text
  }
}

function explainUnknown(section: string, key: string): string {
  const meant = nearestField(nearest(section, sections) ?? section, key)
  if (meant !== undefined) return `there is no such setting; did you mean ${meant.variable}?`
  return `there is no such setting; docs/configuration.md has them all`
}
