// Only the own user and root are let in: by real processes of other users, and on connections in every state.
import { spawnSync } from 'node:child_process'
import { chmodSync, chownSync, existsSync } from 'node:fs'
import { once } from 'node:events'
import { connect, createServer, type Server, type Socket } from 'node:net'
import t, { type Test } from 'tap'
import { createSameUserCheck } from '../../../src/transports/peer/same-user.ts'
import { startProgram, startServer } from '../../fixtures/server.ts'
import { startStdio } from '../../fixtures/stdio.ts'
import { makeTree } from '../../fixtures/tree.ts'
import { askAndLeaveAs, askAs, cannotBeOthers, connectAs, nobody, programAs, somebody } from '../../fixtures/users.ts'
import { until } from '../../fixtures/until.ts'

const root = 0
const write = (url: string, path: string) =>
  ({ url: `${url}/async_write`, method: 'POST', body: { path, content: 'x' } }) as const

t.test('another user is refused on every route, over IPv4 and IPv6', { skip: cannotBeOthers }, async (t) => {
  const tree = makeTree(t)
  const { url } = await startServer(t, tree.root, { daemon: { host: '::' } })
  const { port } = new URL(url)
  const addresses = [url, `http://[::1]:${port}`, `http://[::ffff:127.0.0.1]:${port}`]
  const paths = ['/health', '/locks', '/mcp', '/docs', '/openapi.json', '/nothing', '/%zz', '/async_read']
  const asked = addresses.flatMap((address) => paths.map((path) => ({ url: address + path })))
  const answers = await askAs(nobody, [...asked, ...addresses.map((address) => write(address, 'f'))])
  t.equal(answers.length, addresses.length * (paths.length + 1))
  for (const [index, { status, body }] of answers.entries()) {
    const refusal = {
      status: 'error',
      error_code: 'FORBIDDEN_USER',
      message: /own user \(0\).*another user.*\(65534\)/
    }
    t.match({ status, body }, { status: 403, body: refusal }, asked[index]?.url ?? 'a change')
  }
  t.strictSame(tree.all(), [])
  t.match(await askAs(root, [write(url, 'f'), write(`http://[::1]:${port}`, 'g')]), [{ status: 200 }, { status: 200 }])
  t.strictSame(tree.all(), ['f', 'g'])
})

t.test('the program of a user answers him and root, and nobody else', { skip: cannotBeOthers }, async (t) => {
  const tree = makeTree(t)
  chownSync(tree.root, nobody, nobody)
  const { url, stderr } = await startProgram(
    t,
    ['--dir', tree.root, '--log-level', 'debug'],
    { HOME: tree.root },
    programAs(nobody)
  )
  const health = { url: `${url}/health` }
  const [first, second] = await askAs(nobody, [health, health])
  t.match([first, second], [{ status: 200 }, { status: 200 }])
  t.equal(first?.port, second?.port, 'on one connection')
  t.match(await askAs(root, [health]), [{ status: 200 }])
  t.match(await askAs(somebody, [health, health]), [
    { status: 403, body: { error_code: 'FORBIDDEN_USER' } },
    { status: 403, body: { error_code: 'FORBIDDEN_USER' } }
  ])
  await askAndLeaveAs(somebody, write(url, 'f'))
  const refusals = () => stderr.filter((line) => line.includes('access refused'))
  await until(() => refusals().length >= 3)
  t.notOk(tree.all().includes('f'))
})

t.test('the socket by which processes of a tree meet is for its user alone', { skip: cannotBeOthers }, async (t) => {
  const tree = makeTree(t)
  chownSync(tree.root, nobody, nobody)
  chmodSync(tree.root, 0o777)
  await startProgram(t, ['--dir', tree.root], { HOME: tree.root }, programAs(nobody))
  const path = tree.path('.async-crud-mcp/authority.sock')
  await until(() => existsSync(path))
  t.equal(await connectAs(nobody, path), 'connected')
  t.equal(await connectAs(somebody, path), 'EACCES')
})

