// Operations as MCP tools: short descriptions and closed input schemas, one plain object as output schema for clients that ask, results as structured content and the same JSON as text.
import { Contention } from '../../../schemas/contention.ts'
import type { TObject, TSchema } from '../../../schemas/typebox.ts'
import { toOperationError } from '../../errors.ts'
import { contentText, type CallOperation, type OperationResult } from '../../engine/context.ts'
import { encodeTwice, type Pieces } from '../encode-result.ts'
import { isLarge } from '../../support/encode-large.ts'
import { largeTurn } from '../../support/large-work.ts'
import type { Operation } from '../../operations/definition/define.ts'
import { toListedSchema, type JsonObjectSchema } from './listed-schema.ts'
import type { ToolOperation } from './offered-tools.ts'
import { toolWords } from './tool-words.ts'

export interface Tool {
  readonly name: string
  readonly title: string
  readonly description: string
  readonly inputSchema: JsonObjectSchema
  readonly outputSchema?: JsonObjectSchema
  readonly annotations: Operation['annotations']
}

export interface ToolResult {
  // The SDK's result type is an open record.
  readonly [key: string]: unknown
  readonly content: { type: 'text'; text: string }[]
  readonly structuredContent?: Record<string, unknown>
  readonly isError?: true
}

export function toTool(operation: ToolOperation, hasOutputSchema: boolean): Tool {
  const { name, title, input, annotations, isPlain = false } = operation
  const words = toolWords[name]
  const description = words?.description ?? operation.description
  return {
    name,
    title,
    description: isPlain ? `${description} ${plainHint}` : description,
    inputSchema: toListedSchema(input, words?.parameters, words?.unlisted),
    // A tool that has one must answer with structured content, which a plain text replaces.
    ...(hasOutputSchema && !isPlain && { outputSchema: outputSchemaOf(operation) }),
    annotations
  }
}

const plainHint = 'The first line of the answer is JSON, with the hash; the text follows.'

/** One plain object that every outcome satisfies. Only `status` is always there, if the envelope has one. */
function outputSchemaOf({ output, contends, envelope }: Operation): JsonObjectSchema {
  const outcomes: TObject[] = contends ? [output, Contention, envelope.schema] : [output, envelope.schema]
  const properties: Record<string, TSchema> = {}
  for (const outcome of outcomes) {
    for (const [name, schema] of Object.entries(outcome.properties)) properties[name] ??= schema
  }
  const statuses = outcomes.flatMap(({ properties: own }) => statusesOf(own['status']))
  if (statuses.includes(undefined)) return plain({ type: 'object', properties })
  const status = { type: 'string', enum: statuses, description: 'Outcome: which of the other properties are present.' }
  return plain({ type: 'object', properties: { ...properties, status }, required: ['status'] })
}

function statusesOf(status: object | undefined): readonly (string | undefined)[] {
  const { const: only, enum: several } = (status ?? {}) as { const?: string; enum?: readonly string[] }
  return several ?? [only]
}

/** JSON Schema without TypeBox's symbols. */
function plain(schema: object): JsonObjectSchema {
  return JSON.parse(JSON.stringify(schema)) as JsonObjectSchema
}

/** Outcomes that an agent acts on, contention included, are ordinary results. */
export interface ToolOutcome {
  readonly body: OperationResult
  readonly isError: boolean
  /** True if the content of a file is to be plain text. */
  readonly isPlain?: boolean
}

export async function runTool(
  call: CallOperation,
  { name, envelope, isPlain = false }: ToolOperation,
  input: unknown,
  about: Parameters<CallOperation>[2]
): Promise<ToolOutcome> {
  try {
    const body = await call(name, input, about)
    // To encode it is the next step.
    if (isLarge(body)) await largeTurn()
    return { body, isError: false, isPlain }
  } catch (error) {
    return { body: envelope.body(toOperationError(error), { operation: name, input }), isError: true }
  }
}

export function toToolResult({ body, isError, isPlain = false }: ToolOutcome): ToolResult {
  const plain = isPlain ? plainParts(body) : undefined
  if (plain !== undefined) return { content: [{ type: 'text', text: plain.head + plain.text }] }
  // The SDK refuses a name that is no string.
  const { [contentText]: _, ...structuredContent } = body
  const text = JSON.stringify(structuredContent)
  return { content: [{ type: 'text', text }], structuredContent, ...(isError && { isError: true }) }
}

/**
 * The JSON of the same result, for which the body is encoded once.
 * @param additions JSON of further members, from the comma before them
 */
export function encodeToolResult({ body, isError, isPlain = false }: ToolOutcome, additions: string): Pieces {
  const plain = isPlain ? plainParts(body) : undefined
  if (plain !== undefined) {
    const { head, text, known } = plain
    const start = `{"content":[{"type":"text","text":${JSON.stringify(head).slice(0, -1)}`
    return [start, known?.json.subarray(1) ?? JSON.stringify(text).slice(1), `}]${additions}}`]
  }
  const { json, asString } = encodeTwice(body)
  const end = `${isError ? ',"isError":true' : ''}${additions}}`
  return ['{"content":[{"type":"text","text":', ...asString, '}],"structuredContent":', ...json, end]
}

/**
 * Everything but the content, on one line, then the content. Without structured content: clients that get both show their
 * model only that. Undefined if there is no content, as in an answer that nothing has changed.
 */
function plainParts(body: OperationResult) {
  const { content, ...others } = body
  if (typeof content !== 'string') return undefined
  return { head: `${JSON.stringify(others)}\n`, text: content, known: body[contentText] }
}
