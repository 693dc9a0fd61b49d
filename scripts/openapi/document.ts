// The OpenAPI 3.1 document, derived from the operations and from calls that were recorded.
import { Activity } from '../../schemas/activity.ts'
import { AgentId, RequestId } from '../../schemas/common.ts'
import { Health } from '../../schemas/health.ts'
import { LockList } from '../../schemas/lock-list.ts'
import { routes } from '../../schemas/routes.ts'
import type { TSchema } from '../../schemas/typebox.ts'
import type { Operation } from '../../src/operations/definition/define.ts'
import { envelopes } from '../../src/operations/definition/envelopes.ts'
import { createComponents, type JsonObject } from './components.ts'
import { describeEvents } from './events.ts'
import { describeFiles } from './file-routes.ts'
import { createExamples, type RecordedCall } from './examples.ts'
import { describeQuery } from './query.ts'
import { describeRefusals, describeResponses, jsonContent, toPascalCase, type Workshop } from './responses.ts'

interface Sources {
  readonly operations: readonly Operation[]
  /** Of the server. */
  readonly version: string
  /** Real calls; they become the examples. */
  readonly calls: readonly RecordedCall[]
}

export function createOpenApi({ operations, version, calls }: Sources): JsonObject {
  const components = createComponents()
  const workshop = { components, examples: createExamples(calls, operations) }
  const paths: JsonObject = {
    '/health': { get: describeHealth(workshop) },
    '/locks': { get: describeReading('/locks', LockList, 'locks', lockList, workshop) },
    '/events': { get: describeEvents(workshop) },
    '/activity': { get: describeReading('/activity', Activity, 'activity', activity, workshop) },
    '/metrics': { get: describeMetrics(workshop) },
    '/board': { get: describePage('/board', board, workshop) },
    '/docs': { get: describePage('/docs', docs, workshop) },
    '/files/{path}': describeFiles(workshop)
  }
  for (const [path, item] of Object.entries(paths as Record<string, { get: DescribedGet }>))
    if (path !== '/events') paths[path] = { ...item, head: describeHead(item.get) }
  for (const operation of operations) paths[`/${operation.name}`] = { post: describeOperation(operation, workshop) }
  const agentId = describeAgentId(workshop)
  return {
    openapi: '3.1.0',
    info: describeService(version),
    servers: [
      {
        url: 'http://127.0.0.1:{port}',
        description: 'This machine.',
        variables: { port: { default: '8720', description: 'The server names it when it starts.' } }
      }
    ],
    tags: [
      { name: 'files', description: 'Files by their paths, each change for the version it was made for.' },
      {
        name: 'locks',
        description:
          'Leases: files that an agent reserves beyond one call. While it holds one, the changes of others wait.'
      },
      { name: 'folder', description: 'The files of one flat folder, the first root, by their names and lines.' },
      { name: 'server', description: 'The process itself.' }
    ],
    // A server that was started without a token asks for none.
    security: [{}, { token: [] }],
    paths,
    components: {
      ...components.toJson(),
      parameters: { AgentId: agentId, IdempotencyKey: describeIdempotencyKey(workshop) },
      securitySchemes: {
        token: { type: 'http', scheme: 'bearer', description: 'Only if the server was started with a token.' }
      }
    }
  }
}

interface DescribedGet extends JsonObject {
  readonly operationId: string
  readonly summary: string
  readonly responses: Readonly<Record<string, JsonObject>>
}

/** What GET answers, without its bodies. */
function describeHead({ operationId, summary, responses, ...get }: DescribedGet): JsonObject {
  const bare = Object.entries(responses).map(([status, response]) => [
    status,
    Object.fromEntries(Object.entries(response).filter(([name]) => name !== 'content'))
  ])
  return {
    operationId: `${operationId}_headers`,
    summary: `${summary}: the headers alone`,
    ...get,
    responses: Object.fromEntries(bare) as JsonObject
  }
}

function describeService(version: string): JsonObject {
  return {
    title: 'async-crud-mcp',
    version,
    summary: 'Many agents change the files of one working tree at the same time, and no update is lost.',
    description: [
      'Every operation is `POST /<name>` with a JSON body.',
      '',
      'The operations on **files** and **locks** answer with a `status`: `ok`, `contention` (HTTP 409: the file has changed, and the answer says how) or `error`.',
      'Those on the **folder** answer with the bare result, or with `{ "error": { "code", "message", "data" } }`.',
      '',
      'The examples are one session of two agents, ann and bob, as a server really answered it.',
      'What differs each time, such as times and tickets, has one value in them.'
    ].join('\n'),
    license: { name: 'MIT', identifier: 'MIT' }
  }
}

function describeOperation(operation: Operation, workshop: Workshop): JsonObject {
  const { name, title, description, input } = operation
  const schema = workshop.components.schema({ ...input, title: `${toPascalCase(name)}Input` })
  return {
    operationId: name,
    summary: title,
    description,
    tags: [tagOf(operation)],
    parameters: [
      { $ref: '#/components/parameters/AgentId' },
      ...('request_id' in input.properties ? [{ $ref: '#/components/parameters/IdempotencyKey' }] : [])
    ],
    requestBody: { required: true, content: jsonContent(schema, workshop.examples.requests(name)) },
    responses: describeResponses(operation, workshop)
  }
}

