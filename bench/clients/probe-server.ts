// An MCP server over stdio whose answers say in which part they are, so that one sees which part of them reaches a model.
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'

export const probePath = fileURLToPath(import.meta.url)

export const marks = { text: 'text-mark "quoted"\n\tindented', second: 'second-mark', structured: 'structured-mark' }

const structuredContent = { mark: marks.structured }
const text = { type: 'text', text: marks.text }

/** Answers by the names of the tools that give them. */
export const probes: Readonly<Record<string, object>> = {
  both_equal: { content: [{ type: 'text', text: JSON.stringify(structuredContent) }], structuredContent },
  both_differing: { content: [text], structuredContent },
  both_with_schema: { content: [text], structuredContent },
  text_only: { content: [text] },
  structured_only: { content: [], structuredContent },
  two_texts: { content: [text, { type: 'text', text: marks.second }] },
  two_texts_and_structured: { content: [text, { type: 'text', text: marks.second }], structuredContent },
  error_with_both: { content: [text], structuredContent, isError: true },
  error_with_text: { content: [text], isError: true }
}

/** Says who asks, as the client has named itself. */
const who = 'who_asks'

const outputSchema = { type: 'object', properties: { mark: { type: 'string' } }, required: ['mark'] }

function serve(): void {
  let client: unknown
  const tools = [who, ...Object.keys(probes)].map((name) => ({
    name,
    description: `Answers ${name}.`,
    inputSchema: { type: 'object', properties: {} },
    ...(name === 'both_with_schema' && { outputSchema })
  }))
  const answers: Readonly<Record<string, (params: Params) => object>> = {
    initialize: ({ protocolVersion, clientInfo }) => {
      client = { clientInfo, protocolVersion }
      return { protocolVersion, capabilities: { tools: {} }, serverInfo: { name: 'probe', version: '1' } }
    },
    'tools/list': () => ({ tools }),
    'tools/call': ({ name = '' }) =>
      name === who ? { content: [{ type: 'text', text: JSON.stringify(client) }] } : (probes[name] ?? {}),
    ping: () => ({})
  }
  createInterface({ input: process.stdin }).on('line', (line) => {
    const { id, method, params = {} } = JSON.parse(line) as { id?: unknown; method: string; params?: Params }
    if (id === undefined) return
    const result = answers[method]?.(params)
    const answer = result === undefined ? { error: { code: -32601, message: `no ${method}` } } : { result }
    process.stdout.write(`${JSON.stringify({ jsonrpc: '2.0', id, ...answer })}\n`)
  })
}

interface Params {
  readonly name?: string
  readonly protocolVersion?: string
  readonly clientInfo?: object
}

if (process.argv[1] === probePath) serve()
