// What an agent relies on is there after a restart: versions and who made them, leases, places in queues, what it must be told.
import { chmodSync, existsSync, readlinkSync, statSync, symlinkSync, unlinkSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { connect, connectLegacy } from '../../fixtures/clients.ts'
import { startProgram } from '../../fixtures/server.ts'
import { hashOf } from '../../fixtures/tree.ts'
import { makeKeptTree } from './fixtures/kept.ts'

// More than a dozen programs are started, one after the other.
t.setTimeout(300_000)

t.test(
  'after a clean stop a version given out before is the base of an exact diff, with those who made the others',
  async (t) => {
    const tree = makeKeptTree(t, { 'a.txt': 'one\ntwo\nthree\n' })
    const first = await tree.serveHere()
    const { hash } = await first.call('async_read', { path: 'a.txt', agent_id: 'ann' })
    const content = 'one\n2\nthree\n'
    await first.call('async_update', { path: 'a.txt', agent_id: 'bob', expected_hash: hash, content })
    await first.server.app.close()
    tree.write('a.txt', 'one\n2\nthree\nfour\n')

    const second = await tree.serveHere()
    const stale = { path: 'a.txt', agent_id: 'ann', expected_hash: hash, content: 'mine\n', diff_format: 'unified' }
    t.match(await second.call('async_update', stale), {
      status: 'contention',
      base_known: true,
      current_hash: hashOf('one\n2\nthree\nfour\n'),
      modified_by: [
        { agent_id: 'bob', operation: 'async_update' },
        { agent_id: 'external', operation: 'external' }
      ],
      diff: { content: /-two\n\+2\n three\n\+four\n/ }
    })
    t.equal(tree.read('a.txt'), 'one\n2\nthree\nfour\n')
    t.match(await second.call('async_status'), { server: { persistence: 'enabled' }, tracked_files: 1 })
  }
)

t.test(
  'after a restart an undo brings files and links back that others have replaced, and so does its undo',
  async (t) => {
    const tree = makeKeptTree(t, { a: 'a\n', b: 'b\n' })
    symlinkSync('b', tree.path('link'))
    const first = await tree.serveHere()
    const ann = { agent_id: 'ann', overwrite: true }
    await first.call('async_rename', { old_path: 'a', new_path: 'b', ...ann })
    await first.call('async_rename', { old_path: 'b', new_path: 'link', ...ann })
    await first.call('async_write', { path: 'b', content: 'new\n', agent_id: 'ann' })
    await first.server.app.close()

    const second = await tree.serveHere()
    const answer = await second.call('async_undo', { by_agent: 'ann', agent_id: 'operator' })
    t.match(answer, { status: 'ok', conflicts: [] })
    t.same([tree.read('a'), tree.read('b'), readlinkSync(tree.path('link'))], ['a\n', 'b\n', 'b'])
    await second.server.app.close()

    const third = await tree.serveHere()
    t.match(await third.call('async_undo', { of_change_set: answer['change_set'] }), { status: 'ok', conflicts: [] })
    t.same([tree.all(), tree.read('link'), tree.read('b')], [['b', 'link'], 'a\n', 'new\n'])
  }
)

t.test(
  'after a restart what an undo has taken back is known, and what another has made again since stays',
  async (t) => {
    const tree = makeKeptTree(t, { a: 'one\n' })
    const update = (content: string, base: string) => ({ path: 'a', content, expected_hash: hashOf(base) })
    const first = await tree.serveHere()
    await first.call('async_update', { ...update('two\n', 'one\n'), agent_id: 'ann' })
    t.match(await first.call('async_undo', { by_agent: 'ann', agent_id: 'operator' }), { status: 'ok', undone: 1 })
    await first.server.app.close()

    const second = await tree.serveHere()
    await second.call('async_update', { ...update('two\n', 'one\n'), agent_id: 'bob' })
    t.match(await second.call('async_undo', { by_agent: 'ann' }), { status: 'ok', undone: 0, conflicts: [] })
    t.equal(tree.read('a'), 'two\n')
  }
)

t.test('what is kept lies in the data folder of the user, and nobody else can read it', async (t) => {
  const tree = makeKeptTree(t, { 'a.txt': 'secret\n' })
  const { call, program } = await tree.serve()
  await call('async_read', { path: 'a.txt' })
  t.match(await program.stop(), { code: 0 })
  const path = tree.statePath() as string
  t.ok(path.startsWith(tree.dataFolder))
  t.equal(statSync(join(path, '..')).mode & 0o777, 0o700)
  for (const name of [path, `${path}.lock`]) t.equal(statSync(name).mode & 0o777, 0o600)
  t.equal(statSync(`${path}.bases`).mode & 0o777, 0o700)
  t.strictSame(tree.all(), ['a.txt'])
})

t.test('a lease outlives kill -9 with its token, its note and the rest of its time', async (t) => {
  const tree = makeKeptTree(t, { 'a.txt': 'one\n', 'b.txt': 'one\n' })
  const first = await tree.serve()
  const asked = { filepaths: ['a.txt', 'b.txt'], agent_id: 'ann', ttl_seconds: 100, note: 'at work' }
  const [lease, other] = (await first.call('lock_try', asked))['results']
  await first.call('lock_release', { filepaths: ['b.txt'], agent_id: 'ann' })
  await first.program.stop('SIGKILL')

  const { call } = await tree.serveHere()
  const { fencing_token } = lease
  const [refused, free] = (await call('lock_try', { filepaths: ['a.txt', 'b.txt'], agent_id: 'bob' }))['results']
  t.match(refused, { acquired: false, holder: 'ann', holder_note: 'at work', held_until: lease.expires_at })
  t.match(free, { acquired: true })
  t.ok(free.fencing_token > other.fencing_token, 'tokens grow')
  const write = { path: 'a.txt', content: 'two\n', expected_hash: hashOf('one\n'), timeout: 0 }
  t.match(await call('async_update', { ...write, agent_id: 'bob' }), { error_code: 'LOCK_TIMEOUT' })
  t.match(await call('async_update', { ...write, agent_id: 'ann', fencing_token }), { status: 'ok' })
  t.match(await call('lock_renew', { filepaths: ['a.txt'], agent_id: 'ann' }), {
    results: [{ renewed: true, fencing_token }]
  })
  t.match(await call('lock_release', { filepaths: ['a.txt'], agent_id: 'ann' }), { all_released: true })
  t.match(await call('lock_try', { filepaths: ['a.txt'], agent_id: 'bob' }), { all_acquired: true })
})

t.test(
  'a lease that expires while no server runs is told to its holder, whose change is refused until then; once',
  async (t) => {
    const tree = makeKeptTree(t, { 'a.txt': 'one\n' })
    const first = await tree.serve()
    const taken = await first.call('lock_try', { filepaths: ['a.txt'], agent_id: 'ann', ttl_seconds: 1 })
    await first.program.stop('SIGKILL')
    const until = Date.parse(taken['results'][0].expires_at)
    // Ends by the wall clock while nobody is there: there is nothing else to wait for.
    while (Date.now() <= until) await new Promise((resolve) => setTimeout(resolve, until - Date.now() + 1))

    const second = await tree.serve()
    const write = { path: 'a.txt', agent_id: 'ann', content: 'two\n', expected_hash: hashOf('one\n') }
    t.match(await second.call('async_update', write), {
      error_code: 'LEASE_LOST',
      details: { cause: 'expired', fencing_token: taken['results'][0].fencing_token }
    })
    await second.program.stop('SIGKILL')
    const third = await tree.serveHere()
    t.match(await third.call('async_read', { path: 'a.txt', agent_id: 'ann' }), { status: 'ok' })
    t.match(await third.call('async_update', write), { status: 'ok' })
  }
)

t.test('a ticket keeps its places over kill -9, in their order', async (t) => {
  const settings = { CRUD__MAX_TIMEOUT: '0.1', LOCKS__TICKET_GRACE_SECONDS: '60' }
  const tree = makeKeptTree(t, {}, settings)
  const first = await tree.serve()
  await first.call('lock_try', { filepaths: ['a.txt', 'b.txt'], agent_id: 'holder' })
  const tickets = new Map<string, string>()
  for (const agent of ['ann', 'bob', 'cid'])
    tickets.set(agent, (await first.call('lock_wait', { filepaths: ['a.txt', 'b.txt'], agent_id: agent }))['ticket'])
  // One that is waited with at the very moment is kept, too; one whose places are given up is not.
  await first.call('lock_release', { filepaths: ['a.txt', 'b.txt'], agent_id: 'cid' })
  await first.program.stop('SIGKILL')

  const { call } = await tree.serveHere({ crud: { max_timeout: 0.1 }, locks: { ticket_grace_seconds: 60 } })
  t.match(await call('async_status', { path: 'a.txt' }), {
    queue_depth: 2,
    pending_requests: [{ agent_id: 'ann' }, { agent_id: 'bob' }]
  })
  t.match(await call('lock_wait', { ticket: tickets.get('cid'), agent_id: 'cid' }), { error_code: 'INVALID_REQUEST' })
  await call('lock_release_all', { agent_id: 'holder' })
  t.match(await call('lock_wait', { ticket: tickets.get('bob'), agent_id: 'bob' }), {
    all_acquired: false,
    results: [{ holder: 'ann' }, { holder: 'ann' }],
    ticket: tickets.get('bob')
  })
  t.match(await call('lock_wait', { ticket: tickets.get('ann'), agent_id: 'ann' }), { all_acquired: true })
  await call('lock_release_all', { agent_id: 'ann' })
  t.match(await call('lock_wait', { ticket: tickets.get('bob'), agent_id: 'bob' }), { all_acquired: true })
})

t.test('a clean stop keeps the leases of its sessions and the places of those whom it sends away', async (t) => {
  const tree = makeKeptTree(t, {}, { CRUD__MAX_TIMEOUT: '1' })
  const first = await tree.serve()
  const session = await connectLegacy(first.program.url, 'ann')
  await session.callTool({ name: 'lock_try', arguments: { filepaths: ['a.txt'] } })
  const { ticket } = await first.call('lock_wait', { filepaths: ['a.txt'], agent_id: 'bob' })
  const sentAway = first.call('lock_wait', { ticket, agent_id: 'bob' })
  await first.call('async_status')
  await first.program.stop()
  t.match(await sentAway, { error_code: 'OVERLOADED' })
  await session.close().catch(() => {})

  const { call } = await tree.serveHere()
  t.match(await call('lock_try', { filepaths: ['a.txt'], agent_id: 'eve' }), {
    results: [{ holder: 'ann', queue_depth: 1 }]
  })
  await call('lock_release_all', { agent_id: 'ann' })
  t.match(await call('lock_wait', { ticket, agent_id: 'bob' }), { all_acquired: true })
})

t.test(
  'a process that relays takes over with the leases and the versions of the authority that was killed',
  async (t) => {
    const tree = makeKeptTree(t, { 'a.txt': 'one\n' })
    const authority = await tree.serve()
    const relay = tree.stdio()
    const { hash } = await relay.call('async_read', { path: 'a.txt', agent_id: 'ann' })
    const { results } = await relay.call('lock_try', { filepaths: ['a.txt'], agent_id: 'ann' })
    await relay.call('async_update', { path: 'a.txt', agent_id: 'ann', expected_hash: hash, content: 'two\n' })
    await authority.program.stop('SIGKILL')
    t.match(await relay.call('lock_status', { filepaths: ['a.txt'], agent_id: 'ann' }), {
      results: [{ holders: [{ agent_id: 'ann', fencing_token: results[0].fencing_token }] }]
    })
    const stale = { path: 'a.txt', agent_id: 'ann', expected_hash: hash, content: 'three\n' }
    t.match(await relay.call('async_update', stale), {
      status: 'contention',
      base_known: true,
      modified_by: [{ agent_id: 'ann', operation: 'async_update' }]
    })
  }
)

t.test(
  'a process that nobody has told to keep anything goes on with what another one has kept, and begins nothing',
  async (t) => {
    const tree = makeKeptTree(t, { 'a.txt': 'one\n' })
    delete tree.environment['ASYNC_CRUD_MCP_PERSISTENCE__ENABLED']
    const plain = await tree.serve()
    t.match(await plain.call('lock_try', { filepaths: ['a.txt'], agent_id: 'ann' }), { all_acquired: true })
    t.match(await plain.call('async_status'), { server: { persistence: 'disabled' } })
    await plain.program.stop()
    t.notOk(existsSync(join(tree.dataFolder, 'async-crud-mcp')))

    tree.environment['ASYNC_CRUD_MCP_PERSISTENCE__ENABLED'] = 'true'
    const keeping = await tree.serve()
    await keeping.call('lock_try', { filepaths: ['a.txt'], agent_id: 'ann' })
    await keeping.program.stop()
    delete tree.environment['ASYNC_CRUD_MCP_PERSISTENCE__ENABLED']
    const following = await tree.serve()
    t.match(await following.call('async_status'), { server: { persistence: 'enabled' }, active_locks: { leases: 1 } })
    await following.program.stop()
    tree.environment['ASYNC_CRUD_MCP_PERSISTENCE__ENABLED'] = 'false'
    const refusing = await tree.serve()
    t.match(await refusing.call('async_status'), { server: { persistence: 'disabled' }, active_locks: { leases: 0 } })
  }
)

t.test('the background server keeps its state unless somebody has said no', async (t) => {
  const tree = makeKeptTree(t)
  const statusWith = async (flag: string, environment: Record<string, string>) => {
    const program = await startProgram(t, ['serve', flag, '--dir', tree.root], environment)
    const { server } = await (await connect(t, 'rest', program.url)).call('async_status')
    await program.stop()
    return server['persistence'] as string
  }
  const { XDG_DATA_HOME } = tree.environment as { XDG_DATA_HOME: string }
  const isOff = { ASYNC_CRUD_MCP_PERSISTENCE__ENABLED: 'false' }
  t.equal(await statusWith('--in-background', { XDG_DATA_HOME, ...isOff }), 'disabled')
  t.equal(await statusWith('--as-service', { XDG_DATA_HOME, ...isOff }), 'disabled')
  t.equal(tree.statePath(), undefined)
  t.equal(await statusWith('--in-background', { XDG_DATA_HOME }), 'enabled')
  t.equal(await statusWith('--as-service', { XDG_DATA_HOME }), 'enabled')
  t.match(tree.statePath(), /state$/)
})

t.test('files changed or removed while no server ran are external changes, and logged', async (t) => {
  const tree = makeKeptTree(t, { 'a.txt': 'one\n', 'b.txt': 'one\n', 'c.txt': 'one\n', 'd.sh': 'one\n' })
  const first = await tree.serve()
  for (const path of ['a.txt', 'b.txt', 'c.txt', 'd.sh']) await first.call('async_read', { path })
  await first.program.stop()
  const modeOf = (path: string) => statSync(tree.path(path)).mode & 0o777
  const mode = modeOf('d.sh')
  tree.write('a.txt', 'two\n')
  unlinkSync(tree.path('b.txt'))
  chmodSync(tree.path('d.sh'), 0o755)
  const { program, call } = await tree.serve()
  const line = await untilLogged(program.stderr, /changed from outside while no server ran/)
  const { count, paths } = JSON.parse(line) as { count: number; paths: string[] }
  t.equal(count, 3)
  t.strictSame(paths.sort(), [tree.path('a.txt'), tree.path('b.txt'), tree.path('d.sh')])
  t.match(await call('async_undo', { by_agent: 'external' }), { status: 'ok', undone: 3 })
  t.equal(modeOf('d.sh'), mode)
})

/** Told by the log alone: nothing else says when the look at the files is over. */
async function untilLogged(lines: readonly string[], pattern: RegExp): Promise<string> {
  for (;;) {
    const line = lines.find((each) => pattern.test(each))
    if (line !== undefined) return line
    await new Promise((resolve) => setTimeout(resolve, 10))
  }
}

t.test(
  'a reader is told what was changed while the server was down, and what it had not been told before',
  async (t) => {
    const tree = makeKeptTree(t, { 'a.txt': 'one\ntwo\nthree\n', 'b.txt': 'one\n', 'c.txt': 'one\n' })
    const first = await tree.serveHere()
    const files = ['a.txt', 'b.txt', 'c.txt'].map((path) => ({ path }))
    const { results } = await first.call('async_batch_read', { files, agent_id: 'ann' })
    await first.call('async_append', { path: 'b.txt', content: 'by bob\n', agent_id: 'bob' })
    await first.server.app.close()
    tree.write('a.txt', 'one\ntwo\n3\n')

    const second = await tree.serveHere()
    // Whether or not the comparison in the background has come to it: a look finds it.
    await second.call('async_status', { path: 'a.txt' })
    const { notices } = await second.call('async_status', { path: 'c.txt', agent_id: 'ann' })
    const inOrder = [...notices].sort((a, b) => (a.path < b.path ? -1 : 1))
    t.match(inOrder, [
      {
        path: 'a.txt',
        known_hash: results[0].hash,
        lines: [{ start_line: 3 }],
        modified_by: [{ agent_id: 'external' }]
      },
      { path: 'b.txt', lines: [{ start_line: 2 }], modified_by: [{ agent_id: 'bob', operation: 'async_append' }] }
    ])
    t.equal(notices.length, 2)
    t.notOk('notices' in (await second.call('async_status', { path: 'c.txt', agent_id: 'ann' })))
    await second.server.app.close()
    const third = await tree.serveHere()
    t.notOk('notices' in (await third.call('async_status', { path: 'c.txt', agent_id: 'ann' })), 'told once')
  }
)
