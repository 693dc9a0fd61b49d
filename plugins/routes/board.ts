// GET /board: a page that shows the tree live. It works offline: this server serves all its files, and the page reads what every client can read.
import { readFile } from 'node:fs/promises'
import type { FastifyReply, FastifyRequest } from 'fastify'
import fp from 'fastify-plugin'
import { routes } from '../../schemas/routes.ts'
import { installed } from '../../src/support/installation.ts'
import { preferredType } from '../../src/transports/accept.ts'
import { notFound } from '../../src/transports/route-hints.ts'

const files = [
  { path: '/board', name: 'index.html', type: 'text/html; charset=utf-8', schema: routes['/board'] },
  { path: '/board/', name: 'index.html', type: 'text/html; charset=utf-8', schema: routes['/board'] },
  { path: '/board/board.js', name: 'board.js', type: 'text/javascript; charset=utf-8' },
  { path: '/board/board.css', name: 'board.css', type: 'text/css; charset=utf-8' },
  { path: '/board/icon.svg', name: 'icon.svg', type: 'image/svg+xml' }
]

/** Replaces the policy of all other answers. Nothing is run or styled from within the page, so that no name in it can be. */
const policy = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "img-src 'self'",
  "connect-src 'self'",
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
  "require-trusted-types-for 'script'"
].join('; ')

export default fp(
  async (app) => {
    for (const { path, name, type, schema = {} } of files) {
      // Public like /docs: the page itself shows nothing, and asks for the token that reading needs.
      app.get(path, { schema, config: { isPublic: true } }, async (_request, reply) => {
        const content = await readFile(installed(`dist/page/${name}`))
        // After an update of the server the next visit must not get the old page.
        const headers = { 'content-security-policy': policy, 'cache-control': 'no-cache' }
        return reply.type(type).headers(headers).send(content)
      })
    }
    app.get('/', { config: { isPublic: true } }, (request, reply) => leadToBoard(request, reply))
  },
  { name: 'board', dependencies: ['access', 'errors'] }
)

/** A browser is led to the board; every other client learns where the contract is, as at any address without a route. */
function leadToBoard(request: FastifyRequest, reply: FastifyReply): FastifyReply {
  reply.header('vary', 'accept')
  const { accept } = request.headers
  const wantsPage = accept !== undefined && preferredType(accept, ['application/json', 'text/html']) === 'text/html'
  if (!wantsPage) throw notFound(request.method, '/')
  return reply.redirect('/board')
}
