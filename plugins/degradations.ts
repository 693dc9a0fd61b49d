// app.degradations: what does not work as it should, said by the parts themselves.
import fp from 'fastify-plugin'
import { createDegradations, type Degradations } from '../src/engine/degradations.ts'

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
