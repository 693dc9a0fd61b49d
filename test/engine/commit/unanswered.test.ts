// Volumes whose server makes a change and whose answer is lost: imitated below the real program. No change is called unmade that was made, and none is made twice.
import { once } from 'node:events'
import { readdirSync, rmSync } from 'node:fs'
import t, { type Test } from 'tap'
import { someOf } from '../../fixtures/length.ts'
import { onSystem, preload } from '../../fixtures/preload.ts'
import { healthOf, post } from '../../fixtures/processes.ts'
import { startOneProgram } from '../../fixtures/server.ts'
import { makeTree, type Tree } from '../../fixtures/tree.ts'
import { until } from '../../fixtures/until.ts'
import { lacksEtcd, startEtcd } from '../../tree/coordinator/fixtures/etcd.ts'
import { startHost } from '../../tree/coordinator/fixtures/hosts.ts'

/**
 * The first rename, link or unlink of a name in `lost` beside the tree is made, or with "refuse" before the name is not, and answered by an
 * error; "note" names the note of a transaction. With "silent" before the name, the files of the tree answer nothing from then on, for as long as there is `lost`.
 */
const losesAnswers = (lost: string, root: string) => `
  const { renameSync, linkSync, unlinkSync, lstatSync, openSync, readFileSync, writeFileSync, rmSync, promises } = fs
  const lost = ${JSON.stringify(lost)}
  const read = () => { try { return readFileSync(lost, 'utf8') } catch { return '' } }
  const isSilent = () => read() === 'silent'
  const around = (change, syscall) => (...args) => {
    if (isSilent()) fail('ENOTCONN', syscall)
    const [how, name] = read().split(' ')
    const isNamed = (base) => (name === 'note' ? /^change-.*[.]json$/.test(base) : base === name)
    if (!args.some((path) => isNamed(String(path).split('/').pop()))) return change(...args)
    if (how !== 'refuse') change(...args)
    if (how === 'silent') writeFileSync(lost, how)
    else rmSync(lost)
    fail('ENOTCONN', syscall)
  }
  fs.renameSync = around(renameSync, 'rename')
  fs.linkSync = around(linkSync, 'link')
  fs.unlinkSync = around(unlinkSync, 'unlink')
  for (const [name, former] of Object.entries({ lstatSync, openSync }))
    fs[name] = (path, ...rest) => {
      if (path !== lost && isSilent() && /^\\/proc\\/self\\/fd|^${root.replaceAll('/', '\\/')}/.test(String(path))) fail('ENOTCONN', name)
      return former(path, ...rest)
    }
  const { writeFile } = promises
  promises.writeFile = async (...args) => (isSilent() ? fail('ENOTCONN', 'open') : writeFile(...args))`

const changes = {
  async_append: { path: 'a.txt', content: 'two\n' },
  async_write: { path: 'new.txt', content: 'new\n' },
  async_delete: { path: 'a.txt' },
  async_rename: { old_path: 'a.txt', new_path: 'new.txt' },
  async_transaction: {
    changes: [
      { operation: 'write', path: 'new.txt', content: 'new\n' },
      { operation: 'append', path: 'a.txt', content: 'two\n' }
    ]
  }
}
type Change = keyof typeof changes

const before = { 'a.txt': 'one\n' }
const made: Record<Change, Record<string, string>> = {
  async_append: { 'a.txt': 'one\ntwo\n' },
  async_write: { ...before, 'new.txt': 'new\n' },
  async_delete: {},
  async_rename: { 'new.txt': 'one\n' },
  async_transaction: { 'a.txt': 'one\ntwo\n', 'new.txt': 'new\n' }
}
/** A name in the call of the system that makes the change. */
const named: Record<Change, string> = {
  async_append: 'a.txt',
  async_write: 'new.txt',
  async_delete: 'a.txt',
  async_rename: 'new.txt',
  async_transaction: 'new.txt'
}

const filesOf = (tree: Tree) =>
  Object.fromEntries(
    tree
      .all()
      .filter((name) => !name.startsWith('.async-crud-mcp'))
      .map((name) => [name, tree.read(name)])
  )

async function startAlone(t: Test) {
  const tree = makeTree(t, before)
  const beside = makeTree(t)
  const { url } = await startOneProgram(
    t,
    ['--dir', tree.root],
    {},
    onSystem(losesAnswers(beside.path('lost'), tree.root))
  )
  return { tree, beside, url }
}

const requestOf = (operation: Change) => ({ ...changes[operation], agent_id: 'one', request_id: 'the change' })

