// The service: plugins registered by hand, in an order that reads as the architecture.
import Fastify, { LogController, type FastifyInstance, type FastifyReply, type FastifyRequest } from 'fastify'
import access from '../plugins/access.ts'
import authority from '../plugins/authority.ts'
import body from '../plugins/body.ts'
import degradations from '../plugins/degradations.ts'
import differ from '../plugins/differ.ts'
import docs from '../plugins/docs.ts'
import eventHub from '../plugins/event-hub.ts'
import errors, { answerUnparsable, pathOf, sendError, toFailure } from '../plugins/errors.ts'
import events from '../plugins/events.ts'
import files from '../plugins/files.ts'
import health from '../plugins/health.ts'
import lockList from '../plugins/lock-list.ts'
import locks from '../plugins/locks.ts'
import mcp from '../plugins/mcp.ts'
import openapi from '../plugins/openapi.ts'
import operations from '../plugins/engine.ts'
import persistence from '../plugins/persistence.ts'
import requestBudget from '../plugins/request-budget.ts'
import resources from '../plugins/resources.ts'
import rest from '../plugins/rest.ts'
import settings, { type ReloadOptions } from '../plugins/settings.ts'
import stdio from '../plugins/stdio.ts'
import watcher from '../plugins/watcher.ts'
import type { Config } from './config/config.ts'

export interface AppOptions {
  readonly config: Config
  readonly version: string
  /** Where the log goes; stdout stays free. */
  readonly logStream?: { write(line: string): void }
  /** Where the settings come from, if they are to be followed while the service runs. */
  readonly reload?: ReloadOptions | undefined
  /** True where nobody has said whether leases and versions are to survive a restart: what is kept of the tree already is gone on with. */
  readonly followsPersistence?: boolean
  /** Called where another process has taken the tree although this one had it: this one must stop. */
  readonly onDisplaced?: () => void
}

/** Builds the service, ready to listen. Fails where a root cannot be used. */
export async function createApp({
  config,
  version,
  logStream = process.stderr,
  reload,
  followsPersistence = false,
  onDisplaced = () => {}
}: AppOptions): Promise<FastifyInstance> {
  const { daemon, crud } = config
  // Node would take the longer of the two for that of the whole request.
  const headersTimeout = Math.min(daemon.header_timeout_seconds, daemon.request_timeout_seconds) * 1000
  const app = Fastify({
    // Fastify's own lines, of failures that no handler has caught, name the request by this.
    logger: { level: daemon.log_level, stream: logStream, serializers: { req: describeRequest } },
    logController: new LogController({ disableRequestLogging: true }),
    // JSON spells a text longer than its bytes: at most twice for ordinary text.
    bodyLimit: 2 * crud.max_file_size_bytes + 1_048_576,
    requestTimeout: daemon.request_timeout_seconds * 1000,
    frameworkErrors: (error, request, reply) => void answerUnroutable(app, error, request, reply),
    clientErrorHandler: answerUnparsable,
    // Answers under way go out before their connections are closed.
    forceCloseConnections: 'idle',
    // Operations check their inputs themselves: what Fastify would load for it is a twentieth of a start.
    schemaController: { compilersFactory: { buildValidator: noSchemas, buildSerializer: noSchemas } },
    // A request that arrives while the server stops gets our own answer, from app.call.
    return503OnClosing: false,
    http: {
      connectionsCheckingInterval: Math.min(1000, headersTimeout),
      headersTimeout,
      // Node refuses a longer time for the headers than for the whole, which it knows from here alone.
      requestTimeout: daemon.request_timeout_seconds * 1000
    }
  })
  const options = { config, version }
  await app.register(settings, { ...options, reload })
  await app.register(degradations)
  await app.register(requestBudget, options)
  // The engine.
  await app.register(files, options)
  await app.register(eventHub, options)
  await app.register(locks, options)
  await app.register(differ, options)
  await app.register(watcher, options)
  await app.register(operations, options)
  // What of it survives.
  await app.register(persistence, { config, followsOthers: followsPersistence })
  // Whose engine: one for the whole tree.
  await app.register(authority, { config, onDisplaced })
  // The door.
  await app.register(errors)
  await app.register(access, options)
  await app.register(body)
  // What stands on it.
  await app.register(health)
  await app.register(lockList)
  await app.register(events, options)
  await app.register(openapi)
  await app.register(docs)
  await app.register(rest)
  await app.register(resources)
  await app.register(mcp, options)
  await app.register(stdio, options)
  return app
}

function describeRequest(request: FastifyRequest): { method: string; path: string } {
  return { method: request.method, path: pathOf(request) }
}

/** No hook runs before Fastify's own complaints: who may not ask is refused here. */
async function answerUnroutable(
  app: FastifyInstance,
  error: Error,
  request: FastifyRequest,
  reply: FastifyReply
): Promise<void> {
  sendError(request, reply, (await app.refusalOf(request)) ?? toFailure(error))
}

function noSchemas(): never {
  throw new Error('A route has a schema: give Fastify a compiler for it.')
}
