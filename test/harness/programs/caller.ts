// Calls over REST and files over HTTP, on connections that stay open: fetch would take four times as long.
import { Agent, request } from 'node:http'
import type { Answer } from '../../fixtures/clients.ts'

export interface Reply {
  readonly status: number
  readonly answer: Answer
}

export interface Caller {
  readonly post: (operation: string, input: object, headers?: Record<string, string>) => Promise<Answer>
  readonly send: (method: string, path: string, body: string, headers: Record<string, string>) => Promise<Reply>
  readonly close: () => void
}

export function createCaller(url: string): Caller {
  const agent = new Agent({ keepAlive: true })
  const send: Caller['send'] = (method, path, body, headers) =>
    new Promise((resolve, reject) => {
      const outgoing = request(`${url}${path}`, { method, agent, headers }, (incoming) => {
        const chunks: Buffer[] = []
        incoming.on('data', (chunk: Buffer) => chunks.push(chunk))
        incoming.on('end', () => {
          const text = Buffer.concat(chunks).toString()
          resolve({ status: incoming.statusCode ?? 0, answer: (text === '' ? {} : JSON.parse(text)) as Answer })
        })
      })
      outgoing.on('error', reject)
      outgoing.end(body)
    })
  const json = { 'content-type': 'application/json' }
  return {
    send,
    post: async (operation, input, headers) =>
      (await send('POST', `/${operation}`, JSON.stringify(input), { ...json, ...headers })).answer,
    close: () => agent.destroy()
  }
}
