// Several processes on one tree: one engine, reached from everywhere with nothing lost on the way.
import { existsSync, mkdirSync } from 'node:fs'
import type { CalledOperation } from '../../../src/engine/call/context.ts'
import t from 'tap'
import { meetAt } from '../../../src/tree/coordinator/meeting-point.ts'
import { openAddress } from '../../../src/tree/coordinator/address.ts'
import { createAuthorityServer } from '../../../src/tree/authority/authority-server.ts'
import { openChannel, type Channel } from '../../../src/tree/authority/channel.ts'
import { protocol, type AuthorityMessage, type RelayMessage } from '../../../src/tree/authority/messages.ts'
import { connectFirst } from '../../../src/tree/authority/relay.ts'
import { createByteBudget } from '../../../src/engine/budget/byte-budget.ts'
import { createAuthorityLock } from '../../../src/tree/state/authority-lock.ts'
import { createStateDirectory } from '../../../src/tree/state/state-directory.ts'
import { thisProcess } from '../../../src/tree/state/state-file.ts'
import { skipOnHosts } from '../../fixtures/behind.ts'
import { connect, type Answer } from '../../fixtures/clients.ts'
import {
  call,
  cannotStop,
  healthOf,
  httpOn,
  memberOn,
  own,
  post,
  stdioOn,
  stopProcess,
  untilQueued
} from '../../fixtures/processes.ts'
import { patientStop, runProgram, startOneProgram, startProgram, startServer } from '../../fixtures/server.ts'
import { preload } from '../../fixtures/preload.ts'
import { rootOf } from '../../fixtures/root-of.ts'
import { startStdio } from '../../fixtures/stdio.ts'
import { hashOf, makeTree } from '../../fixtures/tree.ts'
import { until } from '../../fixtures/until.ts'

t.test('processes of every transport on one tree share one queue, each with the identity of its clients', async (t) => {
  const tree = makeTree(t, { f: 'one' })
  const http = await httpOn(t, tree)
  const other = await memberOn(t, tree)
  const [first, second] = [stdioOn(t, tree), stdioOn(t, tree)]
  t.match(await healthOf(http.url), { role: 'authority', authority_pid: http.process.pid })
  t.match(await healthOf(other.url), { role: 'relay', authority_pid: http.process.pid })

  const { results } = await call(first, 'lock_try', { filepaths: ['f'], note: 'mine' })
  t.match(results, [{ acquired: true }])
  const seen = await Promise.all([
    call(second, 'async_append', { path: 'f', content: '!', timeout: 0 }),
    post(http.url, 'async_append', { path: 'f', content: '!', timeout: 0 }),
    post(other.url, 'async_append', { path: 'f', content: '!', timeout: 0 })
  ])
  for (const answer of seen)
    t.match(answer, { error_code: 'LOCK_TIMEOUT', details: { holders: [{ agent_id: /^stdio-/, note: 'mine' }] } })
  t.match(await (await fetch(`${other.url}/locks`)).json(), { counts: { leases: 1 } })

  t.match(await call(first, 'async_append', { path: 'f', content: ' two' }), { status: 'ok' })
  t.match(await call(first, 'lock_release_all', {}), { status: 'ok' })
  t.match(await post(other.url, 'async_update', { path: 'f', expected_hash: hashOf('one'), content: 'x' }), {
    status: 'contention',
    modified_by: [{ agent_id: /^stdio-/, operation: 'async_append' }]
  })
  t.equal(tree.read('f'), 'one two')
})

t.test(
  'an authority that takes seconds for its welcome, on a busy machine, gets its relay all the same',
  { skip: skipOnHosts.ownFiles },
  async (t) => {
    const tree = makeTree(t, { f: 'one' })
    const lock = createAuthorityLock([rootOf(tree.root)])
    t.ok(lock.tryAcquire())
    let attempts = 0
    const point = meetAt(openAddress(tree.root, createStateDirectory(tree.root)))
    const server = await point.serve((socket) => {
      const channel: Channel<AuthorityMessage> = openChannel(socket, { onMessage: receive, onClose: () => {} })
      function receive(message: RelayMessage): void {
        if (message.type === 'call') channel.send({ type: 'result', id: message.id, result: { status: 'ok' } })
        if (message.type !== 'hello') return
        attempts += 1
        const settings = { crud: {}, locks: {} }
        const welcome = {
          type: 'welcome',
          pid: process.pid,
          settings,
          state: undefined,
          roots: [tree.root],
          lineage: undefined
        } as const
        setTimeout(() => channel.send(welcome), 1300)
      }
    })
    const relay = stdioOn(t, tree)
    t.match(await call(relay, 'async_read', { path: 'f' }), { status: 'ok' })
    t.ok(attempts >= 2, 'a later attempt had more time than the first')
    await relay.end('SIGKILL')
    server.close()
    point.close()
    lock.release()
  }
)

