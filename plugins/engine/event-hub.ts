// app.events: sends its followers what happens to files and locks.
import fp from 'fastify-plugin'
import type { Config } from '../../src/config/config.ts'
import { createEvents, type Events } from '../../src/engine/events/event-hub.ts'

declare module 'fastify' {
  interface FastifyInstance {
    events: Events
  }
}

export default fp<{ config: Config }>(
  async (app, { config }) => {
    const events = createEvents({
      maxKept: () => app.settings.current.events.buffer_events,
      keepMs: config.events.resume_seconds * 1000,
      logNumber: () => app.history.newest
    })
    app.decorate('events', events)
    // Streams are answers that never end: the stop must not wait for them.
    app.addHook('preClose', async () => events.close())
  },
  { name: 'event-hub', dependencies: ['settings'] }
)
