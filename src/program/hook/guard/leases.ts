// Asks the server which agents hold leases on a file, and loads as little of Node as possible.
import type { IncomingMessage } from 'node:http'
import { text } from 'node:stream/consumers'
import { openAddress } from '../../../tree/coordinator/address.ts'
import { createStateDirectory } from '../../../tree/state/state-directory.ts'
import { readLines } from '../../../support/read-lines.ts'

export interface Lease {
  readonly agent_id: string | null
  readonly mode: string
  readonly note?: string
  /** ISO 8601. */
  readonly expires_at: string | null
}

/** The leases that concern the agent that is about to change the file. */
export interface Standing {
  /** Held by other agents. */
  readonly others: readonly Lease[]
  /** The agent's own lease on a file that needs an exclusive lease for every change; undefined if it may be changed. */
  readonly lack: 'no lease' | 'a shared lease' | undefined
}

/** The base address of its routes, or, if no process of a tree listens, the first root. */
export type Server = URL | { readonly root: string }

export interface Inquiry {
  readonly server: Server
  readonly file: string
  /** The agent that is about to change it. */
  readonly agentId: string
  /** Bearer token; empty sends none. */
  readonly token: string
  readonly signal: AbortSignal
}

/** Never the agent's own: the server reports to an agent once, with its next answer, which leases it has lost. */
const ownName = 'async-crud-mcp guard'
/** Such a file cannot be leased, so none is needed. */
const unleasable: readonly unknown[] = ['PATH_OUTSIDE_BASE', 'NOT_A_FILE', 'ACCESS_DENIED']
/** An answer about one file has a few hundred bytes. */
const maxAnswerBytes = 1_048_576

/** @throws Error that says why the server gave no answer */
export async function findStanding({ agentId, ...inquiry }: Inquiry): Promise<Standing> {
  const answer = await ask(inquiry, { filepaths: [inquiry.file], agent_id: ownName })
  // A server before 0.2 refuses the call.
  if (unleasable.includes(answer['error_code'])) return { others: [], lack: undefined }
  if (typeof answer['message'] === 'string') throw new Error(`the server answered: ${answer['message']}`)
  const { status, results, enforcement } = answer
  const [result] = Array.isArray(results) ? (results as readonly { holders?: unknown; error_code?: unknown }[]) : []
  if (status !== 'ok' || !Array.isArray(result?.holders))
    throw new Error('the server did not answer as lock_status does')
  const holders = result.holders as readonly (Lease & { readonly type?: unknown })[]
  const leases = holders.filter(({ type }) => type === 'lease')
  const own = leases.find(({ agent_id }) => agent_id === agentId)
  const isFree = enforcement !== 'required' || result.error_code !== undefined || own?.mode === 'exclusive'
  return {
    others: leases.filter(({ agent_id }) => agent_id !== agentId),
    lack: isFree ? undefined : own === undefined ? 'no lease' : 'a shared lease'
  }
}

type Answer = Readonly<Record<string, unknown>>

async function ask({ server, ...inquiry }: Omit<Inquiry, 'agentId'>, input: object): Promise<Answer> {
  return server instanceof URL ? post(server, inquiry, input) : callAuthority(server.root, inquiry.signal, input)
}

/** Through the socket over which the processes of a tree speak to each other. */
async function callAuthority(root: string, signal: AbortSignal, input: object): Promise<Answer> {
  const address = openAddress(root, createStateDirectory(root))
  try {
    const failures: unknown[] = []
    for (const path of address.paths) {
      try {
        return await callAt(path, signal, input)
      } catch (error) {
        failures.push(error)
      }
    }
    throw failures[0]
  } finally {
    address.close()
  }
}

async function callAt(path: string, signal: AbortSignal, input: object): Promise<Answer> {
  const { connect } = await import('node:net')
  const socket = connect({ path, signal })
  try {
    const caller = { transport: 'internal' }
    socket.write(`${JSON.stringify({ type: 'call', id: 1, name: 'lock_status', input, caller, progress: false })}\n`)
    for await (const line of readLines(socket, maxAnswerBytes)) {
      const { result, error } = (parse(line?.toString('utf8') ?? '') ?? {}) as Record<string, Answer | undefined>
      if (error !== undefined) return { error_code: error['code'], message: error['message'] }
      if (result !== undefined) return result
    }
    throw new Error('the server of the tree has gone')
  } finally {
    socket.destroy()
  }
}

async function post(base: URL, { token, signal }: Pick<Inquiry, 'token' | 'signal'>, input: object): Promise<Answer> {
  const { request } = base.protocol === 'https:' ? await import('node:https') : await import('node:http')
  const body = JSON.stringify(input)
  const response = await new Promise<IncomingMessage>((resolve, reject) => {
    const headers = {
      'content-type': 'application/json',
      'content-length': Buffer.byteLength(body),
      ...(token !== '' && { authorization: `Bearer ${token}` })
    }
    request(new URL('lock_status', base), { method: 'POST', headers, signal }, resolve).on('error', reject).end(body)
  })
  let length = 0
  response.on('data', (chunk: Buffer) => {
    length += chunk.length
    if (length > maxAnswerBytes) response.destroy(new Error('its answer does not end'))
  })
  const answer = parse(await text(response))
  if (typeof answer === 'object' && answer !== null) return answer as Answer
  throw new Error(`what answered (${response.statusCode}) is not an async-crud-mcp server`)
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}
