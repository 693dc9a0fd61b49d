// A span of OpenTelemetry for each call of the clients of this process.
import type * as OpenTelemetry from '@opentelemetry/api'
import { toOperationError } from '../../errors.ts'
import type { TraceContext } from '../../support/trace-context.ts'
import type { CarryCall } from './context.ts'

/** Names of attributes, without names of files or agents. */
const attributes = {
  operation: 'async_crud.operation',
  transport: 'async_crud.transport',
  result: 'async_crud.result',
  waited: 'async_crud.wait_seconds'
}

/** @returns the same calls with spans */
export function createSpans(api: typeof OpenTelemetry, version: string) {
  const tracer = api.trace.getTracer('async-crud-mcp', version)
  const { SpanKind, SpanStatusCode } = api

  /** The span that is active here may lie between the caller's and this one: one of an HTTP server, for instance. */
  function parentOf(trace: TraceContext | undefined): OpenTelemetry.Context {
    const active = api.context.active()
    if (trace === undefined || api.trace.getSpanContext(active)?.traceId === trace.traceId) return active
    const { traceId, spanId, flags: traceFlags, state } = trace
    const traceState = state === undefined ? {} : { traceState: api.createTraceState(state) }
    return api.trace.setSpanContext(active, { traceId, spanId, traceFlags, isRemote: true, ...traceState })
  }

  return (call: CarryCall): CarryCall =>
    async (operation, input, options) => {
      const { name } = operation
      const { caller } = options
      const begun = { [attributes.operation]: name, [attributes.transport]: caller.transport }
      const span = tracer.startSpan(name, { kind: SpanKind.SERVER, attributes: begun }, parentOf(caller.trace))
      const own = span.spanContext()
      const onWait = (ms: number, result: string) =>
        void span.addEvent('lock wait', { [attributes.waited]: ms / 1000, [attributes.result]: result })
      const trace = api.isSpanContextValid(own) ? toTrace(own) : caller.trace
      try {
        const result = await call(operation, input, { ...options, caller: { ...caller, trace }, onWait })
        // The results of FES have no status.
        span.setAttribute(attributes.result, result.status ?? 'ok')
        return result
      } catch (error) {
        const { code, httpStatus } = toOperationError(error)
        span.setAttribute(attributes.result, code)
        // As for servers in general: a mistake of the caller is no error of the server.
        if (httpStatus >= 500) span.setStatus({ code: SpanStatusCode.ERROR, message: code })
        throw error
      } finally {
        span.end()
      }
    }
}

function toTrace({ traceId, spanId, traceFlags: flags, traceState }: OpenTelemetry.SpanContext): TraceContext {
  const state = traceState?.serialize()
  return { traceId, spanId, flags, ...(state !== undefined && { state }) }
}
