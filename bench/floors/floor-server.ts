// A process of its own: a plain file server of Fastify that answers the calls of many agents with the bare file work. It has no lock,
// no version kept, no check of a path and no notice, and reads and writes by the quickest calls that Node has: the floor of the load.
import Fastify from 'fastify'
import { hash } from 'node:crypto'
import { lstatSync, readdirSync, readFileSync } from 'node:fs'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { replaceDurably } from './bare-work.ts'

interface Call {
  readonly path: string
  readonly expected_hash: string
  readonly patches: readonly { readonly old_string: string; readonly new_string: string }[]
}

const [root = ''] = process.argv.slice(2)
const app = Fastify()
let temporaries = 0

app.post<{ Body: Call }>('/async_read', async ({ body }) => {
  const bytes = readFileSync(join(root, body.path))
  return { status: 'ok', path: body.path, hash: hashOf(bytes), content: bytes.toString() }
})

app.post<{ Body: Call }>('/async_update', async ({ body }, reply) => {
  const path = join(root, body.path)
  const before = readFileSync(path)
  if (hashOf(before) !== body.expected_hash) return reply.code(409).send({ status: 'contention' })
  let text = before.toString()
  for (const { old_string, new_string } of body.patches) text = text.replace(old_string, new_string)
  const after = Buffer.from(text)
  await replaceDurably(path, after, `${path}.${(temporaries += 1)}.tmp`)
  return { status: 'ok', path: body.path, hash: hashOf(after) }
})

app.post<{ Body: Call }>('/async_status', async ({ body }) => {
  const { size, mtimeMs } = lstatSync(join(root, body.path))
  return { status: 'ok', path: body.path, size, mtimeMs }
})

app.post<{ Body: Call }>('/async_list', async ({ body }) => {
  const folder = join(root, body.path)
  const entries = readdirSync(folder).map((name) => ({ name, size: lstatSync(join(folder, name)).size }))
  return { status: 'ok', path: body.path, entries }
})

app.post('/lock_try', async () => ({ status: 'ok' }))
app.post('/lock_release', async () => ({ status: 'ok' }))

await app.listen({ host: '127.0.0.1', port: 0 })
process.send?.(`http://127.0.0.1:${(app.server.address() as AddressInfo).port}`)
process.once('disconnect', () => process.exit())

function hashOf(bytes: Buffer): string {
  return `sha256:${hash('sha256', bytes, 'hex')}`
}