function tagOf({ name, envelope }: Operation): string {
  if (envelope === envelopes.bare) return 'folder'
  if (name === 'get_server_info') return 'server'
  return name.startsWith('lock_') ? 'locks' : 'files'
}

function describeAgentId({ components }: Workshop): JsonObject {
  return {
    name: 'X-Agent-Id',
    in: 'header',
    required: false,
    description: 'Your name; agent_id in the body comes first, if the operation takes one.',
    schema: components.schema(AgentId)
  }
}

function describeIdempotencyKey({ components }: Workshop): JsonObject {
  return {
    name: 'Idempotency-Key',
    in: 'header',
    required: false,
    description: 'The same as request_id in the body. If both are there, they must be the same.',
    schema: components.schema(RequestId)
  }
}

/** Refusals of routes that need the token, and those of pages, which ask for it themselves. */
const guarded = ['UNAUTHORIZED', 'FORBIDDEN_ORIGIN', 'METHOD_NOT_ALLOWED'] as const
const open = ['FORBIDDEN_ORIGIN', 'METHOD_NOT_ALLOWED'] as const

interface Route {
  readonly operationId: string
  readonly summary: string
  readonly description: string
  readonly tags: string[]
}

function describeHealth(workshop: Workshop): JsonObject {
  const { components, examples } = workshop
  const route: Route = {
    operationId: 'health',
    summary: 'Health of the server',
    description: 'For service managers and monitors; touches no file.',
    tags: ['server']
  }
  const content = jsonContent(components.schema(Health), examples.answers('health', 200))
  const answer = { description: 'The process answers.', content }
  return { ...route, responses: { '200': answer, ...describeRefusals(guarded, workshop) } }
}

/** A reading route with parameters. @param name under which its calls were recorded */
function describeReading(
  path: '/locks' | '/activity',
  output: TSchema,
  name: string,
  route: Route,
  workshop: Workshop
) {
  const { components, examples } = workshop
  const content = jsonContent(components.schema(output), examples.answers(name, 200))
  return {
    ...route,
    parameters: describeQuery(routes[path].querystring, workshop),
    responses: {
      '200': { description: output.description ?? '', content },
      ...describeRefusals(['INVALID_REQUEST', ...guarded], workshop)
    }
  }
}

const lockList: Route = {
  operationId: 'list_locks',
  summary: 'Show holders and waiters',
  description: 'For people and dashboards: every file that is held or waited for, with leases and running operations.',
  tags: ['locks']
}

const activity: Route = {
  operationId: 'list_activity',
  summary: 'Show who was there, and where agents met',
  description:
    'For people and dashboards: agents with their last call, files with contentions, merges and waits, and refused circles. Kept in memory, of this run of the server.',
  tags: ['locks']
}

/** A page for a browser, which needs no token. */
function describePage(path: '/board' | '/docs', route: Route, workshop: Workshop): JsonObject {
  const { schema } = routes[path].response[200].content['text/html']
  const examples: JsonObject = { page: { summary: 'How it begins.', value: '<!doctype html>\n<html lang="en">' } }
  const content = { 'text/html': { schema: workshop.components.schema(schema), examples } }
  return {
    ...route,
    security: [{}],
    responses: { '200': { description: 'The page.', content }, ...describeRefusals(open, workshop) }
  }
}

const board: Route = {
  operationId: 'board',
  summary: 'The tree as a live page',
  description:
    'For a browser: agents, files in use, changes, and where it burns. No token is needed for the page, which asks for it before it shows anything. A browser is led here from `/`.',
  tags: ['server']
}

const docs: Route = {
  operationId: 'docs',
  summary: 'This document as a page',
  description: 'For a browser: every operation can be tried out. No token is needed to see it.',
  tags: ['server']
}

function describeMetrics(workshop: Workshop): JsonObject {
  const { content } = routes['/metrics'].response[200]
  const line = (value: string) => ({ calls: { summary: 'Two lines of it.', value } })
  const help = '# TYPE async_crud_calls'
  const sample = 'async_crud_calls_total{operation="async_read",transport="rest",result="ok"} 7'
  const media = (type: keyof typeof content, examples: JsonObject) => ({
    schema: workshop.components.schema(content[type].schema),
    examples
  })
  return {
    operationId: 'metrics',
    summary: 'Metrics for Prometheus',
    description: 'Of this process since its start, without names of files or agents; OpenMetrics by `Accept`.',
    tags: ['server'],
    responses: {
      '200': {
        description: 'The samples.',
        content: {
          'text/plain': media('text/plain', line(`${help}_total counter\n${sample}`)),
          'application/openmetrics-text': media('application/openmetrics-text', line(`${help} counter\n${sample}`))
        }
      },
      ...describeRefusals(guarded, workshop)
    }
  }
}
