// Passes an event to the server: over HTTP, or through the socket of a tree of which no process listens. Loads as little of Node as possible.
import type { IncomingMessage } from 'node:http'
import { text } from 'node:stream/consumers'
import { openAddress } from '../../tree/authority/address.ts'
import { createStateDirectory } from '../../tree/state/state-directory.ts'
import { readLines } from '../../support/read-lines.ts'

/** The base address of its routes, or, if no process of a tree listens, the first root. */
export type Server = URL | { readonly root: string }

export interface Question {
  readonly harness: string
  /** The event, as the harness gave it. */
  readonly event: string
  readonly agent: string | undefined
  readonly token: string
  readonly waitSeconds: number
  readonly signal: AbortSignal
  /** The server answers, and waits for a lock. */
  readonly onWait: () => void
}

const maxAnswerBytes = 4_194_304

/** @returns what the hook prints: JSON, "{}" for nothing @throws Error that says why there is no answer */
export async function askServer(server: Server, question: Question): Promise<string> {
  return server instanceof URL ? post(server, question) : callAuthority(server.root, question)
}

async function post(
  base: URL,
  { harness, event, agent, token, waitSeconds, signal, onWait }: Question
): Promise<string> {
  const { request } = base.protocol === 'https:' ? await import('node:https') : await import('node:http')
  const response = await new Promise<IncomingMessage>((resolve, reject) => {
    const headers = {
      'content-type': 'application/json',
      'content-length': Buffer.byteLength(event),
      'x-wait-seconds': String(waitSeconds),
      ...(agent !== undefined && { 'x-agent-id': agent }),
      ...(token !== '' && { authorization: `Bearer ${token}` })
    }
    const url = new URL(`hooks/${harness}`, base)
    request(url, { method: 'POST', headers, signal }, resolve).on('error', reject).end(event)
  })
  onWait()
  const answer = await text(response)
  if (response.statusCode === 200) return answer
  throw new Error(`the server answered ${response.statusCode}: ${messageIn(answer)}`)
}

async function callAuthority(root: string, question: Question): Promise<string> {
  const address = openAddress(root, createStateDirectory(root))
  try {
    const failures: unknown[] = []
    for (const path of address.paths) {
      try {
        return await callAt(path, question)
      } catch (error) {
        failures.push(error)
      }
    }
    throw failures[0]
  } finally {
    address.close()
  }
}

interface Reply {
  readonly type?: string
  readonly result?: { readonly answer?: unknown }
  readonly error?: { readonly message?: string }
}

async function callAt(path: string, { harness, event, agent, waitSeconds, signal, onWait }: Question): Promise<string> {
  const { connect } = await import('node:net')
  const socket = connect({ path, signal })
  try {
    const input = { harness, event: JSON.parse(event) as unknown, agent_id: agent, wait_seconds: waitSeconds }
    const caller = { transport: 'internal', takesNotices: false }
    const call = { type: 'call', id: 1, name: 'native_hook', input, caller, progress: true }
    socket.write(`${JSON.stringify(call)}\n`)
    for await (const line of readLines(socket, maxAnswerBytes)) {
      const { type, result, error } = JSON.parse(line?.toString('utf8') ?? '{}') as Reply
      if (type === 'progress') onWait()
      if (error !== undefined) throw new Error(`the server answered: ${error.message}`)
      if (result !== undefined) return JSON.stringify(result.answer ?? {})
    }
    throw new Error('the server of the tree has gone')
  } finally {
    socket.destroy()
  }
}

function messageIn(answer: string): string {
  try {
    const { message } = JSON.parse(answer) as { readonly message?: unknown }
    return typeof message === 'string' ? message : 'not an async-crud-mcp server'
  } catch {
    return 'not an async-crud-mcp server'
  }
}
