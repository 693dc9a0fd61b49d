// An MCP server over the operations: lists them as tools, calls them with the caller's identity, signal and progress.
import { ProtocolError, Server, type ServerContext } from '@modelcontextprotocol/server'
import { OperationError } from '../../errors.ts'
import type { Config } from '../../config/config.ts'
import type { CallOperation } from '../../engine/call/context.ts'
import type { Operation } from '../../operations/definition/define.ts'
import { agentOperations } from '../../operations/index.ts'
import { suggest } from '../../support/suggest.ts'
import { callOf, type CallDefaults } from './caller.ts'
import { instructionsFor } from './instructions.ts'
import { clientIn, type ClientInfo } from './client-forms.ts'
import { callHookTool, hookTool, type AnswerHook } from './hook-tool.ts'
import { listResources, readResource, resourceTemplates, toProtocolError, type ListFiles } from './resources.ts'
import type { ResourceUpdates } from './resource-updates.ts'
import { withHashes } from './short-hashes.ts'
import { createSubscriptions } from './subscriptions.ts'
import { runTool, toTool, toToolResult, type Tool } from './tools.ts'
import { beginningOf } from '../../support/cut-text.ts'

/** What a client learns of the server at first. */
export interface ServerFacts {
  /** Those that are listed, and that can be called. */
  readonly operations: readonly Operation[]
  /** They choose the form of answers, and name the tools for an address that names none. */
  readonly settings: Config['mcp']
  readonly version: string
}

export interface McpServerOptions extends ServerFacts, CallDefaults {
  readonly call: CallOperation
  readonly listFiles: ListFiles
  readonly updates: ResourceUpdates
  /** Files that one session, connection or stream can be subscribed to. */
  readonly maxResources: number
  /** Default: the call of the operation. */
  readonly answerHook?: AnswerHook | undefined
}

/** What a server for one client can know of that client. */
export interface ClientLink {
  /** Called with a request that the client has cancelled: the SDK sends no answer to it. */
  readonly onCancelled?: (requestId: string | number) => void
  /** True while the client has not read what it was sent. Default: never. */
  readonly isBehind?: () => boolean
  /** True while no connection could carry a notice to the client. Default: never. */
  readonly isAway?: () => boolean
  /** Gets the function to call when there is one again. */
  readonly onRenewal?: (renew: () => void) => void
}

/** Answers the first message of a client, and nothing else. */
export function createBareServer(facts: ServerFacts): Server {
  return new Server(
    { name: 'async-crud-mcp', title: 'Async CRUD', version: facts.version },
    { capabilities: { tools: {}, resources: { subscribe: true } }, instructions: listingOf(facts).instructions }
  )
}

export function createMcpServer(options: McpServerOptions, link: ClientLink = {}): Server {
  const { onCancelled } = link
  const server = createBareServer(options)
  server.setRequestHandler('tools/list', (_request, { mcpReq }) => {
    const { tools, withOutputs } = listingOf(options)
    const hasOutputs = options.settings.output_schemas || mcpReq._meta?.[outputSchemasKey] === true
    return { tools: hasOutputs ? withOutputs(clientOf(server, mcpReq._meta)) : tools }
  })
  server.setRequestHandler('tools/call', async ({ params }, context) => {
    const { signal } = context.mcpReq
    if (onCancelled !== undefined)
      signal.addEventListener('abort', () => onCancelled(context.mcpReq.id), { once: true })
    return callTool(options, params.name, params.arguments, context, clientOf(server, context.mcpReq._meta))
  })
  serveResources(server, options)
  serveSubscriptions(server, options, link)
  return server
}

function serveResources(server: Server, options: McpServerOptions): void {
  server.setRequestHandler('resources/templates/list', () => ({ resourceTemplates }))
  server.setRequestHandler('resources/list', async ({ params }) =>
    orProtocolError(listResources(options.listFiles, params?.cursor), options)
  )
  server.setRequestHandler('resources/read', async ({ params: { uri } }, context) => {
    const read = (path: string) => options.call('async_read', { path }, callOf(options, context))
    return orProtocolError(readResource(uri, read), options, uri)
  })
}

