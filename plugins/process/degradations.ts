// app.degradations: the parts that do not work as they should, as they report it themselves.
import fp from 'fastify-plugin'
import { createDegradations, type Degradations } from '../../src/engine/budget/degradations.ts'

declare module 'fastify' {
  interface FastifyInstance {
    degradations: Degradations
  }
}

export default fp(
  async (app) => {
    app.decorate('degradations', createDegradations(app.log))
  },
  { name: 'degradations' }
)