/** @param lost a name in the call of the system that is not answered */
async function playHosts(t: Test, operation: Change, lost: string): Promise<void> {
  const call = requestOf(operation)
  const etcd = await startEtcd(t)
  const tree = makeTree(t, before)
  const beside = makeTree(t)
  const environment = { NODE_OPTIONS: `--import ${preload(losesAnswers(beside.path('lost'), tree.root))}` }
  const first = await startHost(t, { etcd, tree, environment })
  t.match(await post(first.url, 'async_read', { path: 'a.txt' }), { status: 'ok' })
  const second = await startHost(t, { etcd, tree })
  await until(async () => (await healthOf(second.url))['role'] === 'relay')
  const ended = once(first.process, 'exit')
  beside.write('lost', `silent ${lost}`)
  const answer = await post(first.url, operation, call)
  t.match(answer, {
    error_code: 'AUTHORITY_LOST',
    message: /(?:next|that) host (?:ends|makes)|has a request_id, send the very same call again/i
  })
  t.strictSame(await ended, [1, null])
  t.match(await post(second.url, operation, call), { status: 'ok', replayed: true })
  t.strictSame(filesOf(tree), made[operation])
}

for (const operation of Object.keys(changes) as Change[]) {
  const call = requestOf(operation)

  t.test(`${operation}: made, and the answer of the system is lost`, async (t) => {
    const { tree, beside, url } = await startAlone(t)
    beside.write('lost', `answer ${named[operation]}`)
    t.match(await post(url, operation, call), { status: 'ok' })
    t.notOk(beside.all().includes('lost'), 'the answer was lost')
    t.match(await post(url, operation, call), { status: 'ok', replayed: true })
    t.strictSame(filesOf(tree), made[operation])
  })

  t.test(`${operation}: not made, and the answer of the system is lost`, async (t) => {
    const { tree, beside, url } = await startAlone(t)
    beside.write('lost', `refuse ${named[operation]}`)
    t.match(await post(url, operation, call), { status: 'error', message: /^Nothing was changed/ })
    t.strictSame(filesOf(tree), before)
    t.match(await post(url, operation, call), { status: 'ok' })
    t.strictSame(filesOf(tree), made[operation])
  })

  t.test(`${operation}: made, and the volume falls silent`, async (t) => {
    const { tree, beside, url } = await startAlone(t)
    beside.write('lost', `silent ${named[operation]}`)
    const isSeveral = operation === 'async_transaction'
    const unknown = isSeveral
      ? { error_code: 'WRITE_ERROR', details: { unfinished: true } }
      : { error_code: 'AUTHORITY_LOST', message: /ENOTCONN.*not known whether/, details: { undecided: true } }
    t.match(await post(url, operation, call), unknown)
    t.equal(beside.read('lost'), 'silent')
    rmSync(beside.path('lost'))
    t.match(await post(url, operation, call), unknown, 'a repeat is not made')
    // Of several changes, none is left.
    if (isSeveral) await until(() => !tree.all().includes('new.txt'))
    t.strictSame(filesOf(tree), isSeveral ? before : made[operation])
  })
}

// What differs between the operations is above.
for (const operation of someOf(Object.keys(changes) as Change[], 2))
  t.test(`${operation}: made by one host, whose volume falls silent`, { skip: lacksEtcd }, (t) =>
    playHosts(t, operation, named[operation])
  )

t.test('the note of a transaction is made by one host, whose volume falls silent', { skip: lacksEtcd }, (t) =>
  playHosts(t, 'async_transaction', 'note')
)

t.test(
  'what an earlier host has left, and the volume never removes, keeps nobody waiting',
  { skip: lacksEtcd },
  async (t) => {
    const etcd = await startEtcd(t)
    const tree = makeTree(t, before)
    const append = { path: 'a.txt', content: 'line\n', agent_id: 'one' }
    const first = await startHost(t, { etcd, tree })
    t.match(await post(first.url, 'async_append', append), { status: 'ok' })
    await first.stop()
    const [epoch = ''] = readdirSync(tree.path('.async-crud-mcp/stage'))
    const left = '.async-crud-mcp-1-left-0.tmp'
    tree.write(`.async-crud-mcp/stage/${epoch}/of-${epoch}/${left}`, 'half')
    const environment = { NODE_OPTIONS: `--import ${preload(neverRemoves(left))}` }
    const second = await startHost(t, { etcd, tree, environment })
    t.match(await post(second.url, 'async_append', append), { status: 'ok' })
    const there = readdirSync(tree.path('.async-crud-mcp/stage'), { recursive: true, encoding: 'utf8' })
    t.ok(
      there.some((name) => name.endsWith(left)),
      'it is there'
    )
  }
)

const neverRemoves = (name: string) => `
  const { unlinkSync, promises } = fs
  const { unlink } = promises
  const isMeant = (path) => String(path).endsWith(${JSON.stringify(name)})
  fs.unlinkSync = (path) => (isMeant(path) ? Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0) : unlinkSync(path))
  promises.unlink = (path) => (isMeant(path) ? new Promise(() => {}) : unlink(path))`
