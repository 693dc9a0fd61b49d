// GET /docs: the contract as a page on which every operation can be tried out. It works offline: this server serves all its files.
import { readFile } from 'node:fs/promises'
import fp from 'fastify-plugin'
import { routes } from '../../schemas/routes.ts'
import { installed } from '../../src/support/installation.ts'

const html = 'text/html; charset=utf-8'
const css = 'text/css; charset=utf-8'
const script = 'text/javascript; charset=utf-8'

/** Our files; read on request, so that the start of the server does not pay for them. */
const own = (name: string) => () => installed(`openapi/${name}`)
/** Swagger UI's files, which the build has put beside the program. */
const ofSwaggerUi = (name: string) => () => installed(`dist/page/${name}`)

const files = [
  { path: '/docs', schema: routes['/docs'], type: html, locate: own('docs.html') },
  { path: '/docs/', schema: routes['/docs'], type: html, locate: own('docs.html') },
  { path: '/docs/docs.js', type: script, locate: own('docs.js') },
  { path: '/docs/swagger-ui.css', type: css, locate: ofSwaggerUi('swagger-ui.css') },
  { path: '/docs/swagger-ui-bundle.js', type: script, locate: ofSwaggerUi('swagger-ui-bundle.js') },
  { path: '/docs/favicon-32x32.png', type: 'image/png', locate: ofSwaggerUi('favicon-32x32.png') }
]

/** Replaces the policy of all other answers: the browser calls this server only, runs these files only, and allows no frame. Icons are data. */
const policy = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "img-src 'self' data:",
  "connect-src 'self'",
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'"
].join('; ')

export default fp(
  async (app) => {
    for (const { path, schema = {}, type, locate } of files) {
      app.get(path, { schema, config: { isPublic: true } }, async (_request, reply) => {
        const content = await readFile(locate())
        return reply.type(type).header('content-security-policy', policy).send(content)
      })
    }
  },
  { name: 'docs', dependencies: ['access', 'openapi'] }
)
