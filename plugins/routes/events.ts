// GET /events: what happens to files and locks, as Server-Sent Events.
import type { TypeBoxTypeProvider } from '@fastify/type-provider-typebox'
import fp from 'fastify-plugin'
import { routes } from '../../schemas/routes.ts'
import type { Config } from '../../src/config/config.ts'
import { toEventFilter } from '../../src/engine/events/event-filter.ts'
import { createEventStreams } from '../../src/transports/sse/event-streams.ts'
import { describe, readLastId, tooManyStreams } from '../../src/transports/sse/event-request.ts'
import { logNumberOf, type Recalled } from '../../src/engine/events/tree-event.ts'

export default fp<{ config: Config }>(
  async (app, { config }) => {
    const { events } = app
    const streams = createEventStreams({
      events,
      maxBytes: config.events.buffer_bytes,
      beatMs: config.events.heartbeat_seconds * 1000
    })
    let opening = 0

    const typed = app.withTypeProvider<TypeBoxTypeProvider>()
    typed.get('/events', { schema: routes['/events'], exposeHeadRoute: false }, async (request, reply) => {
      const { types, path: paths = [], agent_id: agentId } = request.query
      const input = { types, paths, agentId }
      const filter = toEventFilter(input, app.files)
      const { max_subscribers } = app.settings.current.events
      if (streams.size + opening >= max_subscribers) throw tooManyStreams(max_subscribers)
      const after = readLastId(request.headers)
      opening += 1
      let recalled: Recalled | undefined
      try {
        await app.tree.bringEvents()
        recalled = await recall(after)
      } finally {
        opening -= 1
      }
      streams.open(reply.raw, filter, describe(input, filter), { after, recalled }, () => {
        reply.hijack()
      })
    })

    /** What the log has of the time since, if the hub has not kept it. */
    async function recall(after: string | undefined): Promise<Recalled | undefined> {
      const since = after === undefined || events.isKept(after) ? undefined : logNumberOf(after)
      if (since === undefined) return undefined
      return app.tree.ask({ type: 'list_changes', since, limit: app.settings.current.events.buffer_events })
    }
  },
  { name: 'events', dependencies: ['event-hub', 'authority', 'errors', 'access'] }
)
