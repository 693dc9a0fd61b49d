// Passes an event to the server: over HTTP, or through the socket of a tree of which no process listens. Loads as little of Node as possible.
import { callAuthority } from './call-authority.ts'
import type { Server } from './find-server.ts'
import { postJson, readJson } from './post-json.ts'
import { reachServer, TokenMissing } from './reach-server.ts'

export interface Question {
  readonly harness: string
  /** The event, as the harness gave it. */
  readonly event: string
  readonly agent: string | undefined
  readonly token: string
  /** Undefined leaves it to the settings of the server. */
  readonly waitSeconds: number | undefined
  readonly signal: AbortSignal
  /** The server answers, and waits for a lock: at most for so long. */
  readonly onWait: (seconds: number) => void
}

/** @returns what the hook prints: JSON, "{}" for nothing @throws Error that says why there is no answer */
export function askServer(server: Server, question: Question): Promise<string> {
  return reachServer(server, question.token, {
    overHttp: (url) => post(url, question),
    throughSocket: (root) => askAuthority(root, question)
  })
}

async function post(
  base: URL,
  { harness, event, agent, token, waitSeconds, signal, onWait }: Question
): Promise<string> {
  const headers = {
    ...(waitSeconds !== undefined && { 'x-wait-seconds': String(waitSeconds) }),
    ...(agent !== undefined && { 'x-agent-id': agent })
  }
  const response = await postJson(new URL(`hooks/${harness}`, base), { body: event, headers, token, signal })
  onWait(Number(response.headers['x-wait-seconds'] ?? waitSeconds ?? 0))
  const { text = '', fields } = (await readJson(response)) ?? {}
  // What fails after a wait for a lock has begun its answer with 200.
  if (response.statusCode === 200 && fields !== undefined && fields['status'] !== 'error') return text
  const message = typeof fields?.['message'] === 'string' ? fields['message'] : 'not an async-crud-mcp server'
  const status = response.statusCode === 200 ? '' : ` ${response.statusCode}`
  const Failure = response.statusCode === 401 ? TokenMissing : Error
  throw new Failure(`the server answered${status}: ${message}`)
}

async function askAuthority(
  root: string,
  { harness, event, agent, waitSeconds, signal, onWait }: Question
): Promise<string> {
  const input = { harness, event: JSON.parse(event) as unknown, agent_id: agent, wait_seconds: waitSeconds }
  const { answer } = await callAuthority(root, { name: 'native_hook', input, signal, onWait })
  return JSON.stringify(answer ?? {})
}
