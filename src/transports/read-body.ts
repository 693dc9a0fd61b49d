// Reads the bodies of HTTP requests within a budget, and ends a body that other code has found to be broken.
import type { IncomingMessage, ServerResponse } from 'node:http'
import type { ByteBudget } from '../engine/budget/byte-budget.ts'
import { OperationError } from '../errors.ts'
import { largeBytes, largeTurn } from '../support/large-work.ts'
import { untilAnswered } from '../support/until-answered.ts'

/** Cost of a chunk in addition to its bytes (measured): a body that comes byte by byte counts as what it costs. */
const pieceBytes = 512

const failure = Symbol('failure of the body')
const reader = Symbol('reader of the body')

/** A member of the request costs less than an entry of a WeakMap. */
interface Request extends IncomingMessage {
  /** Why its body cannot be completed. */
  [failure]?: OperationError
  /** Is told so while it reads. */
  [reader]?: ((error: OperationError) => void) | undefined
}

/** Ends the body of this request with this failure, whether or not it is being read yet. */
export function failBody(request: Request, error: OperationError): void {
  request[failure] = error
  request[reader]?.(error)
}

/**
 * The body counts against the budget until its answer has gone out: the call still uses it.
 * @throws OperationError FILE_TOO_LARGE, OVERLOADED, or the failure that `failBody` was given
 */
export function readBody(
  request: Request,
  response: ServerResponse,
  { maxBytes, budget }: { maxBytes: number; budget: ByteBudget }
): Promise<Buffer> {
  return new Promise((resolve, reject) => {
    if (request[failure] !== undefined) return reject(request[failure])
    if (Number(request.headers['content-length']) > maxBytes) return reject(tooLarge(maxBytes))
    const pieces: Buffer[] = []
    let length = 0
    const share = budget.open(fail)
    untilAnswered(response, share.release)

    function stop(): void {
      request[reader] = undefined
      request.off('data', onData).off('end', onEnd).off('error', fail)
    }

    function fail(error: Error): void {
      stop()
      pieces.length = 0
      share.release()
      // The rest is read and discarded: a client that is writing would not see an answer before.
      request.on('error', () => {}).resume()
      reject(error)
    }

    function onData(piece: Buffer): void {
      length += piece.length
      if (length > maxBytes) return fail(tooLarge(maxBytes))
      if (share.add(piece.length + pieceBytes)) pieces.push(piece)
    }

    function onEnd(): void {
      stop()
      share.settle()
      if (length <= largeBytes) return resolve(Buffer.concat(pieces, length))
      return void largeTurn().then(() => resolve(Buffer.concat(pieces, length)))
    }

    request[reader] = fail
    request.on('data', onData).on('end', onEnd).on('error', fail)
  })
}

function tooLarge(maxBytes: number): OperationError {
  const message = `The request body is larger than the ${maxBytes} bytes allowed, a little over twice crud.max_file_size_bytes. Send less at once, in several calls.`
  return new OperationError('FILE_TOO_LARGE', message)
}
