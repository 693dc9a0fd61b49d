// Asks the server which agents hold leases on a file, and loads as little of Node as possible.
import { callAuthority } from '../call-authority.ts'
import type { Server } from '../find-server.ts'
import { postJson, readJson } from '../post-json.ts'
import { reachServer, TokenMissing } from '../reach-server.ts'

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

/** @throws Error that says why the server gave no answer */
export async function findStanding({ agentId, ...inquiry }: Inquiry): Promise<Standing> {
  const answer = await ask(inquiry, { filepaths: [inquiry.file], agent_id: ownName })
  if (typeof answer['message'] === 'string') throw new Error(`the server answered: ${answer['message']}`)
  const { status, results, enforcement } = answer
  const [result] = Array.isArray(results) ? (results as readonly { holders?: unknown; error_code?: unknown }[]) : []
  if (status !== 'ok' || !Array.isArray(result?.holders))
    throw new Error('the server did not answer as lock_status does')
  const holders = result.holders as readonly (Lease & { readonly type?: unknown })[]
  const leases = holders.filter(({ type }) => type === 'lease')
  const own = leases.find(({ agent_id }) => agent_id === agentId)
  // A file with an error cannot be leased, so no lease is needed.
  const isFree = enforcement !== 'required' || result.error_code !== undefined || own?.mode === 'exclusive'
  return {
    others: leases.filter(({ agent_id }) => agent_id !== agentId),
    lack: isFree ? undefined : own === undefined ? 'no lease' : 'a shared lease'
  }
}

type Answer = Readonly<Record<string, unknown>>

function ask({ server, token, signal }: Omit<Inquiry, 'agentId'>, input: object): Promise<Answer> {
  return reachServer(server, token, {
    overHttp: (url) => post(url, input, token, signal),
    throughSocket: (root) => callAuthority(root, { name: 'lock_status', input, signal })
  })
}

async function post(base: URL, input: object, token: string, signal: AbortSignal): Promise<Answer> {
  const response = await postJson(new URL('lock_status', base), { body: JSON.stringify(input), token, signal })
  const { fields } = (await readJson(response)) ?? {}
  if (fields === undefined) throw new Error(`what answered (${response.statusCode}) is not an async-crud-mcp server`)
  const { message } = fields
  if (response.statusCode === 401 && typeof message === 'string')
    throw new TokenMissing(`the server answered: ${message}`)
  return fields
}
