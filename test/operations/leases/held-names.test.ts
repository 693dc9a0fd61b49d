// A lease is found by the name under which it was taken, whatever that name leads to meanwhile.
import { mkdirSync, renameSync, rmSync, symlinkSync } from 'node:fs'
import t from 'tap'
import { connect, type Answer } from '../../fixtures/clients.ts'
import { untilWaiting } from '../../fixtures/locks.ts'
import { startServer } from '../../fixtures/server.ts'
import { makeTree } from '../../fixtures/tree.ts'
import { makeKeptTree } from '../../tree/persistence/fixtures/kept.ts'

// Four programs are started, one after the other.
t.setTimeout(300_000)

const tree = makeTree(t)
const outside = makeTree(t, { f: 'x' })
const server = await startServer(t, tree.root)
const [ann, bob] = await Promise.all(['ann', 'bob'].map((name) => connect(t, 'rest', server.url, name)))

/** Replaces a name of the tree by a link. */
function point(name: string, target: string): void {
  rmSync(tree.path(name), { force: true, recursive: true })
  symlinkSync(target, tree.path(name))
}

function replaceByFolder(name: string): void {
  rmSync(tree.path(name), { force: true })
  mkdirSync(tree.path(name))
}

/** Ann leases four names; three of them stop to be files: a folder, a link that leads outside, a name below a file. */
async function leaseAndReplace(scene: string): Promise<string[]> {
  const names = ['folder', 'kept', 'out', 'deep/below'].map((name) => `${scene}/${name}`)
  for (const name of names) tree.write(name, '')
  const answer = await ann!.call('lock_try', { filepaths: names })
  if (answer['all_acquired'] !== true) throw new Error(JSON.stringify(answer))
  replaceByFolder(`${scene}/folder`)
  point(`${scene}/out`, outside.path('f'))
  rmSync(tree.path(`${scene}/deep`), { recursive: true })
  tree.write(`${scene}/deep`, '')
  return names
}

function resultOf({ results }: Answer, name: string): Answer {
  return (results as Answer[]).find(({ filepath }) => filepath === name) ?? {}
}

const leases = () => server.app.locks.summary().leases

t.afterEach(async () => {
  for (const agent of [ann, bob]) await agent!.call('lock_release_all')
})

t.test('names that are no files any more are given back with the others', async (t) => {
  const names = await leaseAndReplace('release')
  const answer = await ann!.call('lock_release', { filepaths: names })
  t.match(answer, { status: 'ok', all_released: true, results: { length: 4 } })
  t.equal(leases(), 0)
  t.match(await ann!.call('lock_release', { filepaths: names }), { status: 'ok', all_released: true }, 'once more, too')
})

t.test('names that are no files any more are prolonged with the others', async (t) => {
  const names = await leaseAndReplace('renew')
  const answer = await ann!.call('lock_renew', { filepaths: names, ttl_seconds: 1000 })
  t.match(answer, { status: 'ok', all_renewed: true, results: { length: 4 } })
  for (const { expires_at } of answer['results']) t.ok(Date.parse(expires_at) > Date.now() + 900_000)
  t.match(await bob!.call('lock_renew', { filepaths: names }), {
    all_renewed: false,
    results: [
      { renewed: false, error_code: 'NOT_A_FILE', message: String },
      { renewed: false, error_code: 'NOT_A_FILE' },
      { renewed: false, holder: 'ann' },
      { renewed: false, error_code: 'PATH_OUTSIDE_BASE' }
    ]
  })
})

t.test('names that are no files any more are shown with the others', async (t) => {
  const names = await leaseAndReplace('status')
  const answer = await ann!.call('lock_status', { filepaths: names })
  t.match(answer, { status: 'ok', results: { length: 4 } })
  for (const result of answer['results'])
    t.match(result, { held_by_me: true, holder: 'ann', fencing_token: Number, holders: [{ agent_id: 'ann' }] })
  t.match(resultOf(answer, 'status/folder'), { error_code: 'NOT_A_FILE', message: /directory/ })
  t.match(resultOf(answer, 'status/out'), { error_code: 'PATH_OUTSIDE_BASE' })
  t.notOk('error_code' in resultOf(answer, 'status/kept'))
})

t.test('an operator breaks the leases on names that are no files any more with the others', async (t) => {
  const names = await leaseAndReplace('break')
  const answer = await bob!.call('lock_break', { filepaths: names, reason: 'over' })
  t.match(answer, { status: 'ok', count: 4, results: { length: 4 } })
  for (const result of answer['results']) t.match(result, { broken: true, former_holders: ['ann'] })
  t.equal(leases(), 0)
})

t.test('breaking a lease by several names ends no lease of the next in line', async (t) => {
  for (const name of ['next/a', 'next/b']) tree.write(name, '')
  point('next/l', 'a')
  await ann!.call('lock_try', { filepaths: ['next/l'] })
  const wait = bob!.call('lock_wait', { filepaths: ['next/a'] })
  await untilWaiting(server, 1)
  point('next/l', 'b')
  const answer = await bob!.call('lock_break', { filepaths: ['next/l', 'next/a'], reason: 'over' })
  t.match(answer, { count: 1, results: [{ former_holders: ['ann'] }, { former_holders: ['ann'] }] })
  t.match(await wait, { all_acquired: true })
  t.match(await bob!.call('lock_status', { filepaths: ['next/a'] }), { results: [{ held_by_me: true }] })
})

