// One stream for everything: plain methods are answered here, all other messages are MCP.
import { PassThrough, pipeline, type Readable, type Writable } from 'node:stream'
import { atMost } from '../../support/at-most.ts'
import type { ByteBudget } from '../../engine/budget/byte-budget.ts'
import { isErrno, OperationError, toOperationError } from '../../errors.ts'
import { createLazy, explainLoadError } from '../../support/lazy.ts'
import { parseJson } from '../../operations/definition/parse-json.ts'
import { readLines, type Line } from '../../support/read-lines.ts'
import { answerBatch, refuse, refuseInBatch } from './batch.ts'
import { failure, invalidRequest, readMessage, type Call, type Message, type Response } from './messages.ts'
import { createMethods, type MethodsOptions } from './methods.ts'
import { createWriter, type Writer } from './writer.ts'

/** The MCP server on the other side of the same stream. */
export interface McpPeer {
  /** Resolves when a request has been answered or cancelled; anything else at once. @throws Error if it is not a message of MCP */
  receive(message: object): Promise<void>
  close(): Promise<void>
}

export interface StdioOptions extends MethodsOptions {
  readonly input: Readable
  readonly output: Writable
  /** Called for the first MCP message, and again after a failure.  */
  readonly openMcp: (writer: Pick<Writer, 'send' | 'sendLine' | 'isBehind'>) => Promise<McpPeer>
  /** Called with the failure of `openMcp`; with undefined once it succeeds. */
  readonly onMcpTrouble: (error: unknown) => void
  /** Longest line in bytes. */
  readonly maxLineBytes: number
  /** Messages in progress at once, and messages in a batch. Beyond it reading pauses. */
  readonly maxCalls: number
  /** Approximate characters of the answers to one batch; beyond it no further call of the batch is made. */
  readonly maxBatchAnswer: number
  /** For the bytes of lines in progress; a line beyond it is refused. */
  readonly budget: ByteBudget
  /** After the end of the input, calls in progress get this long to finish, and a slow client gets this long to take an answer. */
  readonly drainMs: number
  /** Called with failures outside the calls; a failed call has its own answer. */
  readonly onError: (error: unknown) => void
  /** No further request will come. */
  readonly onInputEnd: () => void
  /** No client reads the output any more; called with the error if there is one. */
  readonly onGone: (error?: Error) => void
}

export interface StdioConnection {
  /** Resolves when the input has ended and everything asked has been answered, or when the reader of the output has gone. */
  readonly ended: Promise<void>
  /** Stops reading, and ends when the calls in progress have been answered, or after `limitMs`. */
  close(limitMs: number): Promise<void>
}

/**
 * This many bytes are read ahead of the calls. While the client reads no answers its calls wait, and the end of the input would go
 * unnoticed behind them: when the client closes, what is unread is what a pipe holds, at most 1 MiB.
 */
const aheadBytes = 1_048_576

