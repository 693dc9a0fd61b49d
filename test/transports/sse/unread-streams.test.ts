// Two hundred open boards on a busy tree: what their streams cost the server, and what becomes of those that are not read.
import { readFileSync } from 'node:fs'
import { connect as connectTcp, type Socket } from 'node:net'
import { once } from 'node:events'
import t from 'tap'
import { connect } from '../../fixtures/clients.ts'
import { follow } from '../../fixtures/event-stream.ts'
import { isFull } from '../../fixtures/length.ts'
import { startProgram } from '../../fixtures/server.ts'
import { makeTree } from '../../fixtures/tree.ts'

const skip = isFull && process.platform === 'linux' ? false : 'takes a minute, and needs /proc: npm run test:full'
const streams = 200
const bufferBytes = 262_144
const maxGrownMb = 150

t.test(
  '200 open streams of a busy tree stay within bounds, and those that are not read are ended',
  { skip },
  async (t) => {
    const folder = ['x'.repeat(200), 'y'.repeat(200), 'z'.repeat(200)].join('/')
    const names = Array.from({ length: 50 }, (_, index) => `${folder}/${index}`)
    const tree = makeTree(t, Object.fromEntries(names.map((name) => [name, 'one\n'])))
    const { url, process: server } = await startProgram(t, ['--dir', tree.root], {
      ASYNC_CRUD_MCP_EVENTS__BUFFER_BYTES: String(bufferBytes),
      ASYNC_CRUD_MCP_EVENTS__MAX_SUBSCRIBERS: String(streams + 1)
    })
    const sockets = await Promise.all(Array.from({ length: streams }, () => openUnread(url)))
    t.teardown(() => sockets.forEach((socket) => socket.destroy()))
    await follow(t, url)
    const refused = await fetch(`${url}/events`)
    t.equal(refused.status, 503, 'one more is refused')
    t.match(await refused.json(), { error_code: 'OVERLOADED', message: /events\.max_subscribers/ })

    const ann = await connect(t, 'rest', url, 'ann')
    const before = residentMb(server.pid)
    let highest = before
    // A place is free again once the server has ended a stream: in the end, all of them.
    for (let free = 0; free < streams;) {
      await ann.call('lock_try', { filepaths: names })
      await ann.call('lock_release_all')
      highest = Math.max(highest, residentMb(server.pid))
      // Such a stream takes nothing but the place.
      while (free < streams && (await fetch(`${url}/events?path=none`)).status === 200) free += 1
    }
    t.ok(highest - before < maxGrownMb, `${Math.round(highest - before)} MB more`)
  }
)

/** Asks for the events, and reads nothing. */
async function openUnread(url: string): Promise<Socket> {
  const { hostname, port } = new URL(url)
  const socket = connectTcp({ host: hostname, port: Number(port) })
  await once(socket, 'connect')
  socket.write(`GET /events HTTP/1.1\r\nhost: ${hostname}:${port}\r\n\r\n`)
  await once(socket, 'readable')
  socket.on('error', () => {})
  return socket
}

function residentMb(pid: number | undefined): number {
  return Number(/^VmRSS:\s+(\d+) kB/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1]) / 1024
}
