// The settings in the environment: ASYNC_CRUD_MCP_<SECTION>__<FIELD>. Numbers and lists are written as JSON.
import { nearest } from '../support/suggest.ts'
import { fields, nearestField, sections, variablePrefix, type Field } from './fields.ts'
import { faultAt, normalise, type Fault, type Given, type Layer } from './layer.ts'

export type Environment = Readonly<Record<string, string | undefined>>

/** Variables that are not settings, without the prefix; and those of the tests. */
const others = ['CONFIG', 'AGENT_ID', 'GUARD_CLOSED']
const ofTests = `${variablePrefix}TEST_`

/** In any case. */
const booleans: Readonly<Record<string, boolean>> = {
  true: true,
  '1': true,
  yes: true,
  on: true,
  false: false,
  '0': false,
  no: false,
  off: false
}

export function readEnvironment(environment: Environment): Layer {
  const values = new Map<string, Given>()
  const faults: Fault[] = []
  for (const [variable, text] of Object.entries(environment)) {
    if (text === undefined || !isSetting(variable)) continue
    const origin = { source: 'environment', variable } as const
    const [section = '', ...rest] = variable.slice(variablePrefix.length).toLowerCase().split('__')
    const key = rest.join('__')
    const field = fields.get(`${section}.${key}`)
    if (field === undefined) faults.push(faultAt(origin, explainUnknown(section, key)))
    else values.set(field.name, { value: normalise(field, parseText(field, text)), origin })
  }
  return { values, faults }
}

/** Variables whose names begin like ours, in any case, but are never read. */
export function findStrayVariables(environment: Environment): string[] {
  const known = [...others, ...[...fields.values()].map(({ variable }) => variable.slice(variablePrefix.length))]
  return Object.keys(environment).flatMap((variable) => {
    const upper = variable.toUpperCase()
    if (!upper.startsWith(variablePrefix) || upper.startsWith(ofTests) || isSetting(variable)) return []
    const rest = upper.slice(variablePrefix.length)
    if (upper === variable && others.includes(rest)) return []
    const meant = nearest(rest, known)
    const advice =
      meant === undefined ? 'docs/configuration.md lists them all' : `did you mean ${variablePrefix}${meant}?`
    return [`${variable} in the environment is ignored: there is no such setting; ${advice}`]
  })
}

/** A name without the two underscores is not a setting, such as ASYNC_CRUD_MCP_AGENT_ID. */
function isSetting(variable: string): boolean {
  return variable.startsWith(variablePrefix) && variable.includes('__')
}

function parseText({ schema }: Field, text: string): unknown {
  const types = [schema.type].flat()
  if (types.includes('string')) return types.includes('null') && text === 'null' ? null : text
  if (types.includes('boolean')) return booleans[text.trim().toLowerCase()] ?? text
  try {
    return JSON.parse(text)
  } catch {
    return text
  }
}

function explainUnknown(section: string, key: string): string {
  const meant = nearestField(nearest(section, sections) ?? section, key)
  if (meant !== undefined) return `there is no such setting; did you mean ${meant.variable}?`
  return `there is no such setting; docs/configuration.md lists them all`
}
