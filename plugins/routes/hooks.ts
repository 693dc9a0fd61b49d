// POST /hooks/<harness>: the event of a hook as its body, what the hook prints as its answer. Harnesses with HTTP hooks call it directly.
import type { FastifyReply, FastifyRequest } from 'fastify'
import fp from 'fastify-plugin'
import { harnessNames } from '../../schemas/native-hook.ts'
import type { Progress } from '../../src/support/progress.ts'
import { OperationError, toOperationError } from '../../src/errors.ts'
import { goneSignal } from '../../src/transports/gone-signal.ts'
import { headerText } from '../../src/transports/header-text.ts'
import { securityHeaders } from '../../src/transports/security-headers.ts'
import { jsonType } from '../../src/transports/json-type.ts'
import { sendError } from '../../src/transports/send-error.ts'

export default fp(
  async (app) => {
    for (const harness of harnessNames) {
      app.post(`/hooks/${harness}`, (request, reply) => answer(harness, request, reply))
    }

    async function answer(harness: string, request: FastifyRequest, reply: FastifyReply): Promise<FastifyReply> {
      const { raw } = reply
      const { body, headers } = request
      const agent = headerText(headers['x-agent-id'])
      const wait = headerText(headers['x-wait-seconds'])
      const input = {
        harness,
        event: body ?? {},
        ...(agent !== undefined && { agent_id: agent }),
        ...(wait !== undefined && { wait_seconds: Number(wait) })
      }
      /** A hook that hears nothing takes the server to hang; one that waits for a lock, or for Git, must not. */
      const progress = ({ waitSeconds = 0 }: Progress) => {
        if (raw.headersSent) return
        reply.hijack()
        const length = { 'x-wait-seconds': String(waitSeconds) }
        raw.writeHead(200, { ...securityHeaders, ...length, 'content-type': jsonType }).flushHeaders()
      }
      try {
        const call = { caller: { transport: 'rest', takesNotices: false }, signal: goneSignal(raw), progress } as const
        const result = await app.call('native_hook', input, call)
        return send(JSON.stringify(result['answer'] ?? {}))
      } catch (error) {
        if (!raw.headersSent && error instanceof OperationError) return sendError(request, reply, error)
        if (!raw.headersSent) throw error
        // The status has gone out. The hook program knows an error by its envelope; for a harness it is an answer without a decision.
        const failure = toOperationError(error)
        if (failure.code !== 'CANCELLED')
          app.log.warn({ err: failure.cause ?? failure, harness }, 'a hook failed after its wait for a lock')
        return send(JSON.stringify(failure.toEnvelope()))
      }

      function send(text: string): FastifyReply {
        if (!raw.headersSent) return reply.type(jsonType).send(text)
        raw.end(text)
        return reply
      }
    }
  },
  { name: 'hooks', dependencies: ['authority', 'body', 'errors', 'access'] }
)
