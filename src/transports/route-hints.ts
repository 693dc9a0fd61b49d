// What to say of an address that has no route: what the client may have meant, and where it is.
import { OperationError } from '../errors.ts'
import { operations } from '../operations/index.ts'
import { suggest } from '../support/suggest.ts'

const operationPaths = operations.map(({ name }) => `/${name}`)

/** Addresses that clients try by the habits of other servers. */
const usualMistakes: readonly (readonly [RegExp, string])[] = [
  [
    /^\/(?:sse|messages?)\/?$/,
    'MCP is served over streamable HTTP at /mcp, not over SSE: set the type to "http" and the address to <this server>/mcp.'
  ],
  [/^\/(?:mcp\/.*|v1\/mcp|api\/mcp|mcp\/?)$/i, 'MCP is served at /mcp.'],
  [
    /^\/$/,
    'MCP is served at /mcp, each operation at POST /<name>. GET /docs shows what there is, GET /openapi.json the same for programs, GET /board what happens.'
  ],
  [
    /^\/(?:rpc|jsonrpc|json-rpc)\/?$/,
    'JSON-RPC is served on standard input and output (--stdio); over HTTP each operation is POST /<name>, and MCP is at /mcp.'
  ],
  [
    /^\/(?:swagger|api-docs|redoc|api)\/?$/,
    'The operations are shown at /docs, and described for programs at /openapi.json.'
  ],
  [
    /^\/(?:\.well-known\/(?:oauth-.*|openid-configuration.*)|register|authorize|token)$/,
    'This server has no OAuth: send its token as Authorization: Bearer <token>, if it has one.'
  ],
  [/^\/(?:healthz|livez|readyz|ping)\/?$/, 'GET /health says whether this server serves its tree.'],
  [/^\/hooks(?:\/.*)?$/, 'Hooks are taken at POST /hooks/claude-code, codex, gemini, cursor, opencode and run.']
]

/** No route, and no file: says what there is. */
export function notFound(method: string, path: string): OperationError {
  const [right] = hintAt(path)
  if (right !== undefined)
    return new OperationError('ROUTE_NOT_FOUND', `Nothing answers ${method} ${path.slice(0, 200)}. ${right}`)
  const hint = suggest(path, operationPaths).replace('; known:', '; known by POST:')
  const end = hint.endsWith('?') ? '' : '.'
  const message = `Nothing answers ${method} ${path.slice(0, 200)}${hint}${end} GET /docs shows what there is, GET /openapi.json the same for programs, GET /board what happens.`
  return new OperationError('ROUTE_NOT_FOUND', message)
}

/** A route that answers other methods. */
export function otherMethod(method: string, path: string, allowed: readonly string[]): OperationError {
  const message = [`${path} answers ${allowed.join(', ')}, not ${method}.`, ...hintAt(path)].join(' ')
  return new OperationError('METHOD_NOT_ALLOWED', message)
}

/** None, or one. */
function hintAt(path: string): readonly string[] {
  const found = usualMistakes.find(([form]) => form.test(path))
  return found === undefined ? [] : [found[1]]
}
