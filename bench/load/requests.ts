// Frames the calls of one connection as raw HTTP requests, as curl (REST) or the SDK's clients (MCP) would send them.
import type { TransportName } from '../../test/fixtures/clients.ts'
import type { Captured, CapturedClient } from './capture.ts'
import type { RawConnection } from './raw-connection.ts'

/** The bytes of a request that carries this body. */
export type Frame = (url: string, body: Buffer) => Buffer

export interface Framing {
  /** Path of the URL to call a tool at. */
  readonly path: string
  readonly frame: Frame
  /** The body of a call. */
  readonly bodyOf: (input: Record<string, unknown>) => Buffer
}

export type Captures = Readonly<Record<'mcp-2026' | 'mcp-2025', CapturedClient>>

/** Opens what the transport needs beforehand: a 2025-era client has a session of its own. */
export async function prepareFraming(
  transport: TransportName,
  tool: string,
  captures: Captures,
  connection: RawConnection,
  url: string
): Promise<Framing> {
  if (transport === 'rest') {
    const headers = [
      ['accept', '*/*'],
      ['content-type', 'application/json']
    ] as const
    return { path: `/${tool}`, frame: frameWith(headers), bodyOf: (input) => Buffer.from(JSON.stringify(input)) }
  }
  const client = captures[transport]
  const session = transport === 'mcp-2025' ? await openSession(client, connection, url) : []
  const { headers, body } = require(client.calls.get(tool))
  // The SDK's own order of properties, with another id and other arguments.
  let id = 1000
  const bodyOf = (input: Record<string, unknown>) => {
    id += 1
    const params = { ...(body['params'] as object), arguments: input }
    return Buffer.from(JSON.stringify({ ...body, id, params }))
  }
  return { path: '/mcp', frame: frameWith([...headers, ...session]), bodyOf }
}

type Headers = readonly (readonly [string, string])[]

function frameWith(headers: Headers): Frame {
  const fixed = headers.map(([name, value]) => `${name}: ${value}\r\n`).join('')
  return (url, body) => {
    const { host, pathname } = new URL(url)
    const head = `POST ${pathname} HTTP/1.1\r\nhost: ${host}\r\n${fixed}content-length: ${body.length}\r\n\r\n`
    return Buffer.concat([Buffer.from(head, 'latin1'), body])
  }
}

async function openSession(client: CapturedClient, connection: RawConnection, url: string): Promise<Headers> {
  const send = ({ headers, body }: Captured, session: Headers = []) =>
    connection.send(frameWith([...headers, ...session])(`${url}/mcp`, Buffer.from(JSON.stringify(body))))
  const { head } = await send(require(client.initialize))
  const id = /\r\nmcp-session-id: *([^\r]+)/i.exec(head)?.[1]
  if (id === undefined) throw new Error(`no session: ${head}`)
  const session = [['mcp-session-id', id]] as const
  await send(require(client.initialized), session)
  return session
}

function require<Value>(value: Value | undefined): Value {
  if (value === undefined) throw new Error('the SDK client did not send what was expected')
  return value
}