t.test('a process that was only looked at owns nothing and holds nobody up', async (t) => {
  const tree = makeTree(t, { f: 'one' })
  const probe = stdioOn(t, tree)
  const params = { protocolVersion: '2025-06-18', capabilities: {}, clientInfo: { name: 'probe', version: '1' } }
  await probe.call('initialize', params)
  t.match(await probe.call('tools/list'), { result: { tools: Array } })
  t.strictSame(tree.own(), [])
  const { url } = await memberOn(t, tree)
  t.match(await post(url, 'async_read', { path: 'f' }), { content: 'one' })
  await probe.end('SIGKILL')
  t.match(await post(url, 'async_append', { path: 'f', content: '!' }), { status: 'ok' })
})

t.test('progress, cancelling and going away pass through a relay', async (t) => {
  const tree = makeTree(t, { f: 'one' })
  const authority = await memberOn(t, tree)
  const relay = await memberOn(t, tree)
  t.match(await healthOf(relay.url), { role: 'relay' })
  await post(authority.url, 'lock_try', { filepaths: ['f'], agent_id: 'holder' })
  for (const transport of ['mcp-2026', 'mcp-2025'] as const) {
    const client = await connect(t, transport, relay.url)
    const controller = new AbortController()
    const progress: (string | undefined)[] = []
    const waiting = client.call(
      'async_append',
      { path: 'f', content: '!', agent_id: transport },
      { signal: controller.signal, onProgress: (message) => progress.push(message) }
    )
    await untilQueued(authority.url, 'f', 1)
    await until(() => progress.length > 0)
    t.match(progress[0], /position 1 of 1/)
    controller.abort()
    await t.rejects(waiting)
    await untilQueued(authority.url, 'f', 0)
  }
  const program = stdioOn(t, tree)
  program.send({ jsonrpc: '2.0', id: 1, method: 'async_append', params: { path: 'f', content: '!' } })
  await untilQueued(authority.url, 'f', 1)
  await program.end('SIGKILL')
  await untilQueued(authority.url, 'f', 0)
  t.equal(tree.read('f'), 'one')
})

t.test('what a relay had taken ends with it, with its connection and with its sessions', async (t) => {
  const tree = makeTree(t)
  const authority = await memberOn(t, tree)
  const leases = async () =>
    ((await (await fetch(`${authority.url}/locks`)).json()) as Answer)['counts'].leases as number
  const untilFree = async () => {
    await until(async () => (await leases()) === 0)
  }
  for (const end of ['SIGTERM', undefined] as const) {
    const program = stdioOn(t, tree)
    await call(program, 'lock_try', { filepaths: ['a', 'b'], agent_id: 'ann' })
    t.equal(await leases(), 2)
    await program.end(end)
    await untilFree()
  }
  const relay = startStdio(t, ['--transport', 'dual', '--dir', tree.root])
  const client = await connect(t, 'mcp-2025', await relay.url())
  await client.call('lock_try', { filepaths: ['a'] })
  await call(relay, 'lock_try', { filepaths: ['b', 'c'], agent_id: 'ann' })
  t.equal(await leases(), 3)
  // The client's own close ends no session; the process of the relay does.
  await relay.end('SIGKILL')
  await untilFree()
})

