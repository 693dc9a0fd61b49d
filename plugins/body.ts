// Request bodies: JSON in valid UTF-8 only. Fastify's own parser would turn bad bytes into U+FFFD, and they would be written.
import { isUtf8 } from 'node:buffer'
import type { FastifyRequest } from 'fastify'
import fp from 'fastify-plugin'
import { OperationError } from '../src/errors.ts'

/** More than any request of ours or of MCP has; what comes after the parser may recurse. */
const maxDepth = 64

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
        if (!isUtf8(body))
          throw new OperationError(
            'INVALID_REQUEST',
            'The request body is not valid UTF-8. Send JSON encoded in UTF-8.'
          )
        return body.length === 0 ? undefined : parse(body.toString('utf8'))
      }
    )
  },
  { name: 'body' }
)

function parse(text: string): unknown {
  let value: unknown
  try {
    value = JSON.parse(text)
  } catch (error) {
    const reason = error instanceof SyntaxError ? positionOf(error) : ''
    throw new OperationError('INVALID_REQUEST', `The request body is not valid JSON${reason}.`, { cause: error })
  }
  if (!isDeeperThan(value, maxDepth)) return value
  throw new OperationError('INVALID_REQUEST', `The request body is nested more than ${maxDepth} levels deep.`)
}

function isDeeperThan(value: unknown, depth: number): boolean {
  if (typeof value !== 'object' || value === null) return false
  return depth === 0 || Object.values(value).some((item) => isDeeperThan(item, depth - 1))
}

/** Where the fault is, without the text around it: that may be content. */
function positionOf({ message }: SyntaxError): string {
  const position = /position (\d+)/.exec(message)?.[1]
  return position === undefined ? '' : ` (at position ${position})`
}
