// MCP at /mcp, for clients of both eras.
import fp from 'fastify-plugin'
import type { Config } from '../../src/config/config.ts'
import type { McpHttp } from '../../src/transports/mcp/http.ts'
import { createLazy, explainLoadError } from '../../src/support/lazy.ts'
import { OperationError } from '../../src/errors.ts'
import { toFailure } from '../../src/transports/failures.ts'

declare module 'fastify' {
  interface FastifyInstance {
    /** Number of 2025-era sessions. */
    mcpSessions: () => number
  }
}

/** By then the first calls after the start have been answered. */
const loadAfterMs = 1000

export default fp<{ config: Config; version: string }>(
  async (app, { config: { daemon, events, mcp }, version }) => {
    const onError = (error: unknown) => app.log.debug({ err: error }, 'mcp')

    // The SDK takes as long to load as everything else: it is loaded soon after the server listens, or for the first client.
    const lazy = createLazy(start, (error) =>
      app.degradations.set('mcp', error === undefined ? undefined : explainLoadError('MCP', error))
    )
    async function load(): Promise<McpHttp> {
      try {
        return await lazy.get()
      } catch (error) {
        throw new OperationError('SERVER_ERROR', explainLoadError('MCP', error), { cause: error })
      }
    }
    async function start(): Promise<McpHttp> {
      const { createMcpHttp } = await import('../../src/transports/mcp/http.ts')
      return createMcpHttp({
        settings: mcp,
        call: app.call,
        caller: { transport: 'mcp' },
        version,
        maxWaitSeconds: daemon.mcp_wait_seconds,
        listFiles: (after, limit) => app.tree.ask({ type: 'list_files', after, limit }),
        updates: app.resourceUpdates,
        maxResources: events.max_resources_per_session,
        maxListeners: events.max_subscribers,
        maxSessions: daemon.max_mcp_sessions,
        sessionIdleMs: daemon.mcp_session_idle_seconds * 1000,
        sessionAwayMs: daemon.mcp_session_away_seconds * 1000,
        onSessionEnd: app.tree.disconnect,
        holdsLeases: (connection) => app.tree.ask({ type: 'holds_leases', connection }),
        onError
      })
    }

    app.decorate('mcpSessions', () => lazy.loaded()?.sessionCount() ?? 0)
    app.route({
      method: ['GET', 'POST', 'DELETE'],
      url: '/mcp',
      handler: async (request, reply) => {
        const mcp = await load()
        reply.hijack()
        await mcp.handle(request.raw, reply.raw, request.body)
      },
      // A body that cannot be parsed gets an answer in the protocol's own form.
      errorHandler: (error, _request, reply) => {
        const { httpStatus, code, message } = toFailure(error)
        const rpcCode = code === 'INVALID_REQUEST' ? -32700 : -32600
        reply.removeHeader('connection')
        void reply.code(httpStatus).send({ jsonrpc: '2.0', id: null, error: { code: rpcCode, message } })
      }
    })
    let timer: NodeJS.Timeout | undefined
    app.addHook('onListen', () => {
      timer = setTimeout(() => {
        lazy.get().catch((error: unknown) => app.log.error({ err: error }, 'MCP could not be loaded'))
      }, loadAfterMs).unref()
    })
    app.addHook('preClose', async () => {
      clearTimeout(timer)
      await (await lazy.settled())?.close()
    })
  },
  { name: 'mcp', dependencies: ['authority', 'resources', 'body', 'access', 'degradations'] }
)
