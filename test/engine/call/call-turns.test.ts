// How many calls one turn of the event loop begins, and that a server which never rests still takes new connections.
import { EventEmitter } from 'node:events'
import { setImmediate } from 'node:timers/promises'
import t from 'tap'
import { createCallTurns } from '../../../src/engine/call/call-turns.ts'
import { cannotStop } from '../../fixtures/processes.ts'
import { openRaw, postHead } from '../../fixtures/raw-http.ts'
import { startOneProgram } from '../../fixtures/server.ts'
import { makeTree } from '../../fixtures/tree.ts'

// Fewer than the system lets wait to be accepted.
const connectionCount = 400

/** Longer than a slice, and than the time after a connection in which calls always begin in slices. */
const [longMs, settledMs] = [5, 2000]

t.test('the last of many connections that come at once is answered soon', { skip: cannotStop }, async (t) => {
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

t.test('calls beyond a slice begin in later turns of the event loop, in the order in which they came', async (t) => {
  let now = 0
  const turns = createCallTurns(() => now)
  for (let client = 0; client < 16; client += 1) turns.noteClient(new EventEmitter())
  now += settledMs
  const begun: number[] = []
  const call = async (number: number) => {
    const turn = turns.next()
    if (turn !== undefined) await turn
    begun.push(number)
    now += longMs
  }
  const all = Promise.all([1, 2, 3].map(call))
  t.strictSame(begun, [1])
  await setImmediate()
  t.strictSame(begun, [1, 2], 'each of them uses up a slice')
  await all
  t.strictSame(begun, [1, 2, 3])
})

t.test('while few clients are connected, or hundreds, all calls begin at once', async (t) => {
  let now = 0
  const turns = createCallTurns(() => now)
  const clients = Array.from({ length: 129 }, () => new EventEmitter())
  for (const client of clients) turns.noteClient(client)
  const isSliced = async () => {
    await setImmediate()
    const first = turns.next()
    now += longMs
    const second = turns.next()
    await second
    return first !== undefined || second !== undefined
  }
  t.equal(await isSliced(), true, 'one has just connected')
  now += settledMs
  t.equal(await isSliced(), false)
  clients[0]?.emit('close')
  t.equal(await isSliced(), true, 'they are no hundreds any more')
  for (const client of clients.slice(1, 114)) client.emit('close')
  t.equal(await isSliced(), false, 'fifteen are left')
})
