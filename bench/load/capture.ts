// Learns what the real MCP clients send, by standing between them and the server for one session.
import { createServer, request as forward, type IncomingMessage, type ServerResponse } from 'node:http'
import { once } from 'node:events'
import type { AddressInfo } from 'node:net'
import { connectLegacy, connectModern } from '../../test/fixtures/clients.ts'

/** A request as it was on the wire. */
export interface Captured {
  /** Without those that every request has of its own: Host, Content-Length, session. */
  readonly headers: readonly (readonly [name: string, value: string])[]
  readonly body: Record<string, unknown>
}

export interface CapturedClient {
  /** By tool. */
  readonly calls: ReadonlyMap<string, Captured>
  /** What a 2025-era client sends first. */
  readonly initialize: Captured | undefined
  readonly initialized: Captured | undefined
}

const ownHeaders = new Set(['host', 'content-length', 'transfer-encoding', 'mcp-session-id'])

/** Lets an SDK client make one call of each tool, with these arguments, against the server at `url`. */
export async function capture(
  era: 'mcp-2026' | 'mcp-2025',
  url: string,
  calls: Readonly<Record<string, Record<string, unknown>>>
): Promise<CapturedClient> {
  const seen: Captured[] = []
  const relay = async (request: IncomingMessage, response: ServerResponse) => {
    const body = await takeBody(request)
    if (body.length > 0)
      seen.push({ headers: headersOf(request), body: JSON.parse(body.toString()) as Captured['body'] })
    const headers = { ...request.headers, host: new URL(url).host }
    const onward = forward(`${url}${request.url}`, { method: request.method, headers }, (answer) => {
      response.writeHead(answer.statusCode ?? 502, answer.headers)
      answer.pipe(response)
    })
    onward.once('error', () => response.destroy())
    response.once('close', () => onward.destroy())
    onward.end(body)
  }
  // A request that breaks off takes its own connection down, which its client sees.
  const proxy = createServer((request, response) => void relay(request, response).catch(() => response.destroy()))
  proxy.listen(0, '127.0.0.1')
  await once(proxy, 'listening')
  const proxyUrl = `http://127.0.0.1:${(proxy.address() as AddressInfo).port}`
  try {
    const client = await (era === 'mcp-2026' ? connectModern(proxyUrl) : connectLegacy(proxyUrl))
    for (const [name, input] of Object.entries(calls)) await client.callTool({ name, arguments: input })
    await client.close()
  } finally {
    proxy.close()
    proxy.closeAllConnections()
  }
  const byMethod = (method: string) => seen.filter(({ body }) => body['method'] === method)
  return {
    calls: new Map(byMethod('tools/call').map((call) => [(call.body['params'] as { name: string }).name, call])),
    initialize: byMethod('initialize')[0],
    initialized: byMethod('notifications/initialized')[0]
  }
}

async function takeBody(request: IncomingMessage): Promise<Buffer> {
  const parts: Buffer[] = []
  for await (const part of request) parts.push(part as Buffer)
  return Buffer.concat(parts)
}

function headersOf({ rawHeaders }: IncomingMessage): [string, string][] {
  return rawHeaders.flatMap((name, index): [string, string][] =>
    index % 2 === 0 && !ownHeaders.has(name.toLowerCase()) ? [[name, rawHeaders[index + 1] ?? '']] : []
  )
}
