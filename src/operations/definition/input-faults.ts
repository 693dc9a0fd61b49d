// Turns Ajv's errors into sentences that a model can act on: every fault at once, an unknown parameter with the nearest known name.
import type { ErrorObject } from 'ajv'
import { shownText } from '../../../schemas/common.ts'
import { suggest } from '../../support/suggest.ts'
import { beginningOf, shortened } from '../../support/cut-text.ts'

export interface Fault {
  /** Such as `files[0].path`; "" for the input itself. */
  readonly parameter: string
  /** The broken JSON Schema keyword, such as `required` or `pattern`. */
  readonly rule: string
  readonly message: string
}

/** More than any reader wants; an input of 10,000 wrong items must not become an answer of megabytes. */
const maxFaults = 50
/** Grouping errors takes time that grows with the square of their number. */
const maxErrors = 500
const maxNameLength = 100
const howToGetHash = 'the hash of the version that you change, as async_read or a later answer has given it'

/** @param at where the checked part is in the input, such as `files[2]` */
export function describeFaults(all: readonly ErrorObject[], topLevelNames: readonly string[], at = ''): Fault[] {
  const errors = withoutOtherForms(all.slice(0, maxErrors))
  const told = new Set<string>()
  const faults = errors.slice(0, maxFaults).map((error) => describeFault(error, { topLevelNames, at, told }))
  const more = errors.length - faults.length
  if (more === 0) return faults
  return [...faults, { parameter: '', rule: '', message: `and at least ${more} more faults` }]
}

/**
 * If a value may have one of several forms, the faults are those of the nearest form: the one with the fewest broken
 * demands, of equals the first.
 */
function withoutOtherForms(errors: readonly ErrorObject[]): readonly ErrorObject[] {
  const choices = errors.filter(({ keyword }) => keyword === 'anyOf')
  const dropped = new Set<ErrorObject>(choices)
  for (const choice of choices) {
    const { schemaPath, instancePath, parentSchema } = choice
    const below = errors.filter(
      (error) => error.instancePath === instancePath || error.instancePath.startsWith(`${instancePath}/`)
    )
    const forms = formsOf(parentSchema).map((_, index) =>
      below.filter((error) => error.schemaPath.startsWith(`${schemaPath}/${index}/`))
    )
    const nearest = forms.reduce((best, form) => (form.length < best.length ? form : best))
    for (const form of forms) if (form !== nearest) for (const error of form) dropped.add(error)
  }
  return errors.filter((error) => !dropped.has(error))
}

function formsOf(schema: unknown): readonly unknown[] {
  return (schema as { anyOf: readonly unknown[] }).anyOf
}

interface Telling {
  readonly topLevelNames: readonly string[]
  readonly at: string
  /** Hints given so far: the names of all parameters are told once. */
  readonly told: Set<string>
}

function describeFault(error: ErrorObject, telling: Telling): Fault {
  return { rule: error.keyword, ...explainFault(error, telling) }
}

function explainFault(
  { instancePath, keyword, params, message, parentSchema, data }: ErrorObject,
  { topLevelNames, at, told }: Telling
): Omit<Fault, 'rule'> {
  const parameter = toName(instancePath, at)
  const subject = parameter === '' ? 'input' : parameter
  switch (keyword) {
    case 'additionalProperties': {
      const unknown = beginningOf(String(params['additionalProperty']), maxNameLength)
      const names = Object.keys((parentSchema as { properties?: object } | undefined)?.properties ?? {})
      const hint = suggest(unknown, names.length > 0 ? names : topLevelNames)
      const message = `unknown parameter "${join(parameter, unknown)}"${told.has(hint) ? '' : hint}`
      told.add(hint)
      return { parameter: join(parameter, unknown), message }
    }
    case 'required': {
      const missing = join(parameter, String(params['missingProperty']))
      const hint = params['missingProperty'] === 'expected_hash' ? `: ${howToGetHash}` : ''
      return { parameter: missing, message: `missing parameter "${missing}"${hint}` }
    }
    case 'enum': {
      const allowed = (params['allowedValues'] as readonly unknown[]).map((value) => JSON.stringify(value)).join(', ')
      return { parameter, message: `${subject} must be one of ${allowed}, not ${shorten(data)}` }
    }
    case 'pattern':
      return { parameter, message: `${subject} ${patternHint(params['pattern'] as string)}, not ${shorten(data)}` }
    case 'type':
      return { parameter, message: `${subject} ${message}, not ${describeOther(data, params['type'] as string)}` }
    case 'format':
      return { parameter, message: `${subject} must be a time such as 2026-11-25T09:30:00Z, not ${shorten(data)}` }
    case 'minLength':
      return { parameter, message: `${subject} must not be empty` }
    case 'minimum':
    case 'maximum':
    case 'exclusiveMinimum':
      return { parameter, message: `${subject} ${message}, not ${describeOther(data, 'number')}` }
    default:
      return { parameter, message: `${subject} ${message}` }
  }
}

/** `/files/0/path` as `files[0].path`. */
function toName(instancePath: string, at: string): string {
  return instancePath
    .split('/')
    .slice(1)
    .map((part) => part.replaceAll('~1', '/').replaceAll('~0', '~'))
    .reduce((name, part) => (/^\d+$/.test(part) ? `${name}[${part}]` : join(name, part)), at)
}

function join(parent: string, name: string): string {
  return parent === '' ? name : `${parent}.${name}`
}

/** The value of a number, if another number is wanted. */
function describeOther(data: unknown, wanted: string): string {
  if (data === null) return 'null'
  if (typeof data === 'number' && (wanted === 'number' || wanted === 'integer'))
    return Number.isFinite(data) ? String(data) : 'a number that is too large'
  return Array.isArray(data) ? 'array' : typeof data
}

function shorten(data: unknown): string {
  if (typeof data === 'object' && data !== null) return describeOther(data, '')
  const text = JSON.stringify(typeof data === 'string' ? beginningOf(data, 61) : data) ?? 'undefined'
  return shortened(text, 60)
}

function patternHint(pattern: string): string {
  if (pattern.includes('sha256:'))
    return 'must be "sha256:" followed by 64 lower-case hex digits, or at least the first 12 of them, as an earlier answer gave it'
  if (pattern.startsWith('^[a-zA-Z0-9._-]'))
    return 'must be the name of a file directly in the folder, of letters, digits, ".", "_" and "-" (async_read and async_update take any path)'
  if (pattern === shownText)
    return 'must have a visible character, and no control characters, line separators or bidi controls'
  if (pattern.includes('u0000')) return 'must not contain NUL'
  return `must match ${pattern}`
}
