// What the election needs of etcd, over its HTTP gateway (version 3 of its interface). Each request is tried at every endpoint.
import { readFileSync } from 'node:fs'
import { Agent as HttpAgent, request as httpRequest } from 'node:http'
import { Agent as HttpsAgent, request as httpsRequest } from 'node:https'
import type { EndpointState } from './host-facts.ts'
import { atMost } from '../../support/at-most.ts'
import { messageOf } from '../../support/error-message.ts'

export interface EtcdSettings {
  readonly endpoints: readonly string[]
  readonly username: string
  readonly password: string
  /** Paths of PEM files; null without. */
  readonly ca: string | null
  readonly cert: string | null
  readonly key: string | null
  /** For one request at one endpoint, in milliseconds. */
  readonly timeoutMs: number
}

/** A key that one process has, under its lease. */
export interface Held {
  readonly value: string
  readonly lease: string
  /** Of etcd at the moment when the key was made: greater with each election. */
  readonly revision: number
}

export type EtcdClient = ReturnType<typeof createEtcdClient>

/** No endpoint has answered, or etcd has refused the request. */
export class EtcdTrouble extends Error {}

interface Answer {
  readonly status: number
  readonly text: string
}

type Reply = Readonly<Record<string, unknown>>

interface KeyValue {
  readonly create_revision: string
  readonly value?: string
  readonly lease?: string
}

interface TxnReply {
  readonly header: { readonly revision: string }
  readonly succeeded?: boolean
  readonly responses?: readonly { readonly response_range?: { readonly kvs?: readonly KeyValue[] } }[]
}

/** A large answer is not etcd's. */
const maxAnswerBytes = 1_048_576

