// GET /locks: all held locks and waiting requests, for people and dashboards.
import type { TypeBoxTypeProvider } from '@fastify/type-provider-typebox'
import fp from 'fastify-plugin'
import { routes } from '../../schemas/routes.ts'

export default fp(
  async (app) => {
    const typed = app.withTypeProvider<TypeBoxTypeProvider>()
    typed.get('/locks', { schema: routes['/locks'] }, ({ query }) => app.tree.ask({ type: 'list_locks', ...query }))
  },
  { name: 'lock-list', dependencies: ['authority', 'errors', 'access'] }
)
