// OperationError: the one way an operation fails. Its code decides the answer on every transport.
import { errorTable, type ErrorCode, type ErrorEnvelope } from '../schemas/errors.ts'

export { isErrno } from './support/errno.ts'

type Notices = Pick<ErrorEnvelope, 'notices' | 'further_notices'>

interface OperationErrorOptions {
  /** The path as the caller spelt it. */
  readonly path?: string | undefined
  readonly details?: Readonly<Record<string, unknown>> | undefined
  /** Logged, never sent. */
  readonly cause?: unknown
  /** Replaces the code in the error table. */
  readonly jsonRpcCode?: number
}

export interface ErrorOnWire extends Required<Omit<OperationErrorOptions, 'cause'>> {
  readonly code: ErrorCode
  readonly message: string
  readonly notices: Notices | undefined
}

export class OperationError extends Error {
  readonly code: ErrorCode
  readonly path: string | undefined
  readonly details: Readonly<Record<string, unknown>> | undefined
  readonly jsonRpcCode: number
  #notices: Notices | undefined

  constructor(code: ErrorCode, message: string, options: OperationErrorOptions = {}) {
    super(message, { cause: options.cause })
    this.name = 'OperationError'
    this.code = code
    this.path = options.path
    this.details = options.details
    this.jsonRpcCode = options.jsonRpcCode ?? errorTable[code].jsonRpcCode
  }

  get httpStatus(): number {
    return errorTable[this.code].httpStatus
  }

  /** The same error with notices for the calling agent. A copy: calls that shared their work have the same error. */
  withNotices(notices: Notices | undefined): OperationError {
    if (notices === undefined) return this
    const copy = new OperationError(this.code, this.message, this)
    copy.#notices = notices
    return copy
  }

  /** Everything but the cause, for another process of this tree. */
  toWire(): ErrorOnWire {
    const { code, message, path, details, jsonRpcCode } = this
    return { code, message, path, details, jsonRpcCode, notices: this.#notices }
  }

  static fromWire({ code, message, notices, ...options }: ErrorOnWire): OperationError {
    return new OperationError(code, message, options).withNotices(notices)
  }

  /** The PRD's error envelope (PRD 7.2). */
  toEnvelope(): ErrorEnvelope {
    return {
      status: 'error',
      error_code: this.code,
      message: this.message,
      ...(this.path !== undefined && { path: this.path }),
      ...(this.details !== undefined && { details: { ...this.details } }),
      ...this.#notices
    }
  }
}

/** @returns undefined if the step threw an OperationError */
export function unlessRefused<Result>(step: () => Result): Result | undefined {
  try {
    return step()
  } catch (error) {
    if (error instanceof OperationError) return undefined
    throw error
  }
}

/** Why a call was cancelled. */
export function cancellationOf({ reason }: AbortSignal): OperationError {
  if (reason instanceof OperationError) return reason
  const message = reason instanceof Error ? reason.message : 'The call was cancelled; nothing was changed.'
  return new OperationError('CANCELLED', message)
}

/** The answer to a client that calls or waits while the server stops. */
export function serverStopping(): OperationError {
  return new OperationError('OVERLOADED', 'The server is stopping. Try again when it is running again.', {
    details: { retry_after_seconds: 1 }
  })
}

/** The answer to a call of what no operation is called. */
export function unknownOperation(name: string): OperationError {
  return new OperationError('ROUTE_NOT_FOUND', `Unknown operation: ${name}`)
}

export function isOperationError(error: unknown, code: ErrorCode): error is OperationError {
  return error instanceof OperationError && error.code === code
}

/** The same error about another path. */
export function withPath(error: OperationError, path: string): OperationError {
  const { code, message, cause } = error
  const { notices, details, jsonRpcCode } = error.toWire()
  return new OperationError(code, message, { path, details, jsonRpcCode, cause }).withNotices(notices)
}

/** Turns anything thrown into an OperationError; an unknown error becomes SERVER_ERROR without its inner text. */
export function toOperationError(error: unknown, path?: string): OperationError {
  if (error instanceof OperationError)
    return error.path !== undefined || path === undefined ? error : withPath(error, path)
  return new OperationError(
    'SERVER_ERROR',
    'Unexpected failure of the server. Its log has the cause; try again, or report it.',
    { path, cause: error }
  )
}
