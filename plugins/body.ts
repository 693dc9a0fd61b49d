// Request bodies: JSON in valid UTF-8 only.
import type { FastifyRequest } from 'fastify'
import fp from 'fastify-plugin'
import { OperationError } from '../src/errors.ts'
import { parseJson } from '../src/parse-json.ts'

export default fp(
  async (app) => {
    app.removeAllContentTypeParsers()
    app.addContentTypeParser(
      'application/json',
      { parseAs: 'buffer' },
      async (request: FastifyRequest, body: Buffer) => {
        const charset = /charset\s*=\s*"?([^";\s]+)/i.exec(request.headers['content-type'] ?? '')?.[1]
        if (charset !== undefined && !/^utf-?8$/i.test(charset)) {
          throw new OperationError('UNSUPPORTED_MEDIA_TYPE', `Request bodies are JSON in UTF-8, not ${charset}.`)
        }
        return body.length === 0 ? undefined : parseJson(body)
      }
    )
  },
  { name: 'body' }
)