t.test(
  'when the authority is killed another takes over: calls are answered, leases stay, and tokens grow',
  async (t) => {
    const tree = makeTree(t, { f: 'one', g: 'g' })
    const first = stdioOn(t, tree)
    t.match(await call(first, 'async_read', { path: 'f' }), { content: 'one' })
    const http = await memberOn(t, tree)
    const second = stdioOn(t, tree)
    const [lease] = (await call(second, 'lock_try', { filepaths: ['f'], agent_id: 'ann' }))['results'] as Answer[]
    // One call of each kind is under way: a change that waits, and one that reads, which are told apart.
    await post(http.url, 'lock_try', { filepaths: ['g'], agent_id: 'bob' })
    const change = call(second, 'async_append', { path: 'g', content: '!', agent_id: 'ann' })
    await untilQueued(http.url, 'g', 1)
    const wait = call(second, 'lock_wait', { filepaths: ['g'], agent_id: 'cyd' })
    await untilQueued(http.url, 'g', 2)
    await first.end('SIGKILL')
    const fencing_token = lease?.['fencing_token'] as number
    const append = { path: 'f', content: '?', timeout: 0 }
    t.match(await post(http.url, 'async_append', append), { error_code: 'LOCK_TIMEOUT' })
    t.match(await call(second, 'async_append', { ...append, fencing_token, agent_id: 'ann' }), { status: 'ok' })
    t.match(await post(http.url, 'async_append', { path: 'g', content: '!', agent_id: 'bob' }), { status: 'ok' })
    await post(http.url, 'lock_release', { filepaths: ['g'], agent_id: 'bob' })
    t.match(
      await wait,
      { all_acquired: true },
      'its place is before that of the change, which has joined the queue anew'
    )
    await call(second, 'lock_release', { filepaths: ['g'], agent_id: 'cyd' })
    t.match(await change, { status: 'ok' }, 'the change has waited on, for the lease that stayed')
    t.equal(tree.read('f') + tree.read('g'), 'one?g!!')
    await call(second, 'lock_release', { filepaths: ['f'], agent_id: 'ann' })
    const [again] = (await call(second, 'lock_try', { filepaths: ['f'], agent_id: 'ann' }))['results'] as Answer[]
    t.ok(again?.['fencing_token'] > fencing_token)
    const { role, authority_pid: pid } = await healthOf(http.url)
    t.equal(pid, role === 'authority' ? process.pid : second.process.pid)
  }
)

/** Whole, so that a failed run tells what was answered. */
function failuresOf(answers: readonly Answer[]): Answer[] {
  return answers.filter(({ status }) => status !== 'ok')
}

t.test('an authority that stops hands over: what is asked meanwhile is answered by the next', async (t) => {
  const tree = makeTree(t, { f: '' })
  const first = await startProgram(t, ['--dir', tree.root], patientStop)
  await fetch(`${first.url}/locks`)
  const { url } = await memberOn(t, tree)
  const stopped = first.stop('SIGTERM')
  const answers = await Promise.all(
    Array.from({ length: 50 }, (_, index) => post(url, 'async_append', { path: 'f', content: `${index},` }))
  )
  t.strictSame(failuresOf(answers), [])
  t.equal((await stopped).code, 0)
  t.equal(tree.read('f').split(',').length, 51)
  t.match(await healthOf(url), { role: 'authority', authority_pid: process.pid })
})

t.test(
  'what a relay that stood still is asked after the authority has ended is answered by the next',
  { skip: cannotStop },
  async (t) => {
    const tree = makeTree(t, { f: '' })
    let authority = stdioOn(t, tree)
    await call(authority, 'async_read', { path: 'f' })
    for (const [ends, signal] of (['SIGTERM', 'SIGKILL'] as const).entries()) {
      const relay = stdioOn(t, tree)
      await call(relay, 'async_read', { path: 'f' })
      await stopProcess(relay.process)
      // They lie in the relay's standard input before the end of the authority lies in its socket.
      const calls = Array.from({ length: 50 }, (_, index) =>
        call(relay, 'async_append', { path: 'f', content: `${index},` })
      )
      await authority.end(signal)
      relay.process.kill('SIGCONT')
      t.strictSame(failuresOf(await Promise.all(calls)), [], signal)
      t.equal(tree.read('f').split(',').length, 50 * (ends + 1) + 1, signal)
      authority = relay
    }
  }
)

t.test('a relay that stops takes back what waits for it elsewhere', async (t) => {
  const tree = makeTree(t, { f: 'one' })
  const authority = await memberOn(t, tree)
  const relay = await startProgram(t, ['--dir', tree.root], patientStop)
  await fetch(`${relay.url}/locks`)
  await post(authority.url, 'lock_try', { filepaths: ['f'], agent_id: 'holder' })
  // Longer than the test may take: it ends by being taken back.
  const append = { path: 'f', content: '!', agent_id: 'ann', timeout: 300 }
  const waiting = post(relay.url, 'async_append', append)
  await untilQueued(authority.url, 'f', 1)
  const { code } = await relay.stop()
  t.match(await waiting, { error_code: 'CANCELLED', message: /Nothing was changed/ })
  t.equal(code, 0)
  await untilQueued(authority.url, 'f', 0)
})

