// The OpenAPI 3.1 document, derived from the operations: schemas with a title become named components.
import { Contention } from '../../schemas/contention.ts'
import { errorTable, type ErrorCode } from '../../schemas/errors.ts'
import { commonErrors, type Operation } from './define.ts'

type Json = null | boolean | number | string | Json[] | { [key: string]: Json }
type JsonObject = { [key: string]: Json }

/** Codes that the door answers with before an operation is reached. */
const doorErrors: readonly ErrorCode[] = [
  'UNAUTHORIZED',
  'FORBIDDEN_ORIGIN',
  'METHOD_NOT_ALLOWED',
  'UNSUPPORTED_MEDIA_TYPE',
  'FILE_TOO_LARGE'
]

export function createOpenApi(operations: readonly Operation[], version: string): JsonObject {
  const components: JsonObject = {}
  const paths: JsonObject = { '/health': healthPath() }
  for (const operation of operations) paths[`/${operation.name}`] = { post: describeOperation(operation, components) }
  return {
    openapi: '3.1.0',
    info: {
      title: 'async-crud-mcp',
      version,
      summary: 'Many agents change the files of one working tree at the same time, and no update is lost.',
      description:
        'Every operation is POST /<name> with a JSON body. Answers have a status: ok, contention (409) or error.',
      license: { name: 'MIT', identifier: 'MIT' }
    },
    servers: [{ url: 'http://127.0.0.1:8720', description: 'The default address.' }],
    tags: [
      { name: 'files', description: 'Operations on files.' },
      { name: 'server', description: 'The process itself.' }
    ],
    security: [{}, { token: [] }],
    paths,
    components: {
      schemas: Object.fromEntries(Object.entries(components).sort(([a], [b]) => (a < b ? -1 : 1))),
      securitySchemes: {
        token: { type: 'http', scheme: 'bearer', description: 'Only where the server was started with a token.' }
      }
    }
  }
}

function describeOperation(operation: Operation, components: JsonObject): JsonObject {
  const { name, title, description, input, output } = operation
  return {
    operationId: name,
    summary: title,
    description,
    tags: ['files'],
    parameters: [
      {
        name: 'X-Agent-Id',
        in: 'header',
        required: false,
        description: 'Who is calling; agent_id in the body comes first.',
        schema: { type: 'string' }
      }
    ],
    requestBody: {
      required: true,
      content: jsonContent(hoist({ ...toJson(input), title: pascalCase(name) }, components))
    },
    responses: {
      '200': { description: 'Done.', content: jsonContent(hoist(toJson(output), components)) },
      ...errorResponses(operation, components)
    }
  }
}

/** One response for each status: 409 may be contention as well as an error. */
function errorResponses({ errors, contends, envelope }: Operation, components: JsonObject): JsonObject {
  const codes = [...new Set<ErrorCode>([...errors, ...commonErrors, ...doorErrors])]
  const statusOf = (code: ErrorCode) => envelope.httpStatus(code)
  const statuses = [...new Set([...codes.map(statusOf), ...(contends ? [409] : [])])].sort((a, b) => a - b)
  const failure = hoist(toJson(envelope.schema), components)
  return Object.fromEntries(
    statuses.map((status) => {
      const own = codes.filter((code) => statusOf(code) === status)
      const lines = own.map((code) => `${code}: ${errorTable[code].meaning}`)
      if (status !== 409 || !contends)
        return [String(status), { description: lines.join(' '), content: jsonContent(failure) }]
      const contention = hoist(toJson(Contention), components)
      const schema: JsonObject = own.length === 0 ? contention : { oneOf: [contention, failure] }
      return [
        '409',
        {
          description: ['Contention: the file has changed; the diff says how.', ...lines].join(' '),
          content: jsonContent(schema)
        }
      ]
    })
  )
}

function healthPath(): JsonObject {
  const schema = {
    type: 'object',
    required: ['status', 'version', 'uptime_seconds', 'port_listening'],
    properties: {
      status: { type: 'string', description: '"healthy".' },
      version: { type: 'string', description: 'Of the server.' },
      uptime_seconds: { type: 'number', description: 'Since its start.' },
      port_listening: { type: 'boolean', description: 'Always true in an answer that reaches you.' },
      event_loop_delay_ms: {
        type: 'object',
        description: 'How late the event loop is.',
        additionalProperties: { type: 'number' }
      },
      memory_bytes: { type: 'integer', description: 'Resident memory.' },
      mcp_sessions: { type: 'integer', description: 'Sessions of 2025-era MCP clients.' }
    }
  }
  return {
    get: {
      operationId: 'health',
      summary: 'Is the server well?',
      description: 'For service managers and monitors; touches no file.',
      tags: ['server'],
      responses: {
        '200': { description: 'It is.', content: jsonContent(schema) },
        '403': { description: 'Host or Origin not allowed.' }
      }
    }
  }
}

function jsonContent(schema: Json): JsonObject {
  return { 'application/json': { schema } }
}

function toJson(schema: object): JsonObject {
  return JSON.parse(JSON.stringify(schema)) as JsonObject
}

/** Moves every schema that has a title to the components and leaves a reference. */
function hoist(schema: JsonObject, components: JsonObject): JsonObject {
  const inner = Object.fromEntries(Object.entries(schema).map(([key, value]) => [key, hoistValue(value, components)]))
  const { title } = inner
  if (typeof title !== 'string') return inner
  components[title] = inner
  return { $ref: `#/components/schemas/${title}` }
}

function hoistValue(value: Json, components: JsonObject): Json {
  if (Array.isArray(value)) return value.map((item) => hoistValue(item, components))
  return typeof value === 'object' && value !== null ? hoist(value, components) : value
}

function pascalCase(name: string): string {
  return `${name.replace(/(^|_)([a-z])/g, (_match, _separator, letter: string) => letter.toUpperCase())}Input`
}
