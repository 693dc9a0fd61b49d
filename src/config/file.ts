// The configuration file: its path and its content.
import { statSync } from 'node:fs'
import { homedir } from 'node:os'
import { isAbsolute, join, resolve } from 'node:path'
import { isErrno } from '../support/errno.ts'
import { paths } from '../support/user-paths.ts'
import { nearest, suggest } from '../support/suggest.ts'
import type { Environment } from './environment.ts'
import { fields, nearestField, sections, type Field } from './fields.ts'
import { JsonFault, membersOf, parseJson, placeOf, valueOf, type JsonMember, type JsonNode } from './json-source.ts'
import { faultAt, normalise, type Fault, type Given, type Layer, type Origin } from './layer.ts'
import { readText } from '../support/read-text.ts'

export interface ConfigFile {
  /** Absolute. */
  readonly path: string
  /** True if a flag or variable names it: then it must exist. */
  readonly isNamed: boolean
}

/** Names a configuration file; empty means none at all. */
export const fileVariable = 'ASYNC_CRUD_MCP_CONFIG'

const emptyLayer: Layer = { values: new Map(), faults: [] }

/**
 * The file of `--config`, else that of the environment, else the one in the user's folder. Never one in the tree, where
 * the agents that it restricts could write it.
 * @returns undefined if the environment asks for no file
 */
export function findConfigFile(flag: string | undefined, environment: Environment): ConfigFile | undefined {
  const named = flag ?? environment[fileVariable]
  if (named === '') return undefined
  return named === undefined ? { path: paths.configFile, isNamed: false } : { path: resolve(named), isNamed: true }
}

/** The content of the file; empty if the file may be missing and is. */
export function readConfigFile({ path, isNamed }: ConfigFile): Layer {
  try {
    // Opening a pipe would wait for its writer.
    if (!statSync(path).isFile()) return unreadable(path, 'is not a file')
    return parseConfigText(path, readText(path).replace(/^\uFEFF/, ''))
  } catch (error) {
    if (isErrno(error, 'ENOENT', 'ENOTDIR')) {
      return isNamed
        ? unreadable(path, `does not exist; async-crud-mcp config init --config ${path} writes one`)
        : emptyLayer
    }
    if (isErrno(error, 'EACCES', 'EPERM')) return unreadable(path, 'cannot be read: permission denied')
    throw error
  }
}

/** @param path for messages only */
export function parseConfigText(path: string, text: string): Layer {
  const originAt = (offset: number): Origin => ({ source: 'file', file: path, ...placeOf(text, offset) })
  try {
    return readSections(text, parseJson(text), originAt)
  } catch (error) {
    if (!(error instanceof JsonFault)) throw error
    return { ...emptyLayer, faults: [faultAt(originAt(error.offset), `not JSON: ${error.message}`)] }
  }
}

function unreadable(path: string, what: string): Layer {
  const origin: Origin = { source: 'file', file: path, line: 1, column: 1 }
  return { ...emptyLayer, faults: [{ origin, message: `the configuration file ${path} ${what}` }] }
}

function readSections(text: string, root: JsonNode, originAt: (offset: number) => Origin): Layer {
  const values = new Map<string, Given>()
  const faults: Fault[] = []
  const fault = (offset: number, what: string) => faults.push(faultAt(originAt(offset), what))
  const members = membersOf(root)
  if (members === undefined) {
    fault(root.offset, `expected an object with the sections ${sections.join(', ')}`)
  }
  for (const { name: section, offset, node } of named(members, fault)) {
    const settings = membersOf(node)
    if (!sections.includes(section)) fault(offset, explainUnknownSection(section))
    else if (settings === undefined) fault(node.offset, `${section} must be an object with settings`)
    for (const member of sections.includes(section) ? named(settings, fault) : []) {
      const field = fields.get(`${section}.${member.name}`)
      if (field === undefined) fault(member.offset, explainUnknown(section, member.name))
      else values.set(field.name, readField(field, member.node, text, originAt, faults))
    }
  }
  return { values, faults }
}

/** The members except comments, each name once. */
function named(
  members: readonly JsonMember[] = [],
  fault: (offset: number, what: string) => void
): readonly JsonMember[] {
  const seen = new Set<string>()
  return members.filter(({ name, offset }) => {
    if (/^[_$]/.test(name)) return false
    if (seen.has(name)) fault(offset, `"${name}" occurs here a second time`)
    seen.add(name)
    return true
  })
}

function readField(
  field: Field,
  node: JsonNode,
  text: string,
  originAt: (offset: number) => Origin,
  faults: Fault[]
): Given {
  const given = valueOf(text, node)
  const origin = originAt(node.offset)
  const itemOrigins = node.type === 'array' ? node.children?.map(({ offset }) => originAt(offset)) : undefined
  const origins = itemOrigins === undefined ? { origin } : { origin, itemOrigins }
  const words = field.schema['x-path']
  if (words === undefined) return { value: normalise(field, given), ...origins }
  for (const [index, item] of [given].flat().map(expandHome).entries()) {
    // The schema reports a value that is not text.
    if (typeof item !== 'string' || item === '' || words.includes(item) || isAbsolute(item)) continue
    const what = `${field.name} must be an absolute path, not ${JSON.stringify(item)}`
    faults.push(faultAt(itemOrigins?.[index] ?? origin, what, field.name))
  }
  return { value: Array.isArray(given) ? given.map(expandHome) : expandHome(given), ...origins }
}

function expandHome(value: unknown): unknown {
  return typeof value === 'string' && /^~(?:[/\\]|$)/.test(value) ? join(homedir(), value.slice(1)) : value
}

function explainUnknownSection(section: string): string {
  const meant = nearestField('', section)
  // A setting outside its section is more likely than a section of such a name.
  if (nearest(section, sections) === undefined && meant !== undefined)
    return `"${section}" is not a section; did you mean ${meant.name}, inside "${meant.section}"?`
  return `"${section}" is not a section${suggest(section, sections)}`
}

function explainUnknown(section: string, key: string): string {
  const meant = nearestField(section, key)
  if (meant !== undefined) return `${section}.${key} is not a setting; did you mean ${meant.name}?`
  const known = [...fields.values()].filter((field) => field.section === section).map((field) => field.key)
  return `${section}.${key} is not a setting${suggest(key, known)}`
}
