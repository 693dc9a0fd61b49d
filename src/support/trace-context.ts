// W3C Trace Context: the trace and the span of whoever makes a call.

export interface TraceContext {
  /** 32 and 16 hexadecimal digits. */
  readonly traceId: string
  readonly spanId: string
  /** Bit 0: the caller records its spans. */
  readonly flags: number
  /** What tracing systems add for each other, passed on as it is. */
  readonly state?: string
}

/** Version, trace, span, flags; a version after the first may add more. */
const form = /^(?!ff)([0-9a-f]{2})-(?!0{32})([0-9a-f]{32})-(?!0{16})([0-9a-f]{16})-([0-9a-f]{2})(-.*)?$/
const maxStateLength = 512

/** @param carrier headers with names in lower case, or `_meta`. @returns undefined if it has no `traceparent`, or a malformed one */
export function readTrace(carrier: Readonly<Record<string, unknown>> | undefined): TraceContext | undefined {
  const traceparent = carrier?.['traceparent']
  if (typeof traceparent !== 'string') return undefined
  const [, version, traceId, spanId, flags = '', more] = form.exec(traceparent) ?? []
  if (traceId === undefined || spanId === undefined || (version === '00' && more !== undefined)) return undefined
  const state = carrier?.['tracestate']
  const isKept = typeof state === 'string' && state !== '' && state.length <= maxStateLength
  return { traceId, spanId, flags: Number.parseInt(flags, 16), ...(isKept && { state }) }
}
