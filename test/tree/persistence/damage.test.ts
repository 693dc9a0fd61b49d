// A state that is not as it was written: the start goes on, what cannot be used is kept under another name, and somebody is told.
import {
  chmodSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  readdirSync,
  rmSync,
  symlinkSync,
  truncateSync,
  writeFileSync
} from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import t, { type Test } from 'tap'
import { createJournal, type Opened } from '../../../src/tree/persistence/journal.ts'
import { JournalFault, scan, toJson } from '../../../src/tree/persistence/records.ts'
import { isInMemory } from '../../../src/support/in-memory.ts'
import { connect } from '../../fixtures/clients.ts'
import { startServer } from '../../fixtures/server.ts'
import { startStdio } from '../../fixtures/stdio.ts'
import type { Call } from './fixtures/kept.ts'
import { hashOf, makeTree } from '../../fixtures/tree.ts'

const tree = '/some/tree'
const isDamaged = Object.assign(new Error(), { fault: 'damaged' })

/** A journal with a snapshot of some records and changes after it. */
async function makeJournal(t: Test, changes = 6): Promise<{ path: string; ends: number[]; snapshotEnd: number }> {
  const path = makeTree(t).path('state')
  const journal = createJournal(path, tree)
  journal.open()
  await journal.rewrite(['ann', 'bob', 'cid'].map((name) => toJson('lease', { name })))
  const snapshotEnd = readFileSync(path).length
  const ends: number[] = []
  for (let number = 0; number < changes; number += 1) {
    journal.append([toJson(number % 2 === 0 ? 'lease' : 'history', { number, text: 'x'.repeat(number * 7) })])
    ends.push(readFileSync(path).length)
  }
  journal.close()
  return { path, ends, snapshotEnd }
}

function countOf({ count }: Pick<Opened, 'count'>): number {
  return count
}

t.test('cut off anywhere among its changes, a journal holds all of them that are whole, and goes on', async (t) => {
  const { path, ends, snapshotEnd } = await makeJournal(t)
  const whole = readFileSync(path)
  for (let length = snapshotEnd; length <= whole.length; length += 1) {
    writeFileSync(path, whole.subarray(0, length))
    const journal = createJournal(path, tree)
    const { opened, aside } = journal.open()
    const expected = 3 + ends.filter((end) => end <= length).length
    if (aside !== undefined || opened === undefined || countOf(opened) !== expected) t.fail(`cut at ${length}`)
    journal.append([toJson('lease', { number: 'next' })])
    journal.close()
    const again = scan(readFileSync(path), tree)
    if (again.count !== expected + 1) t.fail(`a record appended after the cut at ${length} is lost`)
  }
  t.ok(whole.length - snapshotEnd > 200, 'there were places to cut')
})

t.test('cut off among the records it began with, a journal cannot be used', async (t) => {
  const { path, snapshotEnd } = await makeJournal(t)
  const whole = readFileSync(path)
  for (let length = 0; length < snapshotEnd; length += 1) {
    t.throws(() => scan(whole.subarray(0, length), tree), isDamaged, `cut at ${length}`)
  }
})

t.test(
  'with a byte changed among its last records a journal holds those before it; anywhere else it cannot be used',
  async (t) => {
    const { path, snapshotEnd, ends } = await makeJournal(t)
    const whole = readFileSync(path)
    const thirdLast = ends.at(-4) as number
    for (let offset = 0; offset < whole.length; offset += 1) {
      const changed = Buffer.from(whole)
      changed[offset] = (changed[offset] as number) ^ (1 << (offset % 8))
      const count = countIn(changed)
      const before = offset < snapshotEnd ? 0 : 3 + ends.filter((end) => end <= offset).length
      const isRight = count === undefined || (offset >= thirdLast && count === before)
      if (!isRight) t.fail(`byte ${offset} changed: ${count} records, ${before} before it`)
    }
    t.equal(countIn(whole), 9)
  }
)

/** Undefined where it cannot be used. */
function countIn(bytes: Buffer): number | undefined {
  try {
    return scan(bytes, tree).count
  } catch (error) {
    if (error instanceof JournalFault) return undefined
    throw error
  }
}

