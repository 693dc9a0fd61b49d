// Somebody removes or replaces what keeps the processes of a tree together: no file is served by two of them, and the tree goes on.
import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { chmodSync, existsSync, linkSync, mkdirSync, rmSync, statSync } from 'node:fs'
import { connect, createServer } from 'node:net'
import t from 'tap'
import { isAnsweringAtSocket } from '../../../src/program/background/probe-socket.ts'
import { callAuthority } from '../../../src/program/hook/call-authority.ts'
import { createAuthorityLock } from '../../../src/tree/state/authority-lock.ts'
import type { Answer } from '../../fixtures/clients.ts'
import { call, cannotStop, errorsOf, healthOf, httpOn, memberOn, own, post, stdioOn } from '../../fixtures/processes.ts'
import { rootOf } from '../../fixtures/root-of.ts'
import { startServer } from '../../fixtures/server.ts'
import { makeTree } from '../../fixtures/tree.ts'
import { until } from '../../fixtures/until.ts'

t.test('the authority puts a folder that was removed back before it does anything else', async (t) => {
  const tree = makeTree(t, { f: 'one' })
  const first = await memberOn(t, tree)
  rmSync(tree.path(own), { recursive: true, maxRetries: 10 })
  t.match(await post(first.url, 'async_append', { path: 'f', content: '!' }), { status: 'ok' })
  // The state is written anew a moment later.
  const names = tree.own().filter((name) => name !== 'live')
  t.strictSame(names, [
    '.gitignore',
    '.mcp_server_state.json',
    'authority.lock',
    'authority.secret',
    'authority.sock',
    'members.lock'
  ])
  const second = await memberOn(t, tree)
  t.match(await healthOf(second.url), { role: 'relay', authority_pid: process.pid })
  // Nobody calls, and it is put back all the same.
  rmSync(tree.path(own), { recursive: true, maxRetries: 10 })
  await until(() => existsSync(tree.path(`${own}/authority.sock`)))
  t.match(await post(second.url, 'async_append', { path: 'f', content: '?' }), { status: 'ok' })
  t.equal(tree.read('f'), 'one!?')
})

t.test(
  'an authority whose tree another process has taken meanwhile ends and answers nothing more',
  { skip: cannotStop },
  async (t) => {
    const tree = makeTree(t, { f: 'one' })
    const first = await httpOn(t, tree)
    first.process.kill('SIGSTOP')
    rmSync(tree.path(own), { recursive: true, maxRetries: 10 })
    const second = await memberOn(t, tree)
    t.match(await healthOf(second.url), { role: 'authority', authority_pid: process.pid })
    const late = post(first.url, 'async_append', { path: 'f', content: '!' })
    first.process.kill('SIGCONT')
    const refused = { error_code: /^(AUTHORITY_LOST|OVERLOADED)$/, message: /Nothing was done|stopping/ }
    t.match(await late, refused, 'refused, or it is stopping already')
    const [code] = (await once(first.process, 'close')) as [number]
    t.equal(code, 1)
    t.match(errorsOf(first), [/^another process has taken over the tree.* this process ends: start it again$/])
    t.equal(tree.read('f'), 'one')
    t.match(await post(second.url, 'async_append', { path: 'f', content: '?' }), { status: 'ok' })
  }
)

for (const removed of ['', '/authority.lock']) {
  t.test(
    `a relayed call does not reach an engine that has lost its tree (${own}${removed})`,
    { skip: cannotStop },
    async (t) => {
      const tree = makeTree(t, { f: 'one' })
      const first = await httpOn(t, tree)
      const relay = await memberOn(t, tree)
      // The call lies in the socket when the process goes on.
      first.process.kill('SIGSTOP')
      const late = post(relay.url, 'async_append', { path: 'f', content: '!', agent_id: 'ann' })
      rmSync(tree.path(own + removed), { recursive: true, maxRetries: 10 })
      const second = await memberOn(t, tree)
      t.match(await post(second.url, 'lock_try', { filepaths: ['f'], agent_id: 'bob' }), { all_acquired: true })
      const ended = once(first.process, 'exit')
      first.process.kill('SIGCONT')
      t.match(await late, { error_code: 'AUTHORITY_LOST' })
      const [code] = (await ended) as [number]
      t.equal(code, 1)
      t.equal(tree.read('f'), 'one')
      // Its end takes nothing away from the one that has the tree now.
      const third = await memberOn(t, tree)
      t.match(await post(third.url, 'async_append', { path: 'f', content: '?', timeout: 0 }), {
        details: { holders: [{ agent_id: 'bob' }] }
      })
    }
  )
}

t.test('each of the files is put back alone, and takes the place of whatever stands there', async (t) => {
  const tree = makeTree(t, { f: 'one' })
  const authority = await httpOn(t, tree)
  for (const name of ['.mcp_server_state.json', 'authority.lock', 'authority.secret', 'authority.sock']) {
    const path = tree.path(`${own}/${name}`)
    rmSync(path)
    // Nobody calls.
    await until(() => existsSync(path))
    const newcomer = await memberOn(t, tree)
    t.match(await post(newcomer.url, 'async_append', { path: 'f', content: '!' }), { status: 'ok' }, name)
  }
  for (const name of ['authority.sock', 'authority.secret']) {
    rmSync(tree.path(`${own}/${name}`))
    mkdirSync(tree.path(`${own}/${name}/in/it`), { recursive: true })
  }
  t.match(await post(authority.url, 'async_append', { path: 'f', content: '?' }), { status: 'ok' })
  const last = await memberOn(t, tree)
  t.match(await post(last.url, 'async_read', { path: 'f' }), { content: 'one!!!!?' })
  t.equal((await authority.stop()).code, 0)
})

