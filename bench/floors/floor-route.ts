// A process of its own with an empty Fastify route, which takes a JSON body and answers a given number of bytes: the floor (b) of the hot path.
import Fastify from 'fastify'
import type { AddressInfo } from 'node:net'
import '../load/delay-monitor.ts'

const app = Fastify({ bodyLimit: 64 * 1_048_576, onProtoPoisoning: 'ignore', onConstructorPoisoning: 'ignore' })
const answers = new Map<number, Buffer>()

app.post<{ Params: { bytes: string } }>('/:bytes', async (request, reply) => {
  const bytes = Number(request.params.bytes)
  const answer = answers.get(bytes) ?? Buffer.alloc(bytes, 'x')
  answers.set(bytes, answer)
  return reply.type('application/json; charset=utf-8').send(answer)
})

await app.listen({ host: '127.0.0.1', port: 0 })
process.send?.(`http://127.0.0.1:${(app.server.address() as AddressInfo).port}`)
process.once('disconnect', () => process.exit())
