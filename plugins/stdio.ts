// app.stdio: the plain methods and MCP on standard input and output, where the transport asks for it.
import { randomBytes } from 'node:crypto'
import fp from 'fastify-plugin'
import { operations } from '../src/operations/index.ts'
import type { Config } from '../src/config.ts'
import { serveStdio, type StdioConnection } from '../src/rpc/stdio.ts'

declare module 'fastify' {
  interface FastifyInstance {
    /** Undefined until the service is ready, and with transport `http`. */
    stdio: StdioConnection | undefined
  }
}

export default fp<{ config: Config; version: string }>(
  async (app, { config: { daemon }, version }) => {
    // Nobody names a connection; it names itself, so that its calls are told from those of others.
    const caller = { transport: 'stdio', agentId: `stdio-${randomBytes(4).toString('hex')}` } as const
    const onError = (error: unknown) => app.log.debug({ err: error }, 'stdio')
    app.decorate('stdio', undefined)
    app.addHook('onReady', async () => {
      if (daemon.transport === 'http') return
      app.stdio = serveStdio({
        input: process.stdin,
        output: process.stdout,
        operations,
        call: app.call,
        caller,
        openMcp: async (send) => {
          const { createMcpStream } = await import('../src/mcp/stdio.ts')
          const maxWaitSeconds = daemon.mcp_wait_seconds
          return createMcpStream({ send, onError, operations, call: app.call, version, maxWaitSeconds, caller })
        },
        maxLineBytes: app.initialConfig.bodyLimit as number,
        maxCalls: daemon.max_stdio_calls,
        drainMs: daemon.stdio_drain_seconds * 1000,
        onError
      })
    })
    app.addHook('preClose', async () => {
      await app.stdio?.close()
    })
  },
  { name: 'stdio', dependencies: ['operations'] }
)