t.test('same_user_only false lets every user in', { skip: cannotBeOthers }, async (t) => {
  const { url } = await startServer(t, makeTree(t).root, { daemon: { same_user_only: false } })
  t.match(await askAs(nobody, [{ url: `${url}/health` }]), [{ status: 200 }])
})

const cannotMask =
  cannotBeOthers || (spawnSync('unshare', ['--mount', 'true']).status !== 0 && 'no mounts of its own here')

t.test('where the table is masked the program says so and lets everybody in', { skip: cannotMask }, async (t) => {
  const mask = 'mount -t tmpfs tmpfs /proc/$$/net && exec "$@"'
  const program = startStdio(t, ['--dir', makeTree(t).root], {
    through: ['unshare', '--mount', 'sh', '-c', mask, 'sh']
  })
  const url = await program.url()
  t.match(await askAs(nobody, [{ url: `${url}/health` }]), [{ status: 200 }])
  t.equal(program.stderr.filter((line) => line.includes('every user of this machine can call the server')).length, 1)
})

t.test('a connection is looked up once', async (t) => {
  const { server, check } = await open(t)
  for (const host of ['127.0.0.1', '::ffff:127.0.0.1', '::1']) {
    const [, socket] = await accept(t, server, host)
    t.type(check.refusalOf(socket), Promise, host)
    t.equal(await check.refusalOf(socket), undefined)
    t.equal(check.refusalOf(socket), undefined, 'without a look')
  }
})

t.test('of a hundred connections at once each is found', async (t) => {
  const { server, check } = await open(t)
  const sockets: Socket[] = []
  for (let count = 0; count < 100; count += 1) sockets.push((await accept(t, server, '127.0.0.1'))[1])
  t.strictSame([...new Set(await Promise.all(sockets.map(async (socket) => check.refusalOf(socket))))], [undefined])
})

t.test('who has closed his end is not taken for root', async (t) => {
  const { server, check } = await open(t)
  for (const close of ['destroy', 'resetAndDestroy'] as const) {
    const [client, socket] = await accept(t, server, '127.0.0.1')
    client[close]()
    t.match(await check.refusalOf(socket), { code: 'FORBIDDEN_USER', message: /not found/ }, close)
  }
})

t.test('who is given the port of a client that has gone does not speak for it', async (t) => {
  const { server, check } = await open(t)
  const socket = await successorOf(t, server)
  t.match(await check.refusalOf(socket), { code: 'FORBIDDEN_USER', message: /not found/ })
})

/** The server's end of a connection whose client has gone, and whose port somebody else has by now. */
async function successorOf(t: Test, server: Server, attempts = 20): Promise<Socket> {
  const [client, socket] = await accept(t, server, '127.0.0.1')
  const { localPort } = client
  client.resetAndDestroy()
  try {
    await accept(t, server, '127.0.0.1', localPort)
    return socket
  } catch (error) {
    // Another program was given it first.
    if (attempts === 1 || !(error instanceof Error) || !error.message.includes('EADDRINUSE')) throw error
    return successorOf(t, server, attempts - 1)
  }
}

async function open(t: Test) {
  const check = createSameUserCheck()
  if (check === undefined) throw new Error('this system does not tell whose a connection is')
  // What arrives on a connection stays with the system, so that the server does not notice its end.
  const server = createServer({ pauseOnConnect: true }).listen(0, '::')
  await once(server, 'listening')
  t.teardown(() => server.close())
  return { server, check }
}

/** Both ends of a new connection. */
async function accept(t: Test, server: Server, host: string, localPort?: number): Promise<[Socket, Socket]> {
  const { port } = server.address() as { port: number }
  const client = connect({ host, port, ...(localPort !== undefined && { localPort }) }).on('error', () => {})
  const accepted = once(server, 'connection') as Promise<[Socket]>
  await once(client, 'connect')
  const [socket] = await accepted
  t.teardown(() => [client, socket].map((end) => end.destroy()))
  return [client, socket]
}
