// One running server over stdio: reached by raw messages, as a client of the 2025 era sends them, or through the SDK client.
import { Client } from '@modelcontextprotocol/client'
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio'
import { spawn } from 'node:child_process'
import { makeTree } from '../../test/fixtures/tree.ts'
import type { Send } from '../load/load.ts'
import { connectStdio, type StdioCall } from '../load/stdio-connection.ts'
import type { Owner } from '../owner.ts'
import type { Call, Calls, PeerServer } from './servers.ts'

export const clients = ['raw messages', 'SDK client'] as const
export type ClientKind = (typeof clients)[number]

export interface Running {
  readonly pid: number | undefined
  /** @returns the answer as text: the whole line, or what stands in its content; rejects where it is a failure */
  call(call: Call): Promise<string>
}

export interface RawRunning extends Running {
  /** Any method; resolves with the line of the answer. */
  readonly request: StdioCall
  /** The result of the handshake. */
  readonly initialized: object
}

type Start = (owner: Owner, server: PeerServer, root: string) => Promise<Running>

const protocolVersion = '2025-11-25'
const clientInfo = { name: 'bench', version: '1' }

/** Resolves once the handshake is over. */
export const start: Readonly<Record<ClientKind, Start>> = {
  'raw messages': (owner, server, root) => startRaw(owner, server, root),
  'SDK client': startWithSdk
}

/** @param name as the client calls itself */
export async function startRaw(
  owner: Owner,
  server: PeerServer,
  root: string,
  name = clientInfo.name
): Promise<RawRunning> {
  const { args, env } = server.command(root, makeTree(owner).root)
  const child = spawn(process.execPath, args, { env: { ...process.env, ...env }, stdio: ['pipe', 'pipe', 'ignore'] })
  owner.teardown(() => child.kill('SIGKILL'))
  const request = connectStdio(child)
  const line = await request('initialize', { protocolVersion, capabilities: {}, clientInfo: { ...clientInfo, name } })
  child.stdin.write('{"jsonrpc":"2.0","method":"notifications/initialized"}\n')
  return {
    pid: child.pid,
    request,
    initialized: (JSON.parse(line.toString()) as { readonly result: object }).result,
    async call(wanted) {
      const line = await request('tools/call', wanted)
      // In a text within the answer the quotes would be escaped.
      if (line.includes('"isError":true')) throw new Error(`${server.name}: ${line.toString('utf8', 0, 1000)}`)
      return line.toString('latin1')
    }
  }
}

async function startWithSdk(owner: Owner, server: PeerServer, root: string): Promise<Running> {
  const { args, env } = server.command(root, makeTree(owner).root)
  const merged = { ...process.env, ...env } as Record<string, string>
  const transport = new StdioClientTransport({ command: process.execPath, args, env: merged, stderr: 'ignore' })
  const client = new Client(clientInfo, { versionNegotiation: { mode: 'auto' } })
  await client.connect(transport)
  owner.teardown(() => client.close())
  return {
    pid: transport.pid ?? undefined,
    async call(wanted) {
      const { content, isError } = (await client.callTool({ ...wanted })) as Answer
      const text = content[0]?.text ?? ''
      if (isError === true) throw new Error(`${server.name}: ${text.slice(0, 1000)}`)
      return text
    }
  }
}

interface Answer {
  readonly content: readonly { readonly text?: string }[]
  readonly isError?: boolean
}

/** A worker that sends its calls one after the other. */
export function senderOf(running: Running, calls: Calls): Send {
  return async () => {
    const answer = await running.call(calls.next())
    calls.take(answer)
    return answer
  }
}