t.test('without a record from its middle, or with two exchanged, a journal cannot be used', async (t) => {
  const { path } = await makeJournal(t)
  const lines = readFileSync(path, 'utf8').split('\n').slice(0, -1)
  const join = (some: readonly string[]) => Buffer.from(some.map((line) => `${line}\n`).join(''))
  // Of the last ones it cannot be told whether they were ever whole.
  for (let index = 1; index < lines.length - 3; index += 1) {
    t.throws(() => scan(join(lines.toSpliced(index, 1)), tree), isDamaged, `without line ${index}`)
    const [one, two] = lines.slice(index, index + 2) as [string, string]
    t.throws(() => scan(join(lines.toSpliced(index, 2, two, one)), tree), isDamaged, `${index} after ${index + 1}`)
  }
})

t.test('pages of zeros after a power loss are the end of a journal', async (t) => {
  const { path } = await makeJournal(t)
  const whole = readFileSync(path)
  t.equal(scan(Buffer.concat([whole, Buffer.alloc(4096)]), tree).count, 9)
})

t.test('records appended while a journal is written anew are in the new one', async (t) => {
  const { path } = await makeJournal(t)
  const journal = createJournal(path, tree)
  journal.open()
  const snapshot = Array.from({ length: 20_000 }, (_, number) => toJson('history', { number }))
  const rewritten = journal.rewrite(snapshot)
  for (let number = 0; number < 10; number += 1) {
    journal.append([toJson('lease', { number })])
    await new Promise((resolve) => setImmediate(resolve))
  }
  await rewritten
  journal.append([toJson('lease', { number: 10 })])
  journal.close()
  const { records, header } = scan(readFileSync(path), tree)
  t.equal([...records('history')].length, 20_000)
  t.strictSame(
    [...records('lease')].map((record) => (record as { number: number }).number),
    [0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10]
  )
  t.equal(header.generation, 3)
})

async function connectTo(t: Test, url: string): Promise<Call> {
  const client = await connect(t, 'rest', url)
  return (name, input) => client.call(name, input)
}

interface Damage {
  readonly title: string
  readonly apply: (path: string) => void
  /** In the new name. */
  readonly fault: string
  readonly reason: RegExp
}

const damages: readonly Damage[] = [
  { title: 'empty', apply: (path) => truncateSync(path, 0), fault: 'damaged', reason: /it is empty/ },
  {
    title: 'no journal at all',
    apply: (path) => writeFileSync(path, 'hello\nworld\n'),
    fault: 'damaged',
    reason: /it is not a state of this server/
  },
  {
    title: 'changed in the middle',
    apply: (path) => writeFileSync(path, readFileSync(path, 'utf8').replace('"lock_try"', '"lock_tri"')),
    fault: 'damaged',
    reason: /a record in it is damaged/
  },
  { title: 'a directory', apply: (path) => (rmSync(path), mkdirSync(path)), fault: 'damaged', reason: /EISDIR/ },
  {
    title: 'a link',
    apply: (path) => (rmSync(path), symlinkSync('/etc/hostname', path)),
    fault: 'damaged',
    reason: /ELOOP/
  }
]

/** Runs a server, has a lease taken and some versions seen, and stops it. */
async function leaveState(t: Test): Promise<{ root: string; path: string }> {
  const { root } = makeTree(t, { 'a.txt': 'one\n' })
  const path = join(makeTree(t).root, 'kept', 'state')
  const { url, app } = await startServer(t, root, { persistence: { enabled: true, state_file: path } })
  const call = await connectTo(t, url)
  await call('async_read', { path: 'a.txt' })
  for (const agent_id of ['ann', 'bob', 'cid', 'dan'])
    await call('lock_try', { filepaths: [`${agent_id}.txt`, 'x.txt'], agent_id })
  await app.close()
  return { root, path }
}

