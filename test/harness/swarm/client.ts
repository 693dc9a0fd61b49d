// One client of the swarm: a real MCP client of either era, or REST; with the size of what it received.
import { errorTable, type ErrorCode } from '../../../schemas/errors.ts'
import { connectLegacy, connectModern, type Answer, type TransportName } from '../../fixtures/clients.ts'

export interface Received {
  readonly answer: Answer
  /** HTTP status; over MCP the one that the error code stands for. */
  readonly httpStatus: number
  readonly bytes: number
}

export interface SwarmClient {
  call(name: string, input: Record<string, unknown>): Promise<Received>
  /** Bytes that an answer takes over this transport. */
  sizeOf(answer: Answer): number
  close(): Promise<void>
}

export async function connectClient(transport: TransportName, url: string, agentId: string): Promise<SwarmClient> {
  if (transport === 'rest') return restClient(url, agentId)
  const sdk = transport === 'mcp-2026' ? await modern(url, agentId) : await legacy(url, agentId)
  return {
    async call(name, input) {
      const result = await sdk.callTool(name, input)
      const answer = result['structuredContent'] as Answer
      return { answer, httpStatus: statusOf(answer), bytes: lengthOf(result) }
    },
    sizeOf: (answer) =>
      lengthOf({ content: [{ type: 'text', text: JSON.stringify(answer) }], structuredContent: answer }),
    close: () => sdk.close()
  }
}

function restClient(url: string, agentId: string): SwarmClient {
  return {
    async call(name, input) {
      const response = await fetch(`${url}/${name}`, {
        method: 'POST',
        headers: { 'content-type': 'application/json', 'x-agent-id': agentId },
        body: JSON.stringify(input)
      })
      const text = await response.text()
      return { answer: JSON.parse(text) as Answer, httpStatus: response.status, bytes: Buffer.byteLength(text) }
    },
    sizeOf: lengthOf,
    close: async () => {}
  }
}

type ToolCaller = {
  callTool(name: string, input: Record<string, unknown>): Promise<Record<string, unknown>>
  close(): Promise<void>
}

async function modern(url: string, agentId: string): Promise<ToolCaller> {
  const client = await connectModern(url, agentId)
  return { callTool: (name, input) => client.callTool({ name, arguments: input }), close: () => client.close() }
}

async function legacy(url: string, agentId: string): Promise<ToolCaller> {
  const client = await connectLegacy(url, agentId)
  return { callTool: (name, input) => client.callTool({ name, arguments: input }), close: () => client.close() }
}

function statusOf({ status, error_code }: Answer): number {
  if (status === 'error') return errorTable[error_code as ErrorCode].httpStatus
  return status === 'contention' ? 409 : 200
}

function lengthOf(value: unknown): number {
  return Buffer.byteLength(JSON.stringify(value))
}
