// Operations as MCP tools: short descriptions and closed input schemas, one plain object as output schema for clients that ask, results as structured content and as text.
import { Contention } from '../../../schemas/contention.ts'
import type { TObject, TSchema } from '../../../schemas/typebox.ts'
import type { Config } from '../../config/config.ts'
import { toOperationError } from '../../errors.ts'
import { contentText, type CallOperation, type OperationResult } from '../../engine/call/context.ts'
import { encodeResult, encodeTwice, type Pieces } from '../encode-result.ts'
import { shortDigits } from '../../support/hash-digits.ts'
import type { Operation } from '../../operations/definition/define.ts'
import {
  answerForModel,
  askedByModel,
  isPlainTool,
  settingsFor,
  type ClientSettings,
  type ModelAnswer,
  type ModelText
} from './model-answer.ts'
import { titleOf, type ClientInfo } from './client-forms.ts'
import { isNeeded } from './needed-fields.ts'
import { toListedSchema, type JsonObjectSchema } from './listed-schema.ts'
import { schemaWithHashes } from './short-hashes.ts'
import { toolWords, type ToolWords } from './tool-words.ts'

export interface Tool {
  readonly name: string
  readonly title: string
  readonly description: string
  readonly inputSchema: JsonObjectSchema
  readonly outputSchema?: JsonObjectSchema
  readonly annotations: Operation['annotations']
  readonly _meta?: Readonly<Record<string, unknown>>
}

export interface ToolResult {
  // The SDK's result type is an open record.
  readonly [key: string]: unknown
  readonly content: { type: 'text'; text: string }[]
  readonly structuredContent?: Record<string, unknown>
  readonly isError?: true
}

/** @param client as it names itself */
export function toTool(
  operation: Operation,
  general: Config['mcp'],
  hasOutputSchema: boolean,
  client?: ClientInfo
): Tool {
  const { name, title, input, annotations } = operation
  const settings = settingsFor(general, client)
  const isPlain = isPlainTool(name, settings)
  const { defaults, ...words }: Partial<ToolWords> = toolWords[name] ?? {}
  // What MCP leaves out by default, it leaves out in its own form alone.
  const description = words.description ?? operation.description
  return {
    name,
    title,
    description: isPlain && name === 'async_list' ? `${description} ${linesHint}` : description,
    inputSchema: toListedSchema(input, { ...words, ...(isPlain && defaults !== undefined && { defaults }) }),
    // A tool that has one must answer with structured content, which a plain text replaces.
    ...(hasOutputSchema && !isPlain && { outputSchema: outputSchemaOf(operation, settings) }),
    annotations,
    ...(hasLongAnswers.has(name) && { _meta: { [resultSizeKey]: maxResultChars } })
  }
}

/** For Claude Code, and what it takes at most: it hides an answer beyond that, by default above 50,000 characters. No model is sent it. */
const resultSizeKey = 'anthropic/maxResultSizeChars'
const maxResultChars = 500_000
/** Tools whose answers grow with files, with their number, or with what others did. */
const hasLongAnswers: ReadonlySet<string> = new Set([
  'async_read',
  'async_update',
  'async_list',
  'async_status',
  'async_batch_read',
  'async_batch_write',
  'async_batch_update',
  'async_history',
  'async_transaction',
  'async_undo',
  'async_blame',
  'async_diff',
  'lock_status',
  'list_files',
  'read_file'
])

const linesHint = 'A line of JSON, then lines by folder.'

/** One plain object that every outcome satisfies. Only `status` is always there, if the envelope has one. */
function outputSchemaOf({ output, contends, envelope }: Operation, settings: ClientSettings): JsonObjectSchema {
  const outcomes: TObject[] = contends ? [output, Contention, envelope.schema] : [output, envelope.schema]
  const properties: Record<string, TSchema> = {}
  for (const outcome of outcomes) {
    for (const [name, schema] of Object.entries(outcome.properties)) properties[name] ??= schema
  }
  const statuses = outcomes.flatMap(({ properties: own }) => statusesOf(own['status']))
  if (statuses.includes(undefined)) return plain({ type: 'object', properties }, settings)
  const status = { type: 'string', enum: statuses, description: 'Outcome: which of the other properties are present.' }
  return plain({ type: 'object', properties: { ...properties, status }, required: ['status'] }, settings)
}

function statusesOf(status: object | undefined): readonly (string | undefined)[] {
  const { const: only, enum: several } = (status ?? {}) as { const?: string; enum?: readonly string[] }
  return several ?? [only]
}

/** JSON Schema without TypeBox's symbols, and without the demand for what is left out over MCP. */
function plain(schema: object, settings: ClientSettings): JsonObjectSchema {
  return JSON.parse(schemaWithHashes(JSON.stringify(schema), settings), (name, value: unknown) =>
    name === 'required' && settings.fields === 'needed' && Array.isArray(value) ? value.filter(isNeeded) : value
  ) as JsonObjectSchema
}

/** Outcomes that an agent acts on, contention included, are ordinary results. */
export interface ToolOutcome {
  readonly answer: ModelAnswer
  readonly isError: boolean
}

export async function runTool(
  call: CallOperation,
  general: Config['mcp'],
  { name, envelope }: Operation,
  input: unknown,
  about: Parameters<CallOperation>[2],
  client: ClientInfo | undefined
): Promise<ToolOutcome> {
  const settings = settingsFor(general, client)
  const outcome = (body: OperationResult, isError: boolean): ToolOutcome => ({
    answer: answerForModel(name, body, { settings, input, isError }),
    isError
  })
  try {
    const asked = askedByModel(name, input, { settings, input, isError: false })
    const caller = {
      maxAnswerChars: settings.answer_chars,
      takesLines: settings.listing === 'compact',
      hashDigits: settings.hashes === 'short' ? shortDigits : undefined,
      takesText: settings.text === 'plain',
      client: client && titleOf(client),
      ...about.caller
    }
    return outcome(await call(name, asked, { ...about, caller }), false)
  } catch (error) {
    return outcome(envelope.body(toOperationError(error), { operation: name, input }), true)
  }
}

export function toToolResult({ answer: { structured, text }, isError }: ToolOutcome): ToolResult {
  const error = isError && { isError: true as const }
  if (structured === undefined) return { content: [{ type: 'text', text: wholeText(text) }], ...error }
  // The SDK refuses a name that is no string.
  const { [contentText]: _, ...structuredContent } = structured
  const shown = text === undefined ? JSON.stringify(structuredContent) : wholeText(text)
  return { content: [{ type: 'text', text: shown }], structuredContent, ...error }
}

function wholeText({ head, content = '' }: ModelText): string {
  return head + content
}

/**
 * The JSON of the same result, for which the body is encoded once.
 * @param additions JSON of further members, from the comma before them
 */
export function encodeToolResult({ answer: { structured, text }, isError }: ToolOutcome, additions: string): Pieces {
  const end = `${isError ? ',"isError":true' : ''}${additions}}`
  const start = '{"content":[{"type":"text","text":'
  if (structured === undefined) return [start, ...encodeText(text), '}]', end]
  if (text !== undefined)
    return [start, ...encodeText(text), '}],"structuredContent":', ...encodeResult(structured), end]
  const { json, asString } = encodeTwice(structured)
  return [start, ...asString, '}],"structuredContent":', ...json, end]
}

function encodeText({ head, content = '', known }: ModelText): Pieces {
  return [JSON.stringify(head).slice(0, -1), known?.json.subarray(1) ?? JSON.stringify(content).slice(1)]
}
