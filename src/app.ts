// The service: plugins registered by hand, in an order that shows the architecture.
import Fastify, { LogController, type FastifyInstance, type FastifyReply, type FastifyRequest } from 'fastify'
import settings, { type ReloadOptions } from '../plugins/process/settings.ts'
import degradations from '../plugins/process/degradations.ts'
import counts from '../plugins/process/counts.ts'
import tracing from '../plugins/process/tracing.ts'
import loopDelay from '../plugins/process/loop-delay.ts'
import requestBudget from '../plugins/process/request-budget.ts'
import files from '../plugins/engine/files.ts'
import eventHub from '../plugins/engine/event-hub.ts'
import locks from '../plugins/engine/locks.ts'
import differ from '../plugins/engine/differ.ts'
import commands from '../plugins/engine/commands.ts'
import watcher from '../plugins/engine/watcher.ts'
import engine from '../plugins/engine/engine.ts'
import persistence from '../plugins/tree/persistence.ts'
import authority from '../plugins/tree/authority.ts'
import memory from '../plugins/tree/memory.ts'
import errors from '../plugins/access/errors.ts'
import access from '../plugins/access/access.ts'
import body from '../plugins/access/body.ts'
import health from '../plugins/routes/health.ts'
import lockList from '../plugins/routes/lock-list.ts'
import activity from '../plugins/routes/activity.ts'
import events from '../plugins/routes/events.ts'
import openapi from '../plugins/routes/openapi.ts'
import pages from '../plugins/routes/pages.ts'
import rest from '../plugins/routes/rest.ts'
import hooks from '../plugins/routes/hooks.ts'
import fileRoutes from '../plugins/routes/file-routes.ts'
import resources from '../plugins/routes/resources.ts'
import mcp from '../plugins/routes/mcp.ts'
import stdio from '../plugins/routes/stdio.ts'
import metrics from '../plugins/routes/metrics.ts'
import { toFailure } from './transports/failures.ts'
import { pathOf, sendError } from './transports/send-error.ts'
import { answerUnparsable } from './transports/unparsable.ts'
import type { Config } from './config/config.ts'
import type { ClientStreams } from './transports/mcp/client-roots.ts'
import type { AnswerHook } from './transports/mcp/hook-tool.ts'
import { queryCheckOf } from './transports/query-check.ts'

export interface AppOptions {
  readonly config: Config
  readonly version: string
  /** Destination of the log; stdout stays free. */
  readonly logStream?: { write(line: string): void }
  /** The sources of the settings, if the service follows them while it runs. */
  readonly reload?: ReloadOptions | undefined
  /** True if no setting says whether leases and versions survive a restart: then already kept state of the tree is continued. */
  readonly followsPersistence?: boolean
  /** Of the client, if the process has read them already. */
  readonly streams?: ClientStreams | undefined
  /** For hooks that call a tool over standard input. Default: by the tree of this process. */
  readonly answerHook?: AnswerHook | undefined
  /** Called if another process has taken the tree from this one: this process must stop. */
  readonly onDisplaced?: () => void
}

/** Builds the service, ready to listen. Fails if a root cannot be used. */
export async function createApp({
  config,
  version,
  logStream = process.stderr,
  reload,
  followsPersistence = false,
  streams,
  answerHook,
  onDisplaced = () => {}
}: AppOptions): Promise<FastifyInstance> {
  const { daemon, crud } = config
  // Node would use the longer of the two for the whole request.
  const headersTimeout = Math.min(daemon.header_timeout_seconds, daemon.request_timeout_seconds) * 1000
  const app = Fastify({
    // Fastify's own lines, on failures that no handler has caught, describe the request by this.
    logger: { level: daemon.log_level, stream: logStream, serializers: { req: describeRequest } },
    logController: new LogController({ disableRequestLogging: true }),
    // A logger for each request would only add its number.
    childLoggerFactory: (logger) => logger,
    // JSON spells a text longer than its bytes: at most twice for ordinary text.
    bodyLimit: 2 * crud.max_file_size_bytes + 1_048_576,
    requestTimeout: daemon.request_timeout_seconds * 1000,
    frameworkErrors: (error, request, reply) => void answerUnroutable(app, error, request, reply),
    clientErrorHandler: answerUnparsable,
    // Pending answers go out before their connections are closed.
    forceCloseConnections: 'idle',
    // To load Fastify's own compilers would take a twentieth of a start.
    schemaController: { compilersFactory: { buildValidator: noCompiler, buildSerializer: noCompiler } },
    // A request that arrives during a stop gets our own answer, from app.call.
    return503OnClosing: false,
    http: {
      connectionsCheckingInterval: Math.min(1000, headersTimeout),
      headersTimeout,
      // Node refuses a longer time for the headers than for the whole request, and learns the latter only from here.
      requestTimeout: daemon.request_timeout_seconds * 1000
    }
  })
  // Routes are checked by what the build has compiled; their answers are plain JSON.
  app.setValidatorCompiler(queryCheckOf).setSerializerCompiler(() => JSON.stringify)
  const options = { config, version }
  // The process: its settings, and what it says of itself.
  await app.register(settings, { ...options, reload })
  await app.register(degradations)
  await app.register(counts)
  await app.register(tracing, options)
  await app.register(loopDelay)
  await app.register(requestBudget, options)
  // The engine: files, locks, differences, and the operations on them.
  await app.register(files, options)
  await app.register(eventHub, options)
  await app.register(locks, options)
  await app.register(differ, options)
  await app.register(commands)
  await app.register(watcher, options)
  await app.register(engine, options)
  // The tree: what survives a restart, and the process whose engine serves it.
  await app.register(persistence, { config, followsOthers: followsPersistence })
  await app.register(authority, { config, onDisplaced })
  await app.register(memory, options)
  // Access: who may call, and how failures are answered.
  await app.register(errors)
  await app.register(access, options)
  await app.register(body)
  // The routes and transports.
  await app.register(health)
  await app.register(lockList)
  await app.register(activity)
  await app.register(events, options)
  await app.register(openapi)
  await app.register(pages)
  await app.register(rest)
  await app.register(hooks)
  await app.register(fileRoutes)
  await app.register(resources)
  await app.register(mcp, options)
  await app.register(stdio, { ...options, streams, answerHook })
  await app.register(metrics)
  return app
}

function describeRequest(request: FastifyRequest): { method: string; path: string } {
  return { method: request.method, path: pathOf(request) }
}

/** No hook runs before Fastify's own errors: clients without access are refused here. */
async function answerUnroutable(
  app: FastifyInstance,
  error: Error,
  request: FastifyRequest,
  reply: FastifyReply
): Promise<void> {
  sendError(request, reply, (await app.refusalOf(request)) ?? toFailure(error))
}

function noCompiler(): never {
  throw new Error('The compilers of this service are set in createApp.')
}
