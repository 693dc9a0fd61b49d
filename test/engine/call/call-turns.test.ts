// A server that never rests still takes new connections: none waits while those before it are answered again and again.
import t from 'tap'
import { openRaw, postHead } from '../../fixtures/raw-http.ts'
import { startOneProgram } from '../../fixtures/server.ts'
import { makeTree } from '../../fixtures/tree.ts'

// Fewer than the system lets wait to be accepted.
const connectionCount = 400

t.test('the last of many connections that come at once is answered soon', async (t) => {
  const tree = makeTree(t, { a: 'a\n' })
  const { url, process: server } = await startOneProgram(t, ['--dir', tree.root])
  const body = '{"path":"a"}'
  const request = postHead(url, '/async_status', `content-length: ${body.length}`) + body
  // All are there, with a request each, before the server can accept the first.
  server.kill('SIGSTOP')
  const connections = await Promise.all(Array.from({ length: connectionCount }, () => openRaw(t, url)))
  for (const connection of connections) connection.write(request)
  server.kill('SIGCONT')
  const counts = connections.map(() => 0)
  await Promise.all(
    connections.map(async (connection, at) => {
      do {
        const { status } = await connection.answer()
        if (status !== 200) throw new Error(`answered with ${status}`)
        counts[at]! += 1
        connection.write(request)
      } while (counts.includes(0))
    })
  )
  const most = Math.max(...counts)
  t.ok(most < connectionCount / 2, `by then another one has ${most} answers`)
})