for (const { title, apply, fault, reason } of damages) {
  t.test(`a state that is ${title} is set aside, which is said, and the server starts`, async (t) => {
    const { root, path } = await leaveState(t)
    apply(path)
    const { url, app, log } = await startServer(t, root, { persistence: { enabled: true, state_file: path } })
    const call = await connectTo(t, url)
    t.match(await call('lock_try', { filepaths: ['x.txt'], agent_id: 'eve' }), { all_acquired: true })
    const aside = readdirSync(dirname(path)).filter((name) => name.startsWith(`state.${fault}-`))
    t.equal(aside.length, 1)
    const warnings = log.map((line) => JSON.parse(line) as Record<string, unknown>).filter(({ level }) => level === 40)
    t.match(warnings, [{ part: 'persistence: set-aside', msg: reason }])
    t.match(warnings[0]?.['msg'], join(dirname(path), aside[0] as string))
    t.match(await (await fetch(`${url}/health`)).json(), {
      status: 'degraded',
      degraded: [{ part: 'persistence: set-aside', message: reason }]
    })
    await app.close()
    const again = await startServer(t, root, { persistence: { enabled: true, state_file: path } })
    const second = { call: await connectTo(t, again.url) }
    t.match(await second.call('lock_try', { filepaths: ['x.txt'], agent_id: 'ann' }), { results: [{ holder: 'eve' }] })
    t.strictSame(again.app.degradations.list(), [])
  })
}

t.test('a tree whose state a later version has written is not served, and the state stays as it is', async (t) => {
  const { root, path } = await leaveState(t)
  const known = readFileSync(path)
  writeFileSync(path, 'x {"format":"async-crud-mcp state","version":3,"tree":"?"}\nwhatever\n')
  const left = readFileSync(path)
  const { url, app } = await startServer(t, root, { persistence: { enabled: true, state_file: path } })
  const call = await connectTo(t, url)
  const refusal = {
    error_code: 'SERVER_ERROR',
    message: /later version .*form 3.* up to 2.*Start that version, or move/
  }
  t.match(await call('async_append', { path: 'a.txt', content: 'two' }), refusal)
  t.match(await call('lock_try', { filepaths: ['x.txt'], agent_id: 'eve' }), refusal)
  t.match(app.degradations.list(), [{ part: 'tree', message: refusal.message }])
  t.strictSame(readFileSync(path), left)
  t.equal(readFileSync(join(root, 'a.txt'), 'utf8'), 'one\n')
  writeFileSync(path, known)
  const { holder } = await untilServed(call)
  t.equal(holder, 'ann', "once it is this version's, its leases count")
  t.strictSame(app.degradations.list(), [])
})

/** What a process that was refused is answered, once it is not any more. */
async function untilServed(call: Call) {
  for (;;) {
    const answer = await call('lock_try', { filepaths: ['x.txt'], agent_id: 'eve' })
    if (answer.error_code === undefined) return answer.results[0]
  }
}

t.test('the state of another tree is left to it, nothing is kept in its place, and somebody is told', async (t) => {
  const { path, root } = await leaveState(t)
  const before = readFileSync(path)
  const other = makeTree(t, { 'a.txt': 'one\n' })
  const { url, app } = await startServer(t, other.root, { persistence: { enabled: true, state_file: path } })
  const call = await connectTo(t, url)
  t.match(await call('lock_try', { filepaths: ['x.txt'], agent_id: 'eve' }), { all_acquired: true })
  t.match(app.degradations.list(), [
    {
      part: 'persistence: journal',
      message: /left as it is, because it is the state of another tree.*its own persistence\.state_file/
    }
  ])
  await app.close()
  t.strictSame(readFileSync(path), before)
  t.strictSame(readdirSync(dirname(path)).sort(), ['state', 'state.bases', 'state.lock'])
  const again = await startServer(t, root, { persistence: { enabled: true, state_file: path } })
  const first = { call: await connectTo(t, again.url) }
  t.match(await first.call('lock_try', { filepaths: ['x.txt'], agent_id: 'eve' }), { results: [{ holder: 'ann' }] })
  t.strictSame(again.app.degradations.list(), [])
})

t.test('a state that was moved with its tree is set aside where nobody has named its place', async (t) => {
  const { path } = await makeJournal(t)
  const { aside } = createJournal(path, '/other/tree').open()
  t.match(aside, { fault: 'foreign', reason: /it is the state of another tree \(\/some\/tree\)/ })
  t.equal(scan(readFileSync(path), '/other/tree').count, 0)
})

