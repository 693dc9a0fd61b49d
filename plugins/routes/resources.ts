// app.resourceUpdates: which files the MCP clients of this process are subscribed to.
import fp from 'fastify-plugin'
import { createResourceUpdates, type ResourceUpdates } from '../../src/transports/mcp/resource-updates.ts'

declare module 'fastify' {
  interface FastifyInstance {
    resourceUpdates: ResourceUpdates
  }
}

export default fp(
  async (app) => {
    const { events, files, tree } = app
    app.decorate('resourceUpdates', createResourceUpdates({ events, files, bringEvents: tree.bringEvents }))
  },
  { name: 'resources', dependencies: ['event-hub', 'files', 'authority'] }
)
