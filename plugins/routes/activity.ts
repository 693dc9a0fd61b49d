// GET /activity: which agents were there lately, and where they met; for the board, and for scripts.
import type { TypeBoxTypeProvider } from '@fastify/type-provider-typebox'
import fp from 'fastify-plugin'
import { routes } from '../../schemas/routes.ts'

export default fp(
  async (app) => {
    const typed = app.withTypeProvider<TypeBoxTypeProvider>()
    typed.get('/activity', { schema: routes['/activity'] }, async ({ query }) => ({
      ...(await app.tree.ask({ type: 'list_activity', ...query })),
      long_wait_seconds: app.settings.current.locks.long_wait_seconds
    }))
  },
  { name: 'activity', dependencies: ['settings', 'authority', 'errors', 'access'] }
)
