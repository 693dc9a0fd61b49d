// app.requestBudget: the bytes that this process holds at once for its clients, over all transports.
import fp from 'fastify-plugin'
import { createByteBudget, type ByteBudget } from '../../src/engine/budget/byte-budget.ts'
import type { Config } from '../../src/config/config.ts'

declare module 'fastify' {
  interface FastifyInstance {
    requestBudget: ByteBudget
  }
}

export default fp<{ config: Config }>(
  async (app, { config: { daemon } }) => {
    // Two of the largest requests always fit, whatever the setting: otherwise one that is allowed could never be made.
    const least = 2 * (app.initialConfig.bodyLimit as number)
    const budget = createByteBudget({
      maxBytes: Math.max(daemon.max_pending_request_bytes, least),
      maxWorkWaitMs: daemon.max_work_wait_seconds * 1000
    })
    app.decorate('requestBudget', budget)
    app.server.on('connection', (socket) => budget.work.watch(socket, true))
  },
  { name: 'request-budget' }
)