t.test('what cannot be leased is said file by file, and keeps nothing else from being done', async (t) => {
  tree.write('plain/f', '')
  await ann!.call('lock_try', { filepaths: ['plain/f'] })
  const filepaths = ['../outside', 'plain', 'plain/f', '.git/config']
  const codes = { '../outside': 'PATH_OUTSIDE_BASE', plain: 'NOT_A_FILE', '.git/config': 'ACCESS_DENIED' }
  for (const [operation, input, done] of [
    ['lock_status', {}, { held_by_me: true }],
    ['lock_renew', {}, { renewed: true }],
    ['lock_break', { reason: 'over' }, { broken: true }],
    ['lock_release', {}, { released: true }]
  ] as const) {
    const answer = await ann!.call(operation, { filepaths, ...input })
    t.equal(answer['results']?.length, 4, operation)
    t.match(resultOf(answer, 'plain/f'), done, operation)
    for (const [name, error_code] of Object.entries(codes))
      t.match(resultOf(answer, name), { error_code, message: String }, operation)
  }
  t.equal(leases(), 0)
})

t.test('a lease taken by the name of a link is given back by it, wherever the link leads now', async (t) => {
  for (const name of ['link/a', 'link/b']) tree.write(name, '')
  point('link/l', 'a')
  await ann!.call('lock_try', { filepaths: ['link/l'] })
  point('link/l', 'b')
  const answer = await ann!.call('lock_release', { filepaths: [tree.path('link/./l')] })
  t.match(answer, { all_released: true, results: [{ released: true, holder: null }] })
  t.match(await bob!.call('lock_try', { filepaths: ['link/a', 'link/b'] }), { all_acquired: true })
})

t.test('a lease on a file in a linked folder is given back when the link leads elsewhere', async (t) => {
  for (const name of ['linked/one/f', 'linked/two/f']) tree.write(name, '')
  point('linked/d', 'one')
  await ann!.call('lock_try', { filepaths: ['linked/d/f', 'linked/d/new'] })
  point('linked/d', 'two')
  t.match(await ann!.call('lock_release', { filepaths: ['linked/d/f', 'linked/d/new'] }), { all_released: true })
  t.equal(leases(), 0)
})

t.test('each of several names of one file gives back what it was taken for', async (t) => {
  for (const name of ['names/a', 'names/b', 'names/c']) tree.write(name, '')
  point('names/l', 'a')
  point('names/m', 'b')
  await ann!.call('lock_try', { filepaths: ['names/l', 'names/m'] })
  for (const name of ['names/l', 'names/m']) point(name, 'c')
  const answer = await ann!.call('lock_release', { filepaths: ['names/l', 'names/m'] })
  t.match(answer, { all_released: true, results: { length: 1 } }, 'one file now')
  t.equal(leases(), 0)
})

t.test("a link that leads to a file of another agent gives back one's own lease all the same", async (t) => {
  for (const name of ['theirs/a', 'theirs/b']) tree.write(name, '')
  point('theirs/l', 'a')
  await ann!.call('lock_try', { filepaths: ['theirs/l'] })
  await bob!.call('lock_try', { filepaths: ['theirs/b'] })
  point('theirs/l', 'b')
  await ann!.call('lock_release', { filepaths: ['theirs/l'] })
  t.match(await bob!.call('lock_status', { filepaths: ['theirs/a', 'theirs/b'] }), {
    results: [{ holder: null }, { held_by_me: true }]
  })
})

t.test('of a link that leads elsewhere, lock_status and lock_renew say where the lease is', async (t) => {
  for (const name of ['told/a', 'told/b']) tree.write(name, '')
  point('told/l', 'a')
  await ann!.call('lock_try', { filepaths: ['told/l'] })
  point('told/l', 'b')
  const filepaths = ['told/l']
  const message = new RegExp(`lease.*${tree.path('told/a')}.*lock_release`)
  t.match(await ann!.call('lock_status', { filepaths }), { results: [{ held_by_me: false, holder: null, message }] })
  t.match(await ann!.call('lock_renew', { filepaths }), { results: [{ renewed: false, message }] })
  t.match(await ann!.call('lock_try', { filepaths }), { all_acquired: true }, 'it can be taken on the other file too')
  t.match(await ann!.call('lock_release', { filepaths }), { all_released: true })
  t.equal(leases(), 0, 'and then the name gives back both')
})

