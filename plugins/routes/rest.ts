// REST: every operation as POST /<name>, its input as body, its result as answer.
import fp from 'fastify-plugin'
import { encodeInPieces, isLarge } from '../../src/support/encode-large.ts'
import { encodeResult, joinPieces } from '../../src/transports/encode-result.ts'
import { goneSignal } from '../../src/transports/gone-signal.ts'
import { headerText } from '../../src/transports/header-text.ts'
import { readTrace } from '../../src/support/trace-context.ts'
import { OperationError } from '../../src/errors.ts'
import { operations } from '../../src/operations/index.ts'
import { jsonType } from '../../src/transports/json-type.ts'
import { sendError } from '../../src/transports/send-error.ts'

export default fp(
  async (app) => {
    for (const { name } of operations) {
      app.post(`/${name}`, async (request, reply) => {
        try {
          const result = await app.call(name, request.body, {
            caller: {
              agentId: headerText(request.headers['x-agent-id']),
              changeSet: headerText(request.headers['x-change-set']),
              requestId: headerText(request.headers['idempotency-key']),
              transport: 'rest',
              client: request.headers['user-agent'],
              trace: readTrace(request.headers)
            },
            signal: goneSignal(reply.raw)
          })
          reply.code(result.status === 'contention' ? 409 : 200).type(jsonType)
          // In one piece, so that what the client has not taken is seen at its connection.
          return reply.send(joinPieces(isLarge(result) ? await encodeInPieces(result) : encodeResult(result)))
        } catch (error) {
          if (error instanceof OperationError) return sendError(request, reply, error)
          throw error
        }
      })
    }
  },
  { name: 'rest', dependencies: ['authority', 'body', 'errors', 'access'] }
)
