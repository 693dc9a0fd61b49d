// Request bodies: JSON in valid UTF-8 only, no more at once than the budget allows.
import type { IncomingMessage, ServerResponse } from 'node:http'
import type { FastifyRequest } from 'fastify'
import fp from 'fastify-plugin'
import { parseJson } from '../../src/operations/definition/parse-json.ts'
import { checkCharset, checkEncoding } from '../../src/transports/body-checks.ts'
import { readBody } from '../../src/transports/read-body.ts'

/** Fastify gives a parser only the request. A member of it costs less than an entry of a WeakMap. */
const answer = Symbol('response')

interface Answered extends IncomingMessage {
  [answer]?: ServerResponse
}

export default fp(
  async (app) => {
    const options = { maxBytes: app.initialConfig.bodyLimit as number, budget: app.requestBudget }
    app.server.prependListener('request', (request: Answered, response: ServerResponse) => {
      request[answer] = response
    })
    app.removeAllContentTypeParsers()
    app.addContentTypeParser('application/json', async ({ raw, headers }: FastifyRequest) => {
      checkCharset(headers['content-type'])
      checkEncoding(headers['content-encoding'])
      const body = await readBody(raw, (raw as Answered)[answer] as ServerResponse, options)
      return body.length === 0 ? undefined : parseJson(body)
    })
  },
  { name: 'body', dependencies: ['request-budget'] }
)