/** For the 2025 era; later clients listen, which the SDK serves. */
function serveSubscriptions(server: Server, options: McpServerOptions, link: ClientLink): void {
  const { isBehind = () => false, isAway = () => false, onRenewal } = link
  const { updates, maxResources } = options
  const subscriptions = createSubscriptions({
    updates,
    maxResources,
    isBehind,
    isAway,
    // The end of its session shows that a client has gone.
    send: (uri) => void server.sendResourceUpdated({ uri }).catch(() => {})
  })
  onRenewal?.(subscriptions.renew)
  server.setRequestHandler('resources/subscribe', async ({ params: { uri } }) => {
    await orProtocolError(subscriptions.subscribe([uri]), options, uri)
    return {}
  })
  server.setRequestHandler('resources/unsubscribe', ({ params: { uri } }) => {
    subscriptions.remove(uri)
    return {}
  })
  server.onclose = subscriptions.close
}

async function orProtocolError<Result>(
  answer: Promise<Result>,
  { settings }: McpServerOptions,
  uri?: string
): Promise<Result> {
  try {
    return withHashes(await answer, settings)
  } catch (error) {
    const { code, message, data } = toProtocolError(error, uri)
    throw new ProtocolError(code, message, withHashes(data, settings))
  }
}

/** As the client names itself, in the handshake or with the request. */
function clientOf(server: Server, meta: Readonly<Record<string, unknown>> | undefined): ClientInfo | undefined {
  return clientInfoOf(server) ?? clientIn(meta)
}

export function clientInfoOf(server: Server): ClientInfo | undefined {
  // oxlint-disable-next-line typescript/no-deprecated -- the only way to what a client of the 2025 era has said
  return server.getClientVersion()
}

async function callTool(
  options: McpServerOptions,
  name: string,
  input: unknown,
  context: ServerContext,
  client: ClientInfo | undefined
) {
  const { call, settings, operations } = options
  if (name === hookTool) return callHookTool(options, input, callOf(options, context))
  const operation = operations.find((known) => known.name === name)
  // An error of the request, not of a tool: each revision of MCP asks for a protocol error, which clients need not show their model.
  if (operation === undefined) throw toProtocolError(unknownTool(name, operations))
  return toToolResult(await runTool(call, settings, operation, input, callOf(options, context), client))
}

/** With this in the `_meta` of tools/list, a client asks for the schemas of the answers. */
const outputSchemasKey = 'async-crud-mcp/output_schemas'

interface Listing {
  readonly tools: Tool[]
  readonly withOutputs: (client: ClientInfo | undefined) => Tool[]
  readonly instructions: string
}

const listings = new WeakMap<readonly Operation[], Listing>()

/** What a client is told of the tools, made once for each choice of them: the modern era makes a server per request. */
function listingOf({ operations, settings }: ServerFacts): Listing {
  const known = listings.get(operations)
  if (known !== undefined) return known
  const listing = {
    tools: operations.map((operation) => toTool(operation, settings, false)),
    withOutputs: (client: ClientInfo | undefined) =>
      operations.map((operation) => toTool(operation, settings, true, client)),
    instructions: instructionsFor(new Set(operations.map(({ name }) => name)))
  }
  listings.set(operations, listing)
  return listing
}

/** Of a name in a message. */
const maxNameLength = 100

function unknownTool(name: string, operations: readonly Operation[]): OperationError {
  const shown = beginningOf(name, maxNameLength).toWellFormed()
  if (agentOperations.some((operation) => operation.name === name)) {
    const message = `${name} is not among the tools that this server offers over MCP. To get it, add it to the setting mcp.tools or to tools in the address (/mcp?tools=...), or start the server with it in --tools; over REST and JSON-RPC it can be called as it is.`
    return new OperationError('INVALID_REQUEST', message)
  }
  const known = operations.map((operation) => operation.name)
  return new OperationError('INVALID_REQUEST', `Unknown tool: ${shown}${suggest(shown, known)}`)
}
