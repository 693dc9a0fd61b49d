// A request of Fastify as the handlers of /files take it.
import type { IncomingHttpHeaders, IncomingMessage, ServerResponse } from 'node:http'
import type { ByteBudget } from '../../engine/budget/byte-budget.ts'
import type { CallOperation } from '../../engine/call/context.ts'
import { readTrace } from '../../support/trace-context.ts'
import { goneSignal } from '../gone-signal.ts'
import { headerText } from '../header-text.ts'
import { readBody } from '../read-body.ts'
import type { Asked, Reply } from '../reply.ts'
import { sendError } from '../send-error.ts'
import type { FileRequest } from './exchange.ts'

interface Options {
  readonly call: CallOperation
  readonly budget: ByteBudget
  /** Of a body. */
  readonly maxBytes: number
}

interface FileAsked extends Asked {
  readonly method: string
  readonly headers: IncomingHttpHeaders
  readonly raw: IncomingMessage
  readonly params: unknown
}

export function toExchange(
  request: FileAsked,
  reply: Reply & { readonly raw: ServerResponse },
  options: Options
): FileRequest {
  const { method, headers, raw, params } = request
  return {
    method,
    headers,
    path: (params as { '*': string })['*'],
    body: () => readBody(raw, reply.raw, options),
    call(name, input, takesNotices, isShown = true) {
      const caller = {
        agentId: isShown ? headerText(headers['x-agent-id']) : undefined,
        requestId: headerText(headers['idempotency-key']),
        changeSet: headerText(headers['x-change-set']),
        transport: 'rest',
        takesNotices,
        trace: readTrace(headers)
      } as const
      return options.call(name, input, { caller, signal: goneSignal(reply.raw) })
    },
    refuse: (error, status) => sendError(request, reply, error, status)
  }
}