for (const secret of [undefined, 'b'.repeat(64)]) {
  const left = secret === undefined ? 'left no secret' : 'the secret of another'
  t.test(`an impostor at the name of the socket, with ${left}, gets no message`, async (t) => {
    const tree = makeTree(t, { f: 'one' })
    if (secret !== undefined) tree.write(`${own}/authority.secret`, secret)
    const lock = createAuthorityLock([rootOf(tree.root)])
    t.ok(lock.tryAcquire())
    t.teardown(() => lock.release())
    const heard: Buffer[] = []
    // It says what it hears.
    const impostor = createServer((socket) => {
      const parts: Buffer[] = []
      socket.on('error', () => {})
      socket.on('data', (part) => {
        parts.push(part)
        socket.write(part)
      })
      socket.on('close', () => heard.push(Buffer.concat(parts)))
    })
    impostor.listen(tree.path(`${own}/authority.sock`))
    await once(impostor, 'listening')
    t.teardown(() => impostor.close())

    const refusal = /authority\.sock does not prove that it serves this tree for this user .*Stop it/
    const call = { name: 'async_read', input: { path: 'f' }, signal: new AbortController().signal }
    await t.rejects(callAuthority(tree.root, call), { message: refusal })
    t.equal(await isAnsweringAtSocket(tree.root), false)
    const { url } = await memberOn(t, tree)
    t.match(await post(url, 'async_read', { path: 'f' }), { error_code: 'SERVER_ERROR', message: refusal })
    await until(() => heard.length >= 3)
    // Numbers and proofs, if anything.
    const expected = secret === undefined ? 0 : 64
    t.strictSame([...new Set(heard.map(({ length }) => length))], [expected])
  })
}

t.test('a stranger at the socket gets no answer', async (t) => {
  const tree = makeTree(t, { f: 'one' })
  const { url } = await memberOn(t, tree)
  t.match(await post(url, 'async_read', { path: 'f' }), { content: 'one' })
  const write = { type: 'call', id: 1, name: 'async_write', input: { path: 'g', content: '' }, caller: {} }
  const say = async (...words: (Buffer | string)[]): Promise<string> => {
    const socket = connect(tree.path(`${own}/authority.sock`))
    socket.on('error', () => {})
    for (const word of words) socket.write(word)
    const parts: Buffer[] = []
    socket.on('data', (part) => parts.push(part))
    await once(socket, 'close')
    return Buffer.concat(parts).toString('latin1')
  }
  const call = `${JSON.stringify(write)}\n`
  for (const words of [[randomBytes(32), randomBytes(32), call], [call]])
    t.equal((await say(...words)).length, 32, 'a number used once, and nothing behind it')
  t.notOk(tree.all().includes('g'))
})

t.test('with several roots, what is removed in one of them is put back there', async (t) => {
  const tree = makeTree(t, { 'a/f': '1', 'b/f': '2' })
  const { url } = await startServer(t, [tree.path('a'), tree.path('b')])
  await post(url, 'async_read', { path: 'f' })
  for (const name of ['a', 'b']) {
    rmSync(tree.path(`${name}/${own}`), { recursive: true, maxRetries: 10 })
    t.match(await post(url, 'async_append', { path: tree.path(`${name}/f`), content: '!' }), { status: 'ok' })
    t.ok(existsSync(tree.path(`${name}/${own}/authority.lock`)))
  }
})

t.test('tokens grow although the file that bounds them was removed with the folder', async (t) => {
  const tree = makeTree(t)
  const first = stdioOn(t, tree)
  const lease = { filepaths: ['f'], agent_id: 'ann' }
  const tokenOf = ({ results }: Answer) => (results as Answer[])[0]?.['fencing_token'] as number
  const token = tokenOf(await call(first, 'lock_try', lease))
  const { url } = await memberOn(t, tree)
  rmSync(tree.path(own), { recursive: true, maxRetries: 10 })
  await call(first, 'async_list', { path: '.' })
  await first.end('SIGKILL')
  t.ok(tokenOf(await post(url, 'lock_try', lease)) > token)
  const late = { path: 'f', content: '', fencing_token: token, agent_id: 'ann' }
  t.match(await post(url, 'async_write', late), { error_code: 'LEASE_LOST' })
})

t.test('a hard link in the place of the lock is not written, and a linked copy is a tree of its own', async (t) => {
  const tree = makeTree(t, { precious: 'content', 'tree/f': 'one', 'copy/f': 'two' })
  mkdirSync(tree.path(`tree/${own}`))
  chmodSync(tree.path(`tree/${own}`), 0o777)
  linkSync(tree.path('precious'), tree.path(`tree/${own}/authority.lock`))
  const urlOn = async (name: string) => (await startServer(t, tree.path(name))).url
  const original = await urlOn('tree')
  t.match(await post(original, 'async_read', { path: 'f' }), { content: 'one' })
  t.equal(tree.read('precious'), 'content')
  t.equal(statSync(tree.path(`tree/${own}`)).mode & 0o777, 0o700, 'and the folder is closed to others')
  t.equal(statSync(tree.path(`tree/${own}/authority.sock`)).mode & 0o777, 0o600)

  mkdirSync(tree.path(`copy/${own}`))
  linkSync(tree.path(`tree/${own}/authority.lock`), tree.path(`copy/${own}/authority.lock`))
  t.match(await post(await urlOn('copy'), 'async_read', { path: 'f' }), { content: 'two' })
  t.match(await post(await urlOn('tree'), 'async_append', { path: 'f', content: '!' }), { status: 'ok' })
  t.match(await post(original, 'async_read', { path: 'f' }), { content: 'one!' })
})