export function createEtcdClient({ endpoints, username, password, ca, cert, key, timeoutMs }: EtcdSettings) {
  const files = {
    ...(ca && { ca: readFileSync(ca) }),
    ...(cert && { cert: readFileSync(cert) }),
    ...(key && { key: readFileSync(key) })
  }
  const agents = {
    'http:': new HttpAgent({ keepAlive: true }),
    'https:': new HttpsAgent({ keepAlive: true, ...files })
  }
  /** The endpoint that answered last. */
  let preferred = 0
  let token: string | undefined
  const states = new Map<string, EndpointState>()

  async function ask(method: string, body: object): Promise<Reply> {
    if (username === '') return askAny(method, body)
    try {
      token ??= await logIn()
      return await askAny(method, body)
    } catch (error) {
      if (!(error instanceof EtcdTrouble) || !/auth token|revision .* is old/.test(error.message)) throw error
      token = await logIn()
      return askAny(method, body)
    }
  }

  async function logIn(): Promise<string> {
    token = undefined
    return String((await askAny('auth/authenticate', { name: username, password }))['token'])
  }

  async function askAny(method: string, body: object): Promise<Reply> {
    const failures: string[] = []
    for (let tried = 0; tried < endpoints.length; tried += 1) {
      const index = (preferred + tried) % endpoints.length
      const endpoint = endpoints[index] as string
      try {
        const answer = read(await post(endpoint, method, JSON.stringify(body)))
        preferred = index
        states.set(endpoint, 'answers')
        return answer
      } catch (error) {
        if (error instanceof EtcdRefusal) throw error
        states.set(endpoint, 'fails')
        failures.push(`${endpoint}: ${messageOf(error)}`)
      }
    }
    throw new EtcdTrouble(`etcd does not answer (${failures.join('; ')})`)
  }

  function post(endpoint: string, method: string, body: string): Promise<Answer> {
    const url = new URL(`/v3/${method}`, endpoint)
    const protocol = url.protocol as keyof typeof agents
    const send = protocol === 'https:' ? httpsRequest : httpRequest
    return new Promise((resolve, reject) => {
      const headers = { 'content-type': 'application/json', ...(token !== undefined && { authorization: token }) }
      const request = send(url, { method: 'POST', headers, agent: agents[protocol] }, (response) => {
        const parts: Buffer[] = []
        let bytes = 0
        response.on('data', (part: Buffer) => {
          bytes += part.length
          if (bytes > maxAnswerBytes) request.destroy(new Error('its answer is too long'))
          else parts.push(part)
        })
        response.on('error', reject)
        response.on('end', () => {
          resolve({ status: response.statusCode ?? 0, text: Buffer.concat(parts).toString('utf8') })
        })
      })
      // Also for an endpoint that takes the request and then is silent.
      const closed = new Promise<true>((resolve) => request.on('close', () => resolve(true)))
      void atMost(timeoutMs, closed).then(
        (isClosed) => isClosed ?? request.destroy(new Error(`no answer in ${timeoutMs} ms`))
      )
      request.on('error', reject)
      request.end(body)
    })
  }

  async function change(key: string, revision: number, value: string, lease: string): Promise<Held | undefined> {
    const name = encode(key)
    const reply = (await ask('kv/txn', {
      compare: [{ key: name, target: 'CREATE', result: 'EQUAL', create_revision: String(revision) }],
      success: [{ request_put: { key: name, value: encode(value), lease } }],
      failure: [{ request_range: { key: name } }]
    })) as unknown as TxnReply
    if (reply.succeeded === true) return { value, lease, revision: revision || Number(reply.header.revision) }
    return toHeld(reply.responses?.[0]?.response_range?.kvs?.[0])
  }

  return {
    /** What the last request to each came to. */
    endpoints: () => endpoints.map((endpoint) => ({ endpoint, state: states.get(endpoint) ?? ('unknown' as const) })),
    /** @returns the lease, and its seconds, which etcd may have raised */
    async grant(ttlSeconds: number): Promise<{ lease: string; ttlSeconds: number }> {
      const reply = await ask('lease/grant', { TTL: String(ttlSeconds) })
      return { lease: String(reply['ID']), ttlSeconds: Number(reply['TTL']) }
    },
    /** Makes the key if there is none. @returns what it holds after that */
    elect: (key: string, value: string, lease: string) => change(key, 0, value, lease),
    /** Changes the value of the key if it still is the one of that revision. @returns what it holds after that */
    change,
    async read(key: string): Promise<Held | undefined> {
      const reply = await ask('kv/range', { key: encode(key) })
      return toHeld((reply as { kvs?: readonly KeyValue[] }).kvs?.[0])
    },
    /** @returns seconds from the moment of the request; 0 if the lease has ended */
    async keepAlive(lease: string): Promise<number> {
      const { result } = (await ask('lease/keepalive', { ID: lease })) as { result?: { TTL?: string } }
      return Number(result?.TTL ?? 0)
    },
    async revoke(lease: string): Promise<void> {
      await ask('lease/revoke', { ID: lease })
    }
  }
}

/** Another endpoint would refuse it, too. */
class EtcdRefusal extends EtcdTrouble {}

/** True if a later request may be answered. */
export function isSilence(error: unknown): boolean {
  return error instanceof EtcdTrouble && !(error instanceof EtcdRefusal)
}

/** @throws Error that another endpoint may not answer with, EtcdRefusal */
function read({ status, text }: Answer): Reply {
  const reply = JSON.parse(text) as Reply
  if (status === 200) return reply
  const reason = typeof reply['error'] === 'string' ? reply['error'] : status
  const message = `etcd has refused the request: ${reason}`
  // A node without a leader says so, and another one may have one.
  if (status >= 500) throw new Error(message)
  throw new EtcdRefusal(message)
}

function toHeld(found: KeyValue | undefined): Held | undefined {
  if (found === undefined) return undefined
  return {
    value: Buffer.from(found.value ?? '', 'base64').toString('utf8'),
    lease: found.lease ?? '0',
    revision: Number(found.create_revision)
  }
}

function encode(text: string): string {
  return Buffer.from(text).toString('base64')
}
