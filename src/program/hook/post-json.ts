// Posts JSON to a server. Loads as little of Node as possible.
import type { IncomingMessage } from 'node:http'
import { parseFields, type Fields } from '../../support/json-fields.ts'

export interface Post {
  /** JSON. */
  readonly body: string
  readonly headers?: Readonly<Record<string, string>>
  /** Bearer token; empty sends none. */
  readonly token: string
  readonly signal: AbortSignal
}

/** Of an answer; none of ours comes near. */
export const maxAnswerBytes = 4_194_304

/** @returns once the head of the answer is there */
export async function postJson(url: URL, { body, headers, token, signal }: Post): Promise<IncomingMessage> {
  const { request } = url.protocol === 'https:' ? await import('node:https') : await import('node:http')
  return new Promise((resolve, reject) => {
    const all = {
      'content-type': 'application/json',
      'content-length': Buffer.byteLength(body),
      ...headers,
      ...(token !== '' && { authorization: `Bearer ${token}` })
    }
    request(url, { method: 'POST', headers: all, signal }, resolve).on('error', reject).end(body)
  })
}

/** @returns undefined for anything but a JSON object @throws Error if the answer is cut off, or larger than any */
export async function readJson(
  response: IncomingMessage
): Promise<{ readonly text: string; readonly fields: Fields } | undefined> {
  const chunks: Buffer[] = []
  let length = 0
  for await (const chunk of response as AsyncIterable<Buffer>) {
    length += chunk.length
    if (length > maxAnswerBytes) throw new Error('its answer does not end')
    chunks.push(chunk)
  }
  const text = Buffer.concat(chunks).toString()
  const fields = parseFields(text)
  return fields && { text, fields }
}
