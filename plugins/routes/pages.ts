// GET /board: the tree live. GET /docs: the contract, with every operation to try out. Both work offline: this server serves all their files.
import { readFile } from 'node:fs/promises'
import { basename, extname } from 'node:path'
import type { FastifyReply, FastifyRequest } from 'fastify'
import fp from 'fastify-plugin'
import { routes } from '../../schemas/routes.ts'
import { installed } from '../../src/support/installation.ts'
import { preferredType } from '../../src/transports/accept.ts'
import { notFound } from '../../src/transports/route-hints.ts'

/** Of the installation; the first is the page. Read on request, so that the start of the server does not pay for them. */
const pages = [
  {
    path: '/board',
    files: ['dist/page/index.html', 'dist/page/board.js', 'dist/page/board.css', 'dist/page/icon.svg'],
    policy: policyOf("img-src 'self'", "require-trusted-types-for 'script'")
  },
  {
    path: '/docs',
    // Around what the build has copied of Swagger UI, whose icons are data.
    files: [
      'openapi/docs.html',
      'openapi/docs.js',
      'dist/page/swagger-ui.css',
      'dist/page/swagger-ui-bundle.js',
      'dist/page/favicon-32x32.png'
    ],
    policy: policyOf("img-src 'self' data:")
  }
] as const

const types: Readonly<Record<string, string>> = {
  '.html': 'text/html; charset=utf-8',
  '.js': 'text/javascript; charset=utf-8',
  '.css': 'text/css; charset=utf-8',
  '.svg': 'image/svg+xml',
  '.png': 'image/png'
}

export default fp(
  async (app) => {
    for (const { path, files, policy } of pages) {
      const [page, ...others] = files
      const serve = (address: string, file: string, schema: object) =>
        // Public: the pages themselves show nothing of the tree, and ask for the token that a call needs.
        app.get(address, { schema, config: { isPublic: true } }, async (_request, reply) => {
          const content = await readFile(installed(file))
          // After an update of the server the next visit must not get the old page.
          const headers = { 'content-security-policy': policy, 'cache-control': 'no-cache' }
          return reply.type(types[extname(file)]!).headers(headers).send(content)
        })
      for (const address of [path, `${path}/`]) serve(address, page, routes[path])
      for (const file of others) serve(`${path}/${basename(file)}`, file, {})
    }
    app.get('/', { config: { isPublic: true } }, (request, reply) => leadToBoard(request, reply))
  },
  { name: 'pages', dependencies: ['access', 'errors', 'openapi'] }
)

/** Replaces the policy of all other answers: the browser calls and runs this server's files only, nothing from within a page, and in no frame. */
function policyOf(images: string, ...more: readonly string[]): string {
  return [
    "default-src 'none'",
    "script-src 'self'",
    "style-src 'self'",
    images,
    "connect-src 'self'",
    "base-uri 'none'",
    "form-action 'none'",
    "frame-ancestors 'none'",
    ...more
  ].join('; ')
}

/** A browser is led to the board; every other client learns where the contract is, as at any address without a route. */
function leadToBoard(request: FastifyRequest, reply: FastifyReply): FastifyReply {
  reply.header('vary', 'accept')
  const { accept } = request.headers
  const wantsPage = accept !== undefined && preferredType(accept, ['application/json', 'text/html']) === 'text/html'
  if (!wantsPage) throw notFound(request.method, '/')
  return reply.redirect('/board')
}
