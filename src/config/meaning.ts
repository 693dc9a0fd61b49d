// Settings that have the right form but would break calls: by themselves, or together with another setting.
import { toolChoices } from '../../schemas/tool-sets.ts'
import { compileGlob } from '../engine/files/glob/glob.ts'
import { encodeText } from '../engine/files/text.ts'
import { messageOf } from '../support/error-message.ts'
import { suggest } from '../support/suggest.ts'
import { fieldOf } from './fields.ts'
import { describeOrigin, faultAt, showValue, type Fault, type Given } from './layer.ts'

/** The first may not be set greater than the second. If the first is not set, the second counts if it is smaller. */
const limits = [
  ['crud.default_timeout', 'crud.max_timeout'],
  ['locks.lease_ttl_seconds', 'locks.max_lease_ttl_seconds'],
  ['daemon.header_timeout_seconds', 'daemon.request_timeout_seconds']
] as const

/** For one value. @returns what is wrong with it, as the end of a sentence */
const rules: Readonly<Record<string, (value: string) => string | undefined>> = {
  'crud.default_encoding': (encoding) => reasonOf(() => encodeText('', encoding, 'crud.default_encoding')),
  'crud.protected': (pattern) => reasonOf(() => compileGlob(pattern)),
  // HTTP allows no control characters in a header, and strips white space at its ends.
  'daemon.token': (token) =>
    !/\p{Cc}|\p{Cs}/u.test(token) && token.trim() === token
      ? undefined
      : 'no client could send it: use letters, digits and signs, without white space at the ends',
  'daemon.allowed_hosts': (host) =>
    /[/\s]/.test(host)
      ? 'no Host header looks like that: write a name with its port, such as files.example:8720'
      : undefined,
  'daemon.allowed_origins': (origin) =>
    isOrigin(origin)
      ? undefined
      : 'no browser names an origin like that: write scheme, host and port without anything behind it, such as http://localhost:6274',
  'tree.etcd_endpoints': (endpoint) =>
    /^https?:\/\/[^\s/@]+\/?$/.test(endpoint)
      ? undefined
      : 'write it as http://host:2379 or https://host:2379, without a user or a path',
  'tree.advertise': (address) =>
    address === '' || /^[^\s/]+:\d{1,5}$/.test(address)
      ? undefined
      : 'write a host and a port, such as host-a.internal:8730',
  'tree.relay_secret': (text) =>
    text === '' || text.length >= 16 ? undefined : 'it is short enough to be guessed: take at least 16 characters',
  'mcp.tools': faultOfTool
}

/** What is wrong with a word that chooses tools, in the settings or in an address. */
export function faultOfTool(word: string): string | undefined {
  return toolChoices.includes(word) ? undefined : `there is no such tool or set of tools${suggest(word, toolChoices)}`
}

/** @param values of all settings, each valid by the schema */
export function checkMeaning(values: ReadonlyMap<string, Given>): Fault[] {
  return [
    ...limits.flatMap(([name, limit]) => checkLimit(values, name, limit)),
    ...checkRules(values),
    ...checkHosts(values)
  ]
}

function checkLimit(values: ReadonlyMap<string, Given>, name: string, limit: string): Fault[] {
  const { value, origin } = values.get(name) as Given
  const most = values.get(limit) as Given
  if (origin.source === 'default' || Number(value) <= Number(most.value)) return []
  const what = `${name} must not be above ${limit}, which is ${String(most.value)} (${describeOrigin(most.origin)}), but is ${String(value)}`
  return [faultAt(origin, what, name)]
}

/** What a tree of several hosts needs. */
function checkHosts(values: ReadonlyMap<string, Given>): Fault[] {
  const { value, origin } = values.get('tree.coordinator') as Given
  if (value !== 'etcd') return []
  const isSet = (name: string) => {
    const given = values.get(name)?.value
    return Array.isArray(given) ? given.length > 0 : given !== null && given !== ''
  }
  const lacks: string[] = []
  if (!isSet('tree.etcd_endpoints')) lacks.push('tree.etcd_endpoints (--etcd <endpoint,...>)')
  const areCertificates = ['tree.relay_ca', 'tree.relay_cert', 'tree.relay_key'].every(isSet)
  if (!isSet('tree.relay_secret') && !areCertificates)
    lacks.push('tree.relay_secret, or tree.relay_ca, tree.relay_cert and tree.relay_key')
  return lacks.map((what) => faultAt(origin, `tree.coordinator etcd needs ${what}`, 'tree.coordinator'))
}

function checkRules(values: ReadonlyMap<string, Given>): Fault[] {
  return Object.entries(rules).flatMap(([name, rule]) => {
    const { value, origin, itemOrigins } = values.get(name) as Given
    return [value].flat().flatMap((item, index) => {
      const reason = rule(String(item))
      if (reason === undefined) return []
      return [
        faultAt(itemOrigins?.[index] ?? origin, `${name} cannot be ${showValue(fieldOf(name), item)}: ${reason}`, name)
      ]
    })
  })
}

/** As browsers send it: no wildcard, no path, no port that the scheme implies. */
function isOrigin(text: string): boolean {
  if (!/^[a-z][a-z\d+.-]*:\/\/[^\s/?#@*\\]+$/.test(text)) return false
  return !/^https?:/.test(text) || (URL.canParse(text) && new URL(text).origin === text)
}

function reasonOf(act: () => unknown): string | undefined {
  try {
    act()
    return undefined
  } catch (error) {
    return messageOf(error)
  }
}
