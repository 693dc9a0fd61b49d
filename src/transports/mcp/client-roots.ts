// Asks an MCP client on a stream for its roots, before there is a service that could serve them.
import { setTimeout as delay } from 'node:timers/promises'
import { Readable, Writable } from 'node:stream'
import { fileURLToPath } from 'node:url'
import { orUndefined } from '../../support/attempt.ts'
import type { JSONRPCMessage, Server, Transport } from '@modelcontextprotocol/server'
import { parseFields, type Fields } from '../../support/json-fields.ts'

export interface ClientStreams {
  readonly input: Readable
  readonly output: Writable
}

export interface MetClient {
  /** Local folders, in the client's order; empty if it offers none. */
  readonly roots: readonly string[]
  /** The same client from its first message on. The answer that it has got to that is not written again. */
  readonly streams: ClientStreams
}

interface MeetOptions {
  /** Answers the first message as the service will. Called for a client that has roots. */
  readonly createServer: () => Promise<Server>
  /** How long the client has for its roots; beyond it there are none. 0 does not ask. */
  readonly patienceMs: number
}

const lineFeed = 10
/** What is read of a client before it has said its roots. */
const maxBytes = 1_048_576

/** Only clients of the 2025 era that say so are asked: later revisions know no requests of a server. */
export async function meetClient({ input, output }: ClientStreams, options: MeetOptions): Promise<MetClient> {
  const { createServer, patienceMs } = options
  const chunks = input[Symbol.asyncIterator]() as AsyncIterator<Buffer>
  /** All that was read, since the service reads it, too. */
  let read = Buffer.alloc(0)
  let next = 0
  let pending: Promise<IteratorResult<Buffer>> | undefined

  /** Undefined at the end of the input, or of the patience. */
  async function nextLine(signal?: AbortSignal): Promise<string | undefined> {
    for (;;) {
      const end = read.indexOf(lineFeed, next)
      if (end !== -1) {
        const line = read.toString('utf8', next, end)
        next = end + 1
        return line
      }
      if (read.length > maxBytes) return undefined
      pending ??= chunks.next()
      const over = signal && delay(patienceMs, undefined, { signal, ref: false }).catch(() => undefined)
      const chunk = await (over === undefined ? pending : Promise.race([pending, over]))
      if (chunk === undefined || chunk.done === true) return undefined
      pending = undefined
      read = Buffer.concat([read, chunk.value])
    }
  }

  async function* rest(): AsyncGenerator<Buffer> {
    if (read.length > 0) yield read
    for (let chunk = await (pending ?? chunks.next()); chunk.done !== true; chunk = await chunks.next())
      yield chunk.value
  }

  const again = () => Readable.from(rest(), { objectMode: false })
  const first = parseFields((await nextLine()) ?? '') ?? {}
  if (patienceMs === 0 || !offersRoots(first)) return { roots: [], streams: { input: again(), output } }

  const transport: Transport = {
    start: async () => {},
    send: async (message) => void output.write(`${JSON.stringify(message)}\n`),
    close: async () => {}
  }
  const server = await createServer()
  const initialized = new Promise<void>((resolve) => (server.oninitialized = resolve))
  await server.connect(transport)
  const over = new AbortController()
  const roots = initialized
    .then(async () => server.listRoots(undefined, { timeout: patienceMs }))
    .catch(() => undefined)
  void roots.then(() => over.abort())
  give(transport, first)
  while (!over.signal.aborted) {
    const line = await nextLine(over.signal)
    if (line === undefined) break
    const message = parseFields(line ?? '') ?? {}
    // Calls wait for the service.
    if (isOfHandshake(message)) give(transport, message)
  }
  const offered = over.signal.aborted ? await roots : undefined
  return {
    // Without those that are not of this machine, or no file.
    roots: (offered?.roots ?? []).flatMap(({ uri }) => orUndefined(() => fileURLToPath(uri)) ?? []),
    streams: { input: again(), output: withoutAnswerTo(first['id'], output) }
  }
}

function offersRoots({ method, params }: Fields): boolean {
  if (method !== 'initialize') return false
  const { capabilities } = (params ?? {}) as { readonly capabilities?: { readonly roots?: unknown } }
  return typeof capabilities?.roots === 'object'
}

function isOfHandshake({ method, id }: Fields): boolean {
  return method === 'notifications/initialized' || (method === undefined && id !== undefined)
}

/** The SDK looks at what it needs of it. */
function give(transport: Transport, message: Fields): void {
  transport.onmessage?.(message as unknown as JSONRPCMessage)
}

/** The client has the answer to its first message by now; the service, which gets that message again, answers it once more. */
function withoutAnswerTo(id: unknown, output: Writable): Writable {
  let isDone = false
  const rest = new Writable({
    decodeStrings: false,
    write(chunk: string | Buffer, encoding, done) {
      if (!isDone && parseFields(chunk.toString())?.['id'] === id) {
        isDone = true
        return done()
      }
      output.write(chunk, encoding, done)
    }
  })
  output.on('error', (error) => rest.destroy(error))
  output.once('close', () => rest.destroy())
  return rest
}