t.test('a lock_wait says so where its name has come to lead elsewhere meanwhile', async (t) => {
  for (const name of ['while/a', 'while/b', 'while/f', 'while/g']) tree.write(name, '')
  point('while/l', 'a')
  await bob!.call('lock_try', { filepaths: ['while/a', 'while/f', 'while/g'] })
  const wait = ann!.call('lock_wait', { filepaths: ['while/f', 'while/g', 'while/l'] })
  await untilWaiting(server, 3)
  point('while/l', 'b')
  replaceByFolder('while/f')
  await bob!.call('lock_release_all')
  const answer = await wait
  t.match(answer, { all_acquired: true })
  const moved = new RegExp(`lease is on ${tree.path('while/a')}.*leads to another file now.*lock_release`)
  t.match(resultOf(answer, 'while/l'), { acquired: true, message: moved })
  t.match(resultOf(answer, 'while/f'), { acquired: true, message: /directory/ })
  t.notOk('message' in resultOf(answer, 'while/g'))
})

t.test('a lock_try that is refused leaves no name behind on the lease of before', async (t) => {
  for (const name of ['undone/a', 'undone/b', 'undone/c']) tree.write(name, '')
  point('undone/l', 'a')
  await ann!.call('lock_try', { filepaths: ['undone/a'] })
  await bob!.call('lock_try', { filepaths: ['undone/b'] })
  const input = { filepaths: ['undone/l', 'undone/b'], all_or_nothing: true, timeout_seconds: 0 }
  t.match(await ann!.call('lock_wait', input), { all_acquired: false })
  point('undone/l', 'c')
  await ann!.call('lock_release', { filepaths: ['undone/l'] })
  t.match(await ann!.call('lock_status', { filepaths: ['undone/a'] }), { results: [{ held_by_me: true }] })
})

t.test('the place that is kept in a queue is given up by the name under which it was asked for', async (t) => {
  const tree = makeTree(t, { a: '', b: '' })
  const { url, app } = await startServer(t, tree.root, { crud: { max_timeout: 0.05 } })
  const [ann, bob] = await Promise.all(['ann', 'bob'].map((name) => connect(t, 'rest', url, name)))
  symlinkSync('a', tree.path('l'))
  await bob!.call('lock_try', { filepaths: ['a'] })
  t.match(await ann!.call('lock_wait', { filepaths: ['l'] }), { ticket: String })
  rmSync(tree.path('l'))
  symlinkSync('b', tree.path('l'))
  await ann!.call('lock_release', { filepaths: ['l'] })
  t.equal(app.locks.summary().waiting, 0)
})

t.test('the names are known to the next process, and over a relay', async (t) => {
  const tree = makeKeptTree(t, { a: '', b: '', c: '' })
  symlinkSync('a', tree.path('l'))
  const first = await tree.serve()
  await first.call('lock_try', { filepaths: ['l', 'c'], agent_id: 'ann' })
  await first.program.stop('SIGKILL')
  renameSync(tree.path('l'), tree.path('old'))
  symlinkSync('b', tree.path('l'))
  rmSync(tree.path('c'))
  mkdirSync(tree.path('c'))
  await tree.serveHere()
  const relay = tree.stdio()
  t.match(await relay.call('lock_status', { filepaths: ['a'], agent_id: 'ann' }), { results: [{ held_by_me: true }] })
  t.match(await relay.call('lock_release', { filepaths: ['l', 'c'], agent_id: 'ann' }), { all_released: true })
  t.match(await relay.call('lock_release_all', { agent_id: 'ann' }), { count: 0 })
})

t.test('a ticket knows the names that it was asked by after a restart', async (t) => {
  const tree = makeKeptTree(t, { a: '', b: '' }, { CRUD__MAX_TIMEOUT: '0.05' })
  symlinkSync('a', tree.path('l'))
  const first = await tree.serve()
  await first.call('lock_try', { filepaths: ['a'], agent_id: 'bob' })
  t.match(await first.call('lock_wait', { filepaths: ['l'], agent_id: 'ann' }), { ticket: String })
  await first.program.stop('SIGKILL')
  rmSync(tree.path('l'))
  symlinkSync('b', tree.path('l'))
  const { call } = await tree.serveHere({ crud: { max_timeout: 0.05 } })
  await call('lock_release', { filepaths: ['l'], agent_id: 'ann' })
  t.match(await call('async_status', { path: 'a' }), { queue_depth: 0 })
})

t.test('what is granted to a restored place is given back by the name that it was asked by', async (t) => {
  const tree = makeKeptTree(t, { a: '', b: '' }, { CRUD__MAX_TIMEOUT: '0.05' })
  symlinkSync('a', tree.path('l'))
  const first = await tree.serve()
  await first.call('lock_try', { filepaths: ['a'], agent_id: 'bob' })
  const { ticket } = await first.call('lock_wait', { filepaths: ['l'], agent_id: 'ann' })
  await first.program.stop('SIGKILL')
  const { call } = await tree.serveHere({ crud: { max_timeout: 0.05 } })
  await call('lock_release', { filepaths: ['a'], agent_id: 'bob' })
  t.match(await call('lock_wait', { ticket, agent_id: 'ann' }), { all_acquired: true })
  rmSync(tree.path('l'))
  symlinkSync('b', tree.path('l'))
  await call('lock_release', { filepaths: ['l'], agent_id: 'ann' })
  t.match(await call('lock_release_all', { agent_id: 'ann' }), { count: 0 })
})