t.test(
  'an authority that hangs is waited for, and not for ever',
  { skip: cannotStop || skipOnHosts.ownFiles },
  async (t) => {
    const tree = makeTree(t, { f: 'one' })
    const first = await httpOn(t, tree)
    const hasty = { daemon: { authority_timeout_seconds: 0.4 } }
    const second = await startServer(t, tree.root, hasty)
    const known = await startServer(t, tree.root, hasty)
    const answerOf = async (url: string): Promise<Answer> => {
      const read = await post(url, 'async_read', { path: 'f' })
      return read['error_code'] === 'OVERLOADED' ? answerOf(url) : read
    }
    t.match(await answerOf(known.url), { content: 'one' })
    first.process.kill('SIGSTOP')
    t.match(await post(second.url, 'async_read', { path: 'f' }), {
      error_code: 'OVERLOADED',
      message: new RegExp(`^Process ${first.process.pid}, which has the lock of this tree, does not answer`),
      details: { authority_pid: first.process.pid }
    })
    const [change, read] = [
      post(known.url, 'async_append', { path: 'f', content: '!' }),
      post(known.url, 'async_read', { path: 'f' })
    ]
    t.match(await change, { error_code: 'AUTHORITY_LOST' })
    t.match(await read, { error_code: 'OVERLOADED' })
    first.process.kill('SIGCONT')
    t.match(await answerOf(second.url), { content: 'one' })
  }
)

t.test(
  'one tree is not served as two: other roots, a part of it, and a root of another are refused',
  { skip: skipOnHosts.partOfATree },
  async (t) => {
    const tree = makeTree(t, { 'one/f': '1', 'two/f': '2', 'one/deep/f': '3' })
    mkdirSync(tree.path('three'))
    const { app } = await startServer(t, [tree.path('one'), tree.path('two')])
    await app.tree.join()
    const other = /serves this tree with the roots .*two.*same --dir/
    const within = /lies in .*one, which process \d+.* already serves.*use that one/
    const cases: [string[], RegExp][] = [
      [['one'], other],
      [['one', 'three'], /serves this tree with the roots/],
      [['two'], /already served|serves/],
      [['three', 'two'], /two is already served/],
      [['one/deep'], within]
    ]
    for (const [names, message] of cases) {
      const refused = await startServer(
        t,
        names.map((name) => tree.path(name))
      )
      await t.rejects(refused.app.tree.join(), { message }, names.join())
    }
    for (const [name, message] of [
      ['one', other],
      ['one/deep', within]
    ] as const) {
      const { code, stderr } = await runProgram(['--dir', tree.path(name), '--log-level', 'silent'])
      t.equal(code, 1, name)
      t.match(stderr, message)
      t.equal(stderr.trimEnd().split('\n').length, 1)
    }
    t.notOk(existsSync(tree.path(`three/${own}/authority.lock`)), 'nothing stays locked')
    const { url } = await startServer(t, tree.path('one'))
    t.match(await post(url, 'async_read', { path: 'f' }), { message: /same --dir/ })
  }
)

t.test(
  'a folder is not served while a part of it is: the other server is named',
  { skip: skipOnHosts.partOfATree },
  async (t) => {
    const tree = makeTree(t, { 'one/deep/f': '1' })
    const inner = await httpOn(t, { ...tree, root: tree.path('one/deep') })
    const { code, stderr } = await runProgram(['--dir', tree.root, '--log-level', 'silent'])
    t.equal(code, 1)
    const { pid } = inner.process
    t.match(
      stderr,
      new RegExp(`one/deep, a part of .*already served, by process ${pid} \\(${inner.url}.*\\): use that one`)
    )
    t.equal(stderr.trimEnd().split('\n').length, 1)
    const stdio = stdioOn(t, tree)
    t.match(await call(stdio, 'async_read', { path: 'one/deep/f' }), { message: /already served/ })
    await inner.stop()
    t.match(await call(stdio, 'async_read', { path: 'one/deep/f' }), { content: '1' })
    const within = await memberOn(t, { ...tree, root: tree.path('one/deep') })
    t.match(await post(within.url, 'async_read', { path: 'f' }), { message: /lies in .*already serves/ })
  }
)

