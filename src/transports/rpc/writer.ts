// Writes JSON-RPC messages as lines, and knows when they have gone out.
import { once } from 'node:events'
import type { Writable } from 'node:stream'
import { toOperationError } from '../../errors.ts'
import { encodeResult, joinPieces } from '../encode-result.ts'
import type { OperationResult } from '../../engine/call/context.ts'
import { encodeInPieces, isLarge } from '../../support/encode-large.ts'
import { failure, type Response } from './messages.ts'

export type Writer = ReturnType<typeof createWriter>

/** @param onGone called once, when no client reads the output any more */
export function createWriter(output: Writable, onGone: (error?: Error) => void) {
  let isGone = false
  let draining: Promise<unknown> | undefined

  function gone(error?: Error): void {
    if (isGone) return
    isGone = true
    onGone(error)
  }

  output.on('error', gone)
  output.once('close', () => gone())

  function write(text: string | Buffer): void {
    if (!isGone && output.writable) output.write(text)
  }

  async function answerInPieces({ id, result }: Response): Promise<void> {
    const pieces = await encodeInPieces(result as OperationResult)
    write(`{"jsonrpc":"2.0","id":${JSON.stringify(id)},"result":`)
    for (const piece of pieces) write(piece)
    write('}\n')
  }

  return {
    /** @throws RangeError for a message that is too long for a text */
    send: (message: object): void => write(`${JSON.stringify(message)}\n`),
    /** @param line with its line feed */
    sendLine: write,
    /** One answer, or those of a batch as an array; written one by one, since the array may be too long for a text. */
    answer(answer: Response | readonly Response[]): void | Promise<void> {
      if (!isBatch(answer)) return isLarge(answer.result) ? answerInPieces(answer) : write(encode(answer, '', '\n'))
      for (const [index, one] of answer.entries()) write(encode(one, index === 0 ? '[' : ',', ''))
      return write(']\n')
    },
    isBehind: (): boolean => output.writableNeedDrain && !isGone,
    /** Resolves when there is room again. */
    async ready(signal: AbortSignal): Promise<void> {
      if (!output.writableNeedDrain || isGone) return
      // Many writers wait for the one event.
      draining ??= once(output, 'drain', { signal }).then(
        () => (draining = undefined),
        () => (draining = undefined)
      )
      await draining
    },
    /** Resolves when everything has gone out, or no client is there to read it. */
    flushed(): Promise<void> {
      if (isGone || output.writableLength === 0) return Promise.resolve()
      return new Promise((resolve) => {
        output.once('close', resolve)
        output.write('', () => resolve())
      })
    }
  }
}

/** A result that cannot be written is an error, not silence. */
function encode(response: Response, before: string, after: string): string | Buffer {
  try {
    if (response.result === undefined) return `${before}${JSON.stringify(response)}${after}`
    const { jsonrpc, id, result } = response
    return joinPieces([
      `${before}{"jsonrpc":"${jsonrpc}","id":${JSON.stringify(id)},"result":`,
      ...encodeResult(result),
      `}${after}`
    ])
  } catch (error) {
    return `${before}${JSON.stringify(failure(response.id, toOperationError(error)))}${after}`
  }
}

function isBatch(answer: Response | readonly Response[]): answer is readonly Response[] {
  return Array.isArray(answer)
}