export function serveStdio(options: StdioOptions): StdioConnection {
  const { input, output, openMcp, maxLineBytes, maxCalls, maxBatchAnswer, budget } = options
  const { drainMs, onError, onInputEnd, onGone } = options
  const methods = createMethods(options)
  const stop = new AbortController()
  const sleepers = new Set<() => void>()
  let underWay = 0
  const mcp = createLazy(() => openMcp(writer), options.onMcpTrouble)
  const writer = createWriter(output, abandon)
  budget.work.watch(output, false)
  const ahead = new PassThrough({ highWaterMark: aheadBytes })
  let patience: NodeJS.Timeout | undefined
  input.once('end', () => (patience = setTimeout(abandon, drainMs)))
  // The reader of the lines gets the failure.
  pipeline(input, ahead, () => {})
  const batches = { maxCalls, maxCharacters: maxBatchAnswer, answer: answerInBatch }
  const ended = serve()

  function abandon(error?: Error): void {
    onGone(error)
    methods.cancelAll()
    end()
  }

  function end(): void {
    stop.abort()
    input.destroy()
    ahead.destroy()
    wakeAll()
  }

  async function serve(): Promise<void> {
    try {
      for await (const line of readLines(ahead, maxLineBytes)) {
        patience?.refresh()
        const value = parseLine(line)
        receive(line, value instanceof Promise ? await value : value)
        await writer.ready(stop.signal)
        await untilBelow(maxCalls)
      }
    } catch (error) {
      // The input broke off, or was destroyed: the requests so far are answered all the same.
      if (!isErrno(error, 'ERR_STREAM_PREMATURE_CLOSE')) onError(error)
    }
    clearTimeout(patience)
    onInputEnd()
    if (!stop.signal.aborted) await untilDone(drainMs)
  }

  /** Until every request has been answered and the answers have gone out, or the time is over. */
  async function untilDone(limitMs: number): Promise<void> {
    await atMost(
      limitMs,
      untilBelow(1).then(() => writer.flushed())
    )
  }

  /** Pauses reading from a client that asks faster than we answer. */
  async function untilBelow(limit: number): Promise<void> {
    for (;;) {
      if (underWay < limit || stop.signal.aborted) return
      await new Promise<void>((resolve) => sleepers.add(resolve))
    }
  }

  function wakeAll(): void {
    for (const wake of sleepers) wake()
    sleepers.clear()
  }

  /** @param value what the line says, or why it says nothing; undefined for a blank line */
  function receive(line: Line, value: unknown): void {
    if (value === undefined) return
    if (value instanceof OperationError) return void writer.answer(failure(null, value))
    const release = takeBytes(line?.length ?? 0, value)
    if (release === undefined) return
    const messages = Array.isArray(value) ? value.length : 1
    underWay += messages
    const answered = Array.isArray(value) ? answerBatch(value, batches) : answerOne(value as object)
    void answered
      .then((answer) => answer && writer.answer(answer))
      .catch(onError)
      // An unread answer keeps its place.
      .then(() => writer.ready(stop.signal))
      .finally(() => {
        release()
        underWay -= messages
        wakeAll()
      })
  }

  /** @returns a function that gives them back; undefined if there is no room: then each call of the line has got an error */
  function takeBytes(bytes: number, value: unknown): (() => void) | undefined {
    try {
      return budget.take(bytes)
    } catch (error) {
      const refusals = [value].flat().flatMap((message) => refuse(readMessage(message), toOperationError(error)) ?? [])
      const [first] = refusals
      if (first !== undefined) void writer.answer(Array.isArray(value) ? refusals : first)
      return undefined
    }
  }

  function parseLine(line: Line): unknown {
    if (line === undefined)
      return invalidRequest(`the line is longer than the ${maxLineBytes} bytes allowed (crud.max_file_size_bytes).`)
    if (isBlank(line)) return undefined
    try {
      const value = parseJson(line)
      return value instanceof Promise ? value.catch(toOperationError) : value
    } catch (error) {
      return toOperationError(error)
    }
  }

  async function answerOne(value: object): Promise<Response | undefined> {
    return answerPlain(readMessage(value), (call) => passOn(value, call))
  }

  async function answerInBatch(message: Message): Promise<Response | undefined> {
    return answerPlain(message, refuseInBatch)
  }

  /** @param other answers every message that is not a plain method */
  async function answerPlain(
    message: Message,
    other: (call: Call | undefined) => Promise<Response | undefined>
  ): Promise<Response | undefined> {
    if (message.kind === 'invalid') return message.answer
    if (message.kind === 'response') return other(undefined)
    const { call } = message
    if (methods.has(call.method)) return methods.answer(call)
    if (isMcpMethod(call.method)) return other(call)
    return call.id === undefined ? undefined : failure(call.id, methods.unknown(call.method), call.method)
  }

  async function passOn(message: object, call: Call | undefined): Promise<Response | undefined> {
    if (call === undefined && mcp.loaded() === undefined) return undefined
    if (call?.method === cancelMethod && call.id === undefined && methods.cancel(requestIdOf(call))) return undefined
    let peer: McpPeer
    try {
      peer = await mcp.get()
    } catch (error) {
      onError(error)
      const text = explainLoadError('MCP', error)
      return call?.id === undefined
        ? undefined
        : failure(call.id, new OperationError('SERVER_ERROR', text), call.method)
    }
    try {
      await peer.receive(message)
      return undefined
    } catch (error) {
      onError(error)
      return call?.id === undefined ? undefined : failure(call.id, invalidRequest('not an MCP message.'), call.method)
    }
  }

  return {
    ended,
    async close(limitMs) {
      input.destroy()
      await untilDone(limitMs)
      await (await mcp.settled())?.close()
      end()
    }
  }
}

const cancelMethod = 'notifications/cancelled'

/** MCP's methods have a slash, except for these two. */
function isMcpMethod(method: string): boolean {
  return method.includes('/') || method === 'initialize' || method === 'ping'
}

function requestIdOf({ params }: Call): unknown {
  return typeof params === 'object' && params !== null && 'requestId' in params ? params.requestId : undefined
}

function isBlank(line: Buffer): boolean {
  return line.every((byte) => byte === 0x20 || byte === 0x09 || byte === 0x0d)
}