t.test('the same on a system that has no user ids, as Windows', { skip: skipOnHosts.partOfATree }, async (t) => {
  const tree = makeTree(t, { 'outer/inner/f': '1', 'tmp/x': '' })
  // There the temporary folder belongs to the user alone.
  const windows = {
    NODE_OPTIONS: `--import=${preload('process.getuid = process.geteuid = undefined')}`,
    TMPDIR: tree.path('tmp')
  }
  const inner = await startOneProgram(t, ['--dir', tree.path('outer/inner')], windows)
  t.match(await post(inner.url, 'async_read', { path: 'f' }), { content: '1' })
  const { code, stderr } = await runProgram(['--dir', tree.path('outer'), '--log-level', 'silent'], windows)
  t.equal(code, 1)
  t.match(stderr, new RegExp(`outer/inner, a part of .*already served, by process ${inner.process.pid} `))
})

t.test('what waits in the authority for a relay counts among the bytes that it holds', async (t) => {
  const tree = makeTree(t, { f: 'one' })
  // The least budget there is: twice a request of 2 * 500,000 + 1,048,576 bytes, of which 7/8 are for large ones.
  const crud = { max_file_size_bytes: 500_000 }
  const authority = await memberOn(t, tree, { crud, daemon: { max_pending_request_bytes: 1_048_576 } })
  t.match(await post(authority.url, 'lock_try', { filepaths: ['f'], agent_id: 'ann' }), { status: 'ok' })
  const relay = await memberOn(t, tree, { crud })
  const append = { path: 'f', content: 'x'.repeat(400_000), timeout: 60, agent_id: 'ben' }
  const waiting = Array.from({ length: 9 }, () => post(relay.url, 'async_append', append))
  // Eight have room and wait for ann.
  const refused = await Promise.race(waiting)
  t.match(refused, { error_code: 'OVERLOADED', message: /max_pending_request_bytes/ })
  t.match(await post(relay.url, 'lock_release_all', { agent_id: 'ann' }), { status: 'ok' })
  const codes = (await Promise.all(waiting)).map(({ status, error_code }) => (error_code ?? status) as string)
  t.equal(codes.filter((code) => code === 'OVERLOADED').length, 1, 'the others are carried out')
})

t.test('where a file system has no sockets, the processes of a tree meet at the next address', async (t) => {
  const tree = makeTree(t)
  const engine = {
    call: async () => ({ status: 'ok' }),
    disconnect: () => {},
    endPlace: () => {},
    ask: () => Promise.reject(new Error('not asked for')),
    feed: async () => () => {}
  }
  const roots = [tree.root]
  const settings = () => ({ crud: {}, locks: {} })
  const status: CalledOperation = { name: 'async_status', repeats: 'always', call: async () => ({}) }
  const server = createAuthorityServer({
    engine,
    findOperation: () => status,
    names: () => roots,
    knownAs: [],
    roots,
    settings,
    state: () => undefined,
    receipts: { lineage: undefined, onLineage() {} },
    budget: createByteBudget({ maxBytes: 1_000_000, maxWorkWaitMs: 0 }),
    onRelayLost: () => {},
    onMembersChange: () => {},
    onError: (error) => t.fail(error.message)
  })
  const address = openAddress(tree.root, createStateDirectory(tree.root))
  const inFolder = address.places[0]?.path ?? ''
  const point = meetAt({
    ...address,
    bind: (listen) =>
      address.bind(async (path, secret) => {
        if (path.startsWith(inFolder)) throw new Error('no sockets here')
        await listen(path, secret)
      })
  })
  await server.listen(point)
  t.teardown(() => {
    server.stopListening()
    address.close()
  })
  t.ok(address.isInPlace())
  const member = { ...thisProcess, transport: 'stdio', host: '127.0.0.1', port: null } as const
  const hello = { type: 'hello', protocol, roots, known_as: [], member, connections: [] } as const
  const { signal } = new AbortController()
  const relay = await connectFirst(point.targets, { hello, signal, silenceMs: () => 1000 })
  const call = { caller: { transport: 'internal' }, signal: new AbortController().signal } as const
  t.match(await relay.call(status, {}, call), { status: 'ok' })
  relay.close()
  await relay.closed
})
