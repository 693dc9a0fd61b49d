// app.call: runs an operation on the engine by its name. REST and MCP are two layers over it.
import { setTimeout as delay } from 'node:timers/promises'
import fp from 'fastify-plugin'
import { OperationError } from '../src/errors.ts'
import type { Config } from '../src/config.ts'
import type { CallOperation, ServerFacts } from '../src/operations/context.ts'
import { operations } from '../src/operations/index.ts'

declare module 'fastify' {
  interface FastifyInstance {
    call: CallOperation
    serverFacts: ServerFacts
    /** When the stop must have come to its end, by performance.now(); undefined while nobody stops. */
    stopsAt: number | undefined
  }
}

export default fp<{ config: Config; version: string }>(
  async (app, { config, version }) => {
    const { locks, lostLeases, tickets, files, differ, bases } = app
    const server: ServerFacts = { version, startedAt: Date.now(), port: undefined, transport: config.daemon.transport }
    const engine = { locks, lostLeases, tickets, files, differ, bases, config, server, log: app.log }
    const byName = new Map(operations.map((operation) => [operation.name, operation]))
    const running = new Set<Promise<unknown>>()
    let isStopping = false

    app.decorate('serverFacts', server)
    app.decorate('stopsAt', undefined)
    app.decorate('call', async (name, input, call) => {
      const operation = byName.get(name)
      if (operation === undefined) throw new OperationError('ROUTE_NOT_FOUND', `Unknown operation: ${name}`)
      if (isStopping) throw stopping()
      const result = operation.call(input, { ...engine, ...call })
      const settled = result.catch(() => {})
      running.add(settled)
      void settled.finally(() => running.delete(settled))
      return result
    })

    // New calls are refused, waiting ones answered; those that hold their lock may finish, within the time the operator gives.
    app.addHook('preClose', async () => {
      isStopping = true
      locks.close()
      const limitMs = config.daemon.stop_timeout_seconds * 1000
      app.stopsAt = performance.now() + limitMs
      await Promise.race([Promise.all(running), delay(limitMs, undefined, { ref: false })])
      files.close()
      // Whoever does not take the answer by then goes without it.
      setTimeout(() => app.server.closeAllConnections(), 200).unref()
    })
  },
  { name: 'operations', dependencies: ['locks', 'files', 'differ'] }
)

function stopping(): OperationError {
  return new OperationError('OVERLOADED', 'The server is stopping. Try again when it runs again.', {
    details: { retry_after_seconds: 1 }
  })
}
