// GET /locks: all held locks and waiting requests, for people and dashboards.
import type { TypeBoxTypeProvider } from '@fastify/type-provider-typebox'
import fp from 'fastify-plugin'
import { routes } from '../schemas/routes.ts'

export default fp(
  async (app) => {
    const typed = app.withTypeProvider<TypeBoxTypeProvider>()
    typed.get('/locks', { schema: routes['/locks'] }, ({ query: { after, limit } }) => app.tree.listLocks(after, limit))
  },
  { name: 'lock-list', dependencies: ['authority', 'errors', 'access'] }
)
