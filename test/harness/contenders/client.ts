// One contender's way to the server: REST, or the real MCP client of either era, loaded only where it is used.
import type { Answer, TransportName } from '../../fixtures/clients.ts'

export interface ContenderClient {
  call(operation: string, input: object): Promise<Answer>
}

/** Longer than any call may take; the check of the history is stricter. */
const clientTimeoutMs = 60_000

/** @param agentId undefined where the calls themselves name it */
export async function connectContender(
  transport: TransportName,
  url: string,
  agentId: string | undefined
): Promise<ContenderClient> {
  const headers: Record<string, string> = agentId === undefined ? {} : { 'x-agent-id': agentId }
  if (transport === 'rest') return restClient(url, headers)
  return transport === 'mcp-2026' ? modernClient(url, headers) : legacyClient(url, headers)
}

function restClient(url: string, headers: Record<string, string>): ContenderClient {
  return {
    async call(operation, input) {
      const response = await fetch(`${url}/${operation}`, {
        method: 'POST',
        headers: { 'content-type': 'application/json', ...headers },
        body: JSON.stringify(input)
      })
      return (await response.json()) as Answer
    }
  }
}

async function modernClient(url: string, headers: Record<string, string>): Promise<ContenderClient> {
  const { Client, StreamableHTTPClientTransport } = await import('@modelcontextprotocol/client')
  const sdk = new Client({ name: 'contender-2026', version: '1' }, { versionNegotiation: { mode: 'auto' } })
  await sdk.connect(new StreamableHTTPClientTransport(new URL(`${url}/mcp`), { requestInit: { headers } }))
  return {
    async call(name, input) {
      const result = await sdk.callTool({ name, arguments: { ...input } }, { timeout: clientTimeoutMs })
      return result.structuredContent as Answer
    }
  }
}

async function legacyClient(url: string, headers: Record<string, string>): Promise<ContenderClient> {
  const { Client } = await import('@modelcontextprotocol/sdk/client/index.js')
  const { StreamableHTTPClientTransport } = await import('@modelcontextprotocol/sdk/client/streamableHttp.js')
  const sdk = new Client({ name: 'contender-2025', version: '1' })
  await sdk.connect(new StreamableHTTPClientTransport(new URL(`${url}/mcp`), { requestInit: { headers } }))
  return {
    async call(name, input) {
      const params = { name, arguments: { ...input } }
      const result = await sdk.callTool(params, undefined, { timeout: clientTimeoutMs })
      return result.structuredContent as Answer
    }
  }
}