t.test(
  'where the state cannot be written operations go on, somebody is told, and it is written as soon as it can be',
  async (t) => {
    const { root } = makeTree(t, { 'a.txt': 'one\n' })
    const folder = makeTree(t, { kept: 'a file is in the way' }).root
    const path = join(folder, 'kept', 'state')
    const { url, app } = await startServer(t, root, { persistence: { enabled: true, state_file: path } })
    const call = await connectTo(t, url)
    t.match(await call('lock_try', { filepaths: ['a.txt'], agent_id: 'ann' }), { all_acquired: true })
    const update = { path: 'a.txt', agent_id: 'ann', expected_hash: hashOf('one\n'), content: 'two\n' }
    t.match(await call('async_update', update), { status: 'ok' })
    t.match(app.degradations.list(), [{ message: /the state .* cannot be written/ }])
    rmSync(join(folder, 'kept'))
    while (app.degradations.list().length > 0) await new Promise((resolve) => setTimeout(resolve, 20))
    await app.close()
    const again = await startServer(t, root, { persistence: { enabled: true, state_file: path } })
    const second = { call: await connectTo(t, again.url) }
    t.match(await second.call('lock_try', { filepaths: ['a.txt'], agent_id: 'eve' }), { results: [{ holder: 'ann' }] })
  }
)

t.test(
  'two servers never write to one state: the second goes on without, and begins its own when that is free',
  async (t) => {
    const { root, path } = await leaveState(t)
    const persistence = { enabled: true, state_file: path, write_debounce_seconds: 0.01 }
    const first = await startServer(t, root, { persistence })
    await (
      await connectTo(t, first.url)
    )('lock_try', { filepaths: ['f.txt'], agent_id: 'ann' })
    const other = makeTree(t)
    const second = await startServer(t, other.root, { persistence })
    const call = await connectTo(t, second.url)
    t.match(await call('lock_try', { filepaths: ['g.txt'], agent_id: 'bob' }), { all_acquired: true })
    t.match(second.app.degradations.list(), [{ message: /another process has its lock/ }])
    t.equal(scan(readFileSync(path), root).header.tree, root)
    // The file is the first one's otherwise.
    rmSync(path)
    await first.app.close()
    const isOwn = () => {
      try {
        return [...scan(readFileSync(path), other.root).records('lease')].length === 1
      } catch {
        return false
      }
    }
    // It is told a moment after it has been written.
    while (!isOwn() || second.app.degradations.list().length > 0)
      await new Promise((resolve) => setTimeout(resolve, 20))
  }
)

t.test(
  'a state that lies in memory is told of, in the log and in /health',
  { skip: isInMemory('/dev/shm') && !isInMemory(tmpdir()) ? false : 'needs a tmpfs at /dev/shm, and none at /tmp' },
  async (t) => {
    const folder = mkdtempSync('/dev/shm/async-crud-mcp-test-')
    t.teardown(() => rmSync(folder, { recursive: true, force: true }))
    const tree = makeTree(t, { f: 'one' })
    const state_file = join(folder, 'own', 'state')
    const { url, app, log } = await startServer(t, tree.root, { persistence: { enabled: true, state_file } })
    await app.tree.join()
    const health = (await (await fetch(`${url}/health`)).json()) as object
    const message = /own\/state lies in a file system in memory.*mount a volume/
    t.match(health, { status: 'degraded', degraded: [{ part: 'persistence: place', message }] })
    t.match(log.join('\n'), message)
    const { url: other, app: without } = await startServer(t, folder, { persistence: { enabled: false } })
    await without.tree.join()
    t.match(
      await (await fetch(`${other}/health`)).json(),
      { status: 'healthy' },
      'what is not to be kept may lie there'
    )
    await without.close()
    const own = { enabled: true, state_file: join(folder, '.async-crud-mcp', 'state') }
    const { url: third, app: inMemory } = await startServer(t, folder, { persistence: own })
    await inMemory.tree.join()
    const { degraded } = (await (await fetch(`${third}/health`)).json()) as { degraded?: unknown }
    t.strictSame(degraded, [], 'a tree in memory ends with its state')
  }
)

