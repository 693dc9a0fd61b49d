// Operations as MCP tools: closed input schemas, one plain object as output schema, results as structured content and the same JSON as text.
import { Contention } from '../../../schemas/contention.ts'
import type { TObject, TSchema } from '../../../schemas/typebox.ts'
import { toOperationError } from '../../errors.ts'
import { contentText, type CallOperation, type OperationResult } from '../../engine/context.ts'
import { isLarge } from '../../support/encode-large.ts'
import { largeTurn } from '../../support/large-work.ts'
import { encodeResult, encodeTwice } from '../encode-result.ts'
import type { Operation } from '../../operations/definition/define.ts'

interface JsonObjectSchema {
  readonly type: 'object'
  readonly [key: string]: unknown
}

export interface Tool {
  readonly name: string
  readonly title: string
  readonly description: string
  readonly inputSchema: JsonObjectSchema
  readonly outputSchema: JsonObjectSchema
  readonly annotations: Operation['annotations'] & { readonly title: string }
}

export interface ToolResult {
  // The SDK's result type is an open record.
  readonly [key: string]: unknown
  readonly content: { type: 'text'; text: string }[]
  readonly structuredContent: Record<string, unknown>
  readonly isError?: true
}

export function toTool(operation: Operation): Tool {
  const { name, title, description, input, annotations } = operation
  return {
    name,
    title,
    description,
    inputSchema: plain(input),
    outputSchema: outputSchemaOf(operation),
    annotations: { title, ...annotations }
  }
}

/** One plain object that every outcome satisfies. Only `status` is always there, if the envelope has one. */
function outputSchemaOf({ output, contends, envelope }: Operation): JsonObjectSchema {
  const outcomes: TObject[] = contends ? [output, Contention, envelope.schema] : [output, envelope.schema]
  const properties: Record<string, TSchema> = {}
  for (const outcome of outcomes) {
    for (const [name, schema] of Object.entries(outcome.properties)) properties[name] ??= schema
  }
  const statuses = outcomes.map(({ properties }) => (properties['status'] as { const?: string } | undefined)?.const)
  if (statuses.includes(undefined)) return plain({ type: 'object', properties })
  const status = { type: 'string', enum: statuses, description: 'Outcome: which of the other properties are present.' }
  return plain({ type: 'object', properties: { ...properties, status }, required: ['status'] })
}

/** JSON Schema without TypeBox's symbols. */
function plain(schema: object): JsonObjectSchema {
  return JSON.parse(JSON.stringify(schema)) as JsonObjectSchema
}

/** Outcomes that an agent acts on, contention included, are ordinary results. */
export interface ToolOutcome {
  readonly body: OperationResult
  readonly isError: boolean
}

export async function runTool(
  call: CallOperation,
  { name, envelope }: Operation,
  input: unknown,
  about: Parameters<CallOperation>[2]
): Promise<ToolOutcome> {
  try {
    const body = await call(name, input, about)
    // To encode it is the next step.
    if (isLarge(body)) await largeTurn()
    return { body, isError: false }
  } catch (error) {
    return { body: envelope.body(toOperationError(error), { operation: name, input }), isError: true }
  }
}

export function toToolResult({ body, isError }: ToolOutcome): ToolResult {
  // The SDK refuses a name that is no string.
  const { [contentText]: _, ...structuredContent } = body
  return { content: [{ type: 'text', text: encodeResult(body) }], structuredContent, ...(isError && { isError: true }) }
}

/**
 * The JSON of the same result, for which the body is encoded once.
 * @param additions JSON of further members, from the comma before them
 */
export function encodeToolResult({ body, isError }: ToolOutcome, additions: string): string {
  const { json, asString } = encodeTwice(body)
  return `{"content":[{"type":"text","text":${asString}}],"structuredContent":${json}${isError ? ',"isError":true' : ''}${additions}}`
}
