// app.traced: gives calls spans of OpenTelemetry, if an SDK of it has been registered in this process.
import type * as OpenTelemetry from '@opentelemetry/api'
import fp from 'fastify-plugin'
import type { CarryCall } from '../../src/engine/call/context.ts'
import { createSpans } from '../../src/engine/call/spans.ts'
import { atMost } from '../../src/support/at-most.ts'
import { messageOf } from '../../src/support/error-message.ts'

declare module 'fastify' {
  interface FastifyInstance {
    traced: (call: CarryCall) => CarryCall
  }
}

/** Every version 1 of the API keeps here what an SDK has registered. Without it, nothing of the API is loaded. */
const registered = Symbol.for('opentelemetry.js.api.1')

const flushMs = 1000

export default fp<{ version: string }>(
  async (app, { version }) => {
    const api = registered in globalThis ? await load() : undefined
    app.decorate('traced', api === undefined ? (call) => call : createSpans(api, version))
    // The last calls of a stop have ended by then.
    if (api !== undefined) app.addHook('onClose', () => flush(api))

    async function load(): Promise<typeof OpenTelemetry | undefined> {
      try {
        return await import('@opentelemetry/api')
      } catch (error) {
        const reason = messageOf(error)
        app.log.warn(
          { reason },
          'an SDK of OpenTelemetry is registered, but there are no spans: install @opentelemetry/api beside async-crud-mcp'
        )
        return undefined
      }
    }

    /** What the SDK still holds back is sent before the process ends. */
    async function flush({ trace }: typeof OpenTelemetry): Promise<void> {
      const provider = trace.getTracerProvider() as Partial<OpenTelemetry.ProxyTracerProvider>
      const sdk = (provider.getDelegate?.() ?? provider) as { forceFlush?: () => Promise<void> }
      const sent = Promise.resolve(sdk.forceFlush?.())
      await atMost(flushMs, sent).catch((error: unknown) => app.log.warn({ err: error }, 'spans were not sent'))
    }
  },
  { name: 'tracing' }
)
