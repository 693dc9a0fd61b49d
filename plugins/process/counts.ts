// app.counts, app.callCounts: what has happened in this process since its start.
import fp from 'fastify-plugin'
import { createCallCounts, type CallCounts } from '../../src/engine/call/call-counts.ts'
import { createCounts, type Counts } from '../../src/engine/activity/counts.ts'

declare module 'fastify' {
  interface FastifyInstance {
    counts: Counts
    callCounts: CallCounts
  }
}

export default fp(
  async (app) => {
    app.decorate('counts', createCounts())
    app.decorate('callCounts', createCallCounts())
  },
  { name: 'counts' }
)
