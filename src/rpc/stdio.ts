// One stream for everything: the plain methods are answered here, the rest is MCP.
import { once } from 'node:events'
import type { Readable, Writable } from 'node:stream'
import { setTimeout as delay } from 'node:timers/promises'
import { OperationError } from '../errors.ts'
import { parseJson } from '../parse-json.ts'
import { readLines, type Line } from './lines.ts'
import {
  failure,
  invalidRequest,
  methodNotFound,
  parseError,
  readMessage,
  type Call,
  type Message,
  type Response
} from './messages.ts'
import { createMethods, type MethodsOptions } from './methods.ts'

/** The MCP server on the other side of the same stream. */
export interface McpPeer {
  /** Resolves when a request has been answered or cancelled; anything else at once. @throws Error where it is no message of MCP */
  receive(message: object): Promise<void>
  close(): Promise<void>
}

export interface StdioOptions extends MethodsOptions {
  readonly input: Readable
  readonly output: Writable
  /** Called once, when the first message for it comes. `send` writes one message. */
  readonly openMcp: (send: (message: object) => void) => Promise<McpPeer>
  /** Longest line in bytes. */
  readonly maxLineBytes: number
  /** Calls under way at once, and messages in a batch. Beyond it reading pauses. */
  readonly maxCalls: number
  /** When the input has ended, calls under way get this long to finish. */
  readonly drainMs: number
  readonly onError: (error: unknown) => void
}

export interface StdioConnection {
  /** Resolves when the input has ended and everything asked has been answered, or when the reader of the output has gone. */
  readonly ended: Promise<void>
  /** Reads nothing more, and ends when what is under way has been answered. */
  close(): Promise<void>
}

export function serveStdio(options: StdioOptions): StdioConnection {
  const { input, output, openMcp, maxLineBytes, maxCalls, drainMs, onError } = options
  const methods = createMethods(options)
  const stop = new AbortController()
  let underWay = 0
  let wake: (() => void) | undefined
  let opening: Promise<McpPeer> | undefined

  output.on('error', leave)
  output.once('close', leave)
  const ended = serve()

  /** Nobody reads the answers any more. */
  function leave(): void {
    methods.cancelAll()
    end()
  }

  function end(): void {
    stop.abort()
    input.destroy()
    wake?.()
  }

  async function serve(): Promise<void> {
    try {
      for await (const line of readLines(input, maxLineBytes)) {
        start(receive(line))
        await untilReady()
      }
    } catch (error) {
      // The input broke off, or was destroyed: what was asked so far is answered all the same.
      if (!input.destroyed) onError(error)
    }
    await untilDone(drainMs)
  }

  /** Until everything asked has been answered, or the time is over. */
  async function untilDone(limitMs: number): Promise<void> {
    await Promise.race([untilBelow(1), delay(limitMs, undefined, { ref: false })])
  }

  function start(work: Promise<void>): void {
    underWay += 1
    void work.catch(onError).finally(() => {
      underWay -= 1
      wake?.()
    })
  }

  /** A client that asks faster than it reads, or than we answer, is not read from for a while. */
  async function untilReady(): Promise<void> {
    if (output.writableNeedDrain) await once(output, 'drain', { signal: stop.signal })
    await untilBelow(maxCalls)
  }

  async function untilBelow(limit: number): Promise<void> {
    for (;;) {
      if (underWay < limit || stop.signal.aborted) return
      await new Promise<void>((resolve) => (wake = resolve))
    }
  }

  async function receive(line: Line): Promise<void> {
    if (line === undefined) {
      const message = `The line is longer than the ${maxLineBytes} bytes allowed (crud.max_file_size_bytes).`
      return send(failure(null, invalidRequest, message))
    }
    if (isBlank(line)) return undefined
    let value: unknown
    try {
      value = parseJson(line)
    } catch (error) {
      return send(failure(null, parseError, error instanceof OperationError ? error.message : 'Parse error'))
    }
    const answer = Array.isArray(value) ? await answerBatch(value) : await answerOne(value as object)
    return answer === undefined ? undefined : send(answer)
  }

  async function answerBatch(values: readonly unknown[]): Promise<Response | readonly Response[] | undefined> {
    if (values.length === 0) return failure(null, invalidRequest, 'Invalid request: the batch is empty.')
    if (values.length > maxCalls)
      return failure(null, invalidRequest, `A batch may have ${maxCalls} messages; send smaller ones.`)
    const answers = await Promise.all(values.map((value) => answerPlain(readMessage(value), refuseInBatch)))
    const responses = answers.filter((answer) => answer !== undefined)
    return responses.length === 0 ? undefined : responses
  }

  async function answerOne(value: object): Promise<Response | undefined> {
    return answerPlain(readMessage(value), (call) => passOn(value, call))
  }

  /** @param other answers what is no plain method */
  async function answerPlain(
    message: Message,
    other: (call: Call | undefined) => Promise<Response | undefined>
  ): Promise<Response | undefined> {
    if (message.kind === 'invalid') return message.answer
    if (message.kind === 'response') return other(undefined)
    const { call } = message
    if (methods.has(call.method)) return methods.answer(call)
    if (isMcpMethod(call.method)) return other(call)
    return call.id === undefined ? undefined : unknownMethod(call.id, call.method)
  }

  async function passOn(message: object, call: Call | undefined): Promise<Response | undefined> {
    if (call?.method === 'notifications/cancelled' && methods.cancel(requestIdOf(call))) return undefined
    try {
      const mcp = await (opening ??= openMcp(send))
      await mcp.receive(message)
      return undefined
    } catch (error) {
      onError(error)
      return call?.id === undefined
        ? undefined
        : failure(call.id, invalidRequest, 'Invalid request: no message of MCP.')
    }
  }

  function unknownMethod(id: NonNullable<Call['id']> | null, method: string): Response {
    const known = methods.names.join(', ')
    return failure(id, methodNotFound, `Method not found: ${method.slice(0, 100)}. Known: ${known}, and those of MCP.`)
  }

  function send(message: object): void {
    if (!stop.signal.aborted && output.writable) output.write(`${JSON.stringify(message)}\n`)
  }

  return {
    ended,
    async close() {
      input.destroy()
      await untilDone(closeMs)
      await (await opening)?.close()
      end()
    }
  }
}

/** Who is not answered soon after the engine has stopped goes without. */
const closeMs = 200

/** Messages of MCP are sent one by one: its current revisions know no batches. */
async function refuseInBatch(call: Call | undefined): Promise<Response | undefined> {
  if (call?.id === undefined) return undefined
  return failure(call.id, invalidRequest, 'Messages of MCP cannot be sent in a batch. Send one message a line.')
}

/** MCP's methods have a slash, but for these two. */
function isMcpMethod(method: string): boolean {
  return method.includes('/') || method === 'initialize' || method === 'ping'
}

function requestIdOf({ params }: Call): unknown {
  return typeof params === 'object' && params !== null && 'requestId' in params ? params.requestId : undefined
}

function isBlank(line: Buffer): boolean {
  return line.every((byte) => byte === 0x20 || byte === 0x09 || byte === 0x0d)
}
