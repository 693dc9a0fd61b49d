// GET /openapi.json: the committed contract, which npm run generate updates.
import { readFile } from 'node:fs/promises'
import fp from 'fastify-plugin'
import { installed } from '../../src/support/installation.ts'
import { jsonType } from '../../src/transports/json-type.ts'

const path = installed('openapi/openapi.json')

export default fp(
  async (app) => {
    let document: Buffer | undefined
    app.get('/openapi.json', { config: { isPublic: true } }, async (_request, reply) => {
      document ??= await readFile(path)
      return reply.type(jsonType).send(document)
    })
  },
  { name: 'openapi', dependencies: ['access'] }
)
