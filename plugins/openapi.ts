// GET /openapi.json: the contract, made once.
import fp from 'fastify-plugin'
import { operations } from '../src/operations/index.ts'
import { createOpenApi } from '../src/operations/openapi.ts'

export default fp<{ version: string }>(
  async (app, { version }) => {
    let document: string | undefined
    app.get('/openapi.json', async (_request, reply) => {
      document ??= JSON.stringify(createOpenApi(operations, version))
      return reply.type('application/json; charset=utf-8').send(document)
    })
  },
  { name: 'openapi' }
)
