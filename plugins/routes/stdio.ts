// app.stdio: the plain methods and MCP on standard input and output, if the transport asks for it.
import { randomBytes } from 'node:crypto'
import fp from 'fastify-plugin'
import { agentOperations } from '../../src/operations/index.ts'
import type { Config } from '../../src/config/config.ts'
import { isErrno } from '../../src/errors.ts'
import { explainLoadError } from '../../src/support/lazy.ts'
import type { ClientStreams } from '../../src/transports/mcp/client-roots.ts'
import type { AnswerHook } from '../../src/transports/mcp/hook-tool.ts'
import { offeredTools } from '../../src/transports/mcp/offered-tools.ts'
import { serveStdio, type StdioConnection } from '../../src/transports/rpc/stdio.ts'

declare module 'fastify' {
  interface FastifyInstance {
    /** Undefined until the service is ready, and with transport `http`. */
    stdio: StdioConnection | undefined
  }
}

const leastCloseMs = 200

const loadMcp = () => import('../../src/transports/mcp/stdio.ts')

interface Options {
  readonly config: Config
  readonly version: string
  /** Default: those of the process. */
  readonly streams?: ClientStreams | undefined
  /** For hooks that call a tool. */
  readonly answerHook?: AnswerHook | undefined
}

export default fp<Options>(
  async (app, { config: { daemon, crud, events, mcp }, version, streams, answerHook }) => {
    // A connection has no name of its own; this one tells its calls from those of other connections.
    const connection = `stdio-${randomBytes(4).toString('hex')}`
    const caller = { transport: 'stdio', agentId: connection, connection } as const
    const onError = (error: unknown) => app.log.debug({ err: error }, 'stdio')
    const hangUp = () => app.tree.hangUp(connection)
    app.decorate('stdio', undefined)
    app.addHook('onReady', async () => {
      if (daemon.transport === 'http') return
      // Loads during the first message, before a new build of this folder removes the file. A failure is reported when MCP is needed.
      loadMcp().catch(() => {})
      app.stdio = serveStdio({
        ...(streams ?? { input: process.stdin, output: process.stdout }),
        operations: agentOperations,
        call: app.call,
        caller,
        openMcp: async ({ send, sendLine, isBehind }) => {
          const { createMcpStream } = await loadMcp()
          const maxWaitSeconds = daemon.mcp_wait_seconds
          return createMcpStream({
            send,
            sendLine,
            onError,
            operations: offeredTools(mcp),
            settings: mcp,
            call: app.call,
            version,
            listFiles: (after, limit) => app.tree.ask({ type: 'list_files', after, limit }),
            updates: app.resourceUpdates,
            maxResources: events.max_resources_per_session,
            isBehind,
            maxWaitSeconds,
            caller,
            answerHook
          })
        },
        onMcpTrouble: (error) =>
          app.degradations.set('mcp', error === undefined ? undefined : explainLoadError('MCP', error)),
        maxLineBytes: app.initialConfig.bodyLimit as number,
        maxCalls: daemon.max_stdio_calls,
        maxBatchAnswer: crud.max_batch_answer_bytes,
        budget: app.requestBudget,
        drainMs: daemon.stdio_drain_seconds * 1000,
        onError,
        // A call that only waits for a lease waits for something that its client can no longer use.
        onInputEnd: hangUp,
        onGone: (error) => {
          if (error === undefined || isErrno(error, 'EPIPE')) app.log.info('standard output is no longer read')
          else app.log.error({ err: error }, 'answers are lost: standard output cannot be written')
        }
      })
    })
    app.addHook('onReady', async () => {
      void app.stdio?.ended.then(hangUp)
    })
    app.addHook('preClose', async () => {
      // The operations have had their time; the rest of it is for the reader of the answers.
      await app.stdio?.close(Math.max(leastCloseMs, (app.stopsAt ?? 0) - performance.now()))
    })
  },
  { name: 'stdio', dependencies: ['degradations', 'request-budget', 'authority', 'resources'] }
)
