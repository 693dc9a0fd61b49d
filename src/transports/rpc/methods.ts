// Operations as JSON-RPC methods (FES 3.2): answered directly, without a handshake.
import { OperationError, toOperationError } from '../../errors.ts'
import type { CallOperation, Caller } from '../../engine/call/context.ts'
import type { Operation } from '../../operations/definition/define.ts'
import type { Call, Response } from './messages.ts'
import { beginningOf } from '../../support/cut-text.ts'
import { LazyAbort } from '../../support/lazy-signal.ts'

export interface MethodsOptions {
  readonly operations: readonly Operation[]
  readonly call: CallOperation
  readonly caller: Caller
}

export function createMethods({ operations, call, caller }: MethodsOptions) {
  const byName = new Map(operations.map((operation) => [operation.name, operation]))
  const running = new Map<LazyAbort, Call>()

  /** @returns undefined for a notification, which is carried out and never answered */
  async function answer(request: Call): Promise<Response | undefined> {
    const { id, method, params } = request
    const controller = new LazyAbort()
    running.set(controller, request)
    try {
      const result = await call(method, params, { caller, signal: controller.signal })
      return id === undefined ? undefined : { jsonrpc: '2.0', id, result }
    } catch (error) {
      if (id === undefined) return undefined
      const { envelope } = byName.get(method) as Operation
      const failed = { operation: method, input: params }
      return { jsonrpc: '2.0', id, error: envelope.rpcError(toOperationError(error), failed) }
    } finally {
      running.delete(controller)
    }
  }

  return {
    has: (method: string): boolean => byName.has(method),
    answer,
    unknown(method: string): OperationError {
      const known = [...byName.keys()].join(', ')
      const message = `Method not found: ${beginningOf(method, 100).toWellFormed()}. Known: ${known}, and those of MCP.`
      return new OperationError('ROUTE_NOT_FOUND', message)
    },
    /** Cancels the calls with this id. @returns whether there were any */
    cancel(id: unknown): boolean {
      const meant = [...running].filter(([, request]) => request.id !== undefined && request.id === id)
      for (const [controller] of meant) controller.abort(cancelled('The call was cancelled; nothing was changed.'))
      return meant.length > 0
    },
    /** Cancels every call: no client is there to read the answers. */
    cancelAll(): void {
      for (const controller of running.keys()) controller.abort(cancelled('The client has gone; nothing was changed.'))
    }
  }
}

function cancelled(message: string): OperationError {
  return new OperationError('CANCELLED', message)
}
