// The responses of an operation in the OpenAPI document: one for each HTTP status, with the codes behind it.
import { Contention } from '../../schemas/contention.ts'
import { errorTable, type ErrorCode } from '../../schemas/errors.ts'
import { commonErrors, type Operation } from '../../src/operations/definition/define.ts'
import { envelopes, type Envelope } from '../../src/operations/definition/envelopes.ts'
import type { Components, JsonObject } from './components.ts'
import type { Examples } from './examples.ts'

/** What the document is made with. */
export interface Workshop {
  readonly components: Components
  readonly examples: Examples
}

/** Codes that the door answers with before an operation is reached. */
const doorErrors: readonly ErrorCode[] = [
  'UNAUTHORIZED',
  'FORBIDDEN_ORIGIN',
  'METHOD_NOT_ALLOWED',
  'UNSUPPORTED_MEDIA_TYPE',
  'FILE_TOO_LARGE'
]

/** Each has a status of its own among these, so that a status which brings no other code is one shared response. */
const sharedErrors: readonly ErrorCode[] = [...commonErrors, ...doorErrors]

export function describeResponses(operation: Operation, workshop: Workshop): JsonObject {
  const { name, output, errors, contends, envelope } = operation
  const codes = [...new Set([...errors, ...sharedErrors])]
  const statuses = [...new Set([...codes.map(envelope.httpStatus), ...(contends ? [409] : [])])].sort((a, b) => a - b)
  const failures = statuses.map((status) => {
    const own = codes.filter((code) => envelope.httpStatus(code) === status)
    return [String(status), describeFailure(operation, status, own, workshop)]
  })
  const done = {
    description: output.description ?? 'Done.',
    content: jsonContent(workshop.components.schema(output), workshop.examples.answers(name, 200))
  }
  return { '200': done, ...Object.fromEntries(failures) }
}

/** A reference to the response of a code that many operations share. */
export function sharedResponse(code: ErrorCode, envelope: Envelope, { components, examples }: Workshop): JsonObject {
  const name = `${envelope === envelopes.bare ? 'Folder' : ''}${toPascalCase(code)}`
  return components.response(name, () => ({
    description: describeCode(code),
    content: jsonContent(components.schema(envelope.schema), examples.failures(code, envelope))
  }))
}

/** Of a route that is no operation. */
export function describeRefusals(codes: readonly ErrorCode[], workshop: Workshop): JsonObject {
  const { status } = envelopes
  const byStatus = new Map<string, ErrorCode[]>()
  for (const code of codes) {
    const name = String(status.httpStatus(code))
    byStatus.set(name, [...(byStatus.get(name) ?? []), code])
  }
  return Object.fromEntries([...byStatus].map(([name, together]) => [name, describeRefusal(together, workshop)]))
}

/** @param codes those of one HTTP status */
function describeRefusal(codes: readonly ErrorCode[], workshop: Workshop): JsonObject {
  const { status } = envelopes
  const [code] = codes
  if (code !== undefined && codes.length === 1) return sharedResponse(code, status, workshop)
  return {
    description: codes.map((each) => `- ${describeCode(each)}`).join('\n'),
    content: jsonContent(workshop.components.schema(status.schema), {})
  }
}

export function jsonContent(schema: JsonObject, examples: JsonObject): JsonObject {
  return { 'application/json': { schema, ...examples } }
}

export function toPascalCase(name: string): string {
  return name.toLowerCase().replace(/(?:^|_)([a-z])/g, (_match, letter: string) => letter.toUpperCase())
}

function describeFailure(
  { name, output, contends, envelope }: Operation,
  status: number,
  codes: readonly ErrorCode[],
  workshop: Workshop
): JsonObject {
  const { components, examples } = workshop
  const [code] = codes
  if (code !== undefined && codes.length === 1 && sharedErrors.includes(code))
    return sharedResponse(code, envelope, workshop)
  const failure = components.schema(envelope.schema)
  const canContend = contends && status === 409
  const lines = codes.map(describeCode)
  if (canContend) lines.unshift('Contention: the file has changed; the diff says how.')
  // Of several files: the contention has the form of the answer.
  const isOwn = status === 409 && 'enum' in (output.properties['status'] ?? {})
  if (isOwn) lines.unshift('Contention: nothing was changed; the answer names every conflict.')
  const contention = isOwn ? output : Contention
  const schema = canContend || isOwn ? { oneOf: [components.schema(contention), failure] } : failure
  return {
    // A list in CommonMark: one line for each outcome.
    description: lines.length === 1 ? lines.join('') : lines.map((line) => `- ${line}`).join('\n'),
    content: jsonContent(schema, examples.answers(name, status))
  }
}

function describeCode(code: ErrorCode): string {
  return `${code}: ${errorTable[code].meaning}`
}