t.test('on a full disk operations go on, tokens grow, and the state is written again once there is room', async (t) => {
  const tree = makeTree(t)
  const environment = { XDG_DATA_HOME: makeTree(t).root, ASYNC_CRUD_MCP_PERSISTENCE__ENABLED: 'true' }
  // No file may be larger than 8 blocks: the journal is soon, and by what it would hold anew as well.
  const through = ['sh', '-c', 'ulimit -f 8; exec "$@"', 'sh']
  const limited = startStdio(t, ['--transport', 'stdio', '--dir', tree.root], { environment, through })
  let last = 0
  for (let number = 0; number < 100; number += 1) {
    const { result } = await limited.call('lock_try', { filepaths: [`f${number}.txt`], agent_id: 'ann' })
    const token = result?.['results'][0].fencing_token as number
    if (!(token > last)) t.fail(`token ${token} after ${last}`)
    last = token
  }
  const { result } = await limited.call('async_write', { path: 'f0.txt', content: 'one\n', agent_id: 'ann' })
  t.match(result, { status: 'ok' })
  t.ok(limited.stderr.some((line) => /the state .* cannot be written: EFBIG/.test(line)))
  await limited.end('SIGKILL')

  const free = startStdio(t, ['--transport', 'stdio', '--dir', tree.root], { environment })
  const taken = await free.call('lock_try', { filepaths: ['g.txt'], agent_id: 'bob' })
  t.ok(taken.result?.['results'][0].fencing_token > last, 'tokens go on from there')
  const known = await free.call('lock_try', { filepaths: ['f0.txt'], agent_id: 'bob' })
  t.match(known.result, { results: [{ holder: 'ann' }] }, 'what was written before the disk was full is there')
})

t.test('a state that is removed under a server is written again', async (t) => {
  const { root, path } = await leaveState(t)
  const persistence = { enabled: true, state_file: path, write_debounce_seconds: 0.01 }
  const { url, app } = await startServer(t, root, { persistence })
  const call = await connectTo(t, url)
  await call('lock_try', { filepaths: ['a.txt'], agent_id: 'ann' })
  rmSync(dirname(path), { recursive: true })
  await call('lock_try', { filepaths: ['b.txt'], agent_id: 'ann' })
  const isBack = () => {
    try {
      return scan(readFileSync(path), root).count > 0
    } catch {
      return false
    }
  }
  while (!isBack()) await new Promise((resolve) => setTimeout(resolve, 20))
  await app.close()
  const leases = new Map<unknown, unknown>()
  for (const record of scan(readFileSync(path), root).records('lease') as Iterable<{
    fencingToken: number
    path: string
  }>)
    leases.set(record.fencingToken, record.path)
  t.same([...leases.values()].includes(join(root, 'b.txt')), true)
})

t.test('bytes of a version that are not what they were are no base', async (t) => {
  const { root } = makeTree(t, { 'a.txt': 'one\n' })
  const path = join(makeTree(t).root, 'kept', 'state')
  const settings = {
    crud: { base_cache_bytes: 0 },
    persistence: { enabled: true, state_file: path, write_debounce_seconds: 0 }
  }
  const first = await startServer(t, root, settings)
  const call = await connectTo(t, first.url)
  const { hash } = await call('async_read', { path: 'a.txt' })
  const bases = `${path}.bases`
  const stored = join(bases, hash.slice(7, 9), hash.slice(9))
  const stale = { path: 'a.txt', expected_hash: hash, content: 'three\n' }
  await call('async_update', { ...stale, content: 'two\n' })
  t.match(await call('async_update', stale), { base_known: true })
  while (!readdirSync(bases).includes(hash.slice(7, 9))) await new Promise((resolve) => setTimeout(resolve, 5))
  while (readdirSync(dirname(stored)).some((name) => name.endsWith('.new'))) await new Promise((r) => setTimeout(r, 5))
  while (readdirSync(bases).some((name) => name.startsWith('fresh-'))) await new Promise((r) => setTimeout(r, 5))
  t.match(await call('async_update', stale), { base_known: true })
  chmodSync(stored, 0o600)
  writeFileSync(stored, 'no such bytes')
  t.match(await call('async_update', stale), { base_known: false, diff: null })
})
