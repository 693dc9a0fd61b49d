// A file that another program holds open, as on Windows: no rename replaces or takes it. A transaction that meets one makes all or none.
import { existsSync, rmSync, writeFileSync } from 'node:fs'
import t, { type Test } from 'tap'
import { post, healthOf } from '../../fixtures/processes.ts'
import { onSystem, preload } from '../../fixtures/preload.ts'
import { programPath, startOneProgram } from '../../fixtures/server.ts'
import { startStdio } from '../../fixtures/stdio.ts'
import { hashOf, makeTree, type Tree } from '../../fixtures/tree.ts'
import { until } from '../../fixtures/until.ts'

/**
 * No rename replaces a file that this process has open, and none touches a file that another program holds: those that `holds` names,
 * a name a line. "after" before a name: once this process has renamed something to it. "kill" before it: the process ends there. "3"
 * before it: for the first three attempts. Beside `holds` stands what was refused.
 * @param refusesOwn false for single updates: elsewhere than on Windows they hold a descriptor of what they replace
 */
const windows = (holds: string, { refusesOwn = true } = {}) => `
  const { openSync, closeSync, renameSync, unlinkSync, lstatSync, fstatSync, readFileSync, writeFileSync } = fs
  const tried = new Map()
  const open = new Map()
  const placed = new Set()
  fs.openSync = (...args) => {
    const fd = openSync(...args)
    open.set(fd, fstatSync(fd, { bigint: true }).ino)
    return fd
  }
  fs.closeSync = (fd) => (open.delete(fd), closeSync(fd))
  const { close } = fs
  fs.close = (fd, done) => (open.delete(fd), close(fd, done))
  const held = () => { try { return readFileSync(${JSON.stringify(holds)}, 'utf8').split('\\n') } catch { return [] } }
  const check = (path, syscall) => {
    const name = path.split('/').pop()
    if (held().includes('kill ' + name)) process.kill(process.pid, 'SIGKILL')
    const times = Number(held().find((line) => /^[0-9]/.test(line) && line.endsWith(' ' + name))?.split(' ')[0] ?? 0)
    tried.set(name, (tried.get(name) ?? 0) + 1)
    const isHeld = held().includes(name) || (placed.has(name) && held().includes('after ' + name))
    if (!isHeld && tried.get(name) > times) return
    writeFileSync(${JSON.stringify(`${holds}-refused`)}, name)
    fail('EBUSY', syscall)
  }
  fs.renameSync = (from, to) => {
    check(to, 'rename')
    check(from, 'rename')
    const there = lstatSync(to, { bigint: true, throwIfNoEntry: false })
    if (${refusesOwn} && there?.isFile() && [...open.values()].includes(there.ino)) fail('EPERM', 'rename')
    renameSync(from, to)
    placed.add(to.split('/').pop())
  }
  fs.unlinkSync = (path) => (check(path, 'unlink'), unlinkSync(path))`

const files = { a: 'a\n', b: 'b\n', c: 'c\n' }
const changes = [
  { operation: 'update', path: 'a', expected_hash: hashOf('a\n'), content: 'A\n' },
  { operation: 'append', path: 'b', content: 'more\n' },
  { operation: 'delete', path: 'c' }
]
const made = { a: 'A\n', b: 'b\nmore\n' }

function filesOf(tree: Tree): Record<string, string> {
  const names = tree.all().filter((name) => !name.startsWith('holds') && !name.startsWith('.async-crud-mcp-'))
  return Object.fromEntries(names.map((name) => [name, tree.read(name)]))
}

async function start(t: Test, tree: Tree, options?: Parameters<typeof windows>[1]) {
  return startOneProgram(t, ['--dir', tree.root], {}, onSystem(windows(tree.path('holds'), options)))
}

for (const name of ['b', 'c'])
  t.test(`a transaction that meets a file held open (${name}) changes nothing, and can be made later`, async (t) => {
    const tree = makeTree(t, files)
    const { url, process } = await start(t, tree)
    writeFileSync(tree.path('holds'), name)
    const named = { changes, agent_id: 'ann', request_id: 'r' }
    const failed = await post(url, 'async_transaction', named)
    t.match(failed, {
      status: 'error',
      error_code: 'WRITE_ERROR',
      message: /another program holds the file open/,
      details: { held_open: true }
    })
    t.strictSame(filesOf(tree), files)
    t.notOk(tree.own().some((each) => each.startsWith('change-')))
    rmSync(tree.path('holds'))
    t.match(await post(url, 'async_transaction', named), { status: 'ok' })
    t.strictSame(filesOf(tree), made)
    process.kill('SIGKILL')
  })

t.test('a change waits until another program lets go of its file', async (t) => {
  const tree = makeTree(t, { ...files, d: 'd\n' })
  const { url } = await start(t, tree, { refusesOwn: false })
  writeFileSync(tree.path('holds'), '3 a\n4 b\n3 c\n3 d')
  const ok = { status: 'ok' }
  t.match(await post(url, 'async_update', { path: 'a', expected_hash: hashOf('a\n'), content: 'A\n' }), ok)
  t.match(await post(url, 'async_rename', { old_path: 'b', new_path: 'e' }), ok)
  t.match(await post(url, 'async_delete', { path: 'c' }), ok)
  t.match(
    await post(url, 'async_transaction', {
      changes: [
        { operation: 'delete', path: 'd' },
        { operation: 'append', path: 'e', content: 'E\n' }
      ]
    }),
    ok
  )
  t.strictSame(filesOf(tree), { a: 'A\n', e: 'b\nE\n' })
})

t.test('a call that is cancelled waits no longer for a file that is held open', async (t) => {
  const tree = makeTree(t, files)
  writeFileSync(tree.path('holds'), 'a')
  const args = [
    preload(windows(tree.path('holds'), { refusesOwn: false })),
    programPath,
    '--transport',
    'stdio',
    '--dir',
    tree.root
  ]
  const program = startStdio(t, args, { main: '--import' })
  program.send({
    jsonrpc: '2.0',
    id: 'held',
    method: 'async_update',
    params: { path: 'a', expected_hash: hashOf('a\n'), content: 'A\n' }
  })
  await until(() => existsSync(tree.path('holds-refused')))
  program.send({ jsonrpc: '2.0', method: 'notifications/cancelled', params: { requestId: 'held' } })
  t.match((await program.answer('held')).error?.data, { error_code: 'CANCELLED' })
  rmSync(tree.path('holds'))
  t.strictSame(filesOf(tree), files)
  t.match(await program.call('async_append', { path: 'a', content: 'A\n' }), { result: { status: 'ok' } })
})

for (const name of ['b', 'c'])
  t.test(`killed while a file is held open (${name}), the next start makes all or none, and no half`, async (t) => {
    const tree = makeTree(t, files)
    const first = await start(t, tree)
    writeFileSync(tree.path('holds'), `kill ${name}`)
    await post(first.url, 'async_transaction', { changes, agent_id: 'ann' }).catch(() => {})
    writeFileSync(tree.path('holds'), name)
    const second = await start(t, tree)
    t.match(await post(second.url, 'async_read', { path: 'a' }), { content: 'a\n' })
    t.strictSame(filesOf(tree), files)
  })

t.test('what can neither be made nor taken back is told until it can, and is then taken back', async (t) => {
  const tree = makeTree(t, files)
  const { url } = await start(t, tree)
  // The first file is held once it has been changed, and the second is held before.
  writeFileSync(tree.path('holds'), 'b\nafter a')
  const answer = await post(url, 'async_transaction', { changes, agent_id: 'ann' })
  t.match(answer, { status: 'error', details: { unfinished: true } })
  t.match(await healthOf(url), { status: 'degraded', degraded: [{ part: 'transaction', message: /a/ }] })
  t.equal(tree.read('a'), 'A\n')
  rmSync(tree.path('holds'))
  await until(async () => (await healthOf(url))['status'] === 'healthy')
  t.strictSame(filesOf(tree), files)
  t.notOk(tree.own().some((each) => each.startsWith('change-')))
  t.match(await post(url, 'async_transaction', { changes, agent_id: 'ann' }), { status: 'ok' })
  t.strictSame(filesOf(tree), made)
})

t.test('what could not be taken back is taken back by the next start, and not made', async (t) => {
  const tree = makeTree(t, files)
  const first = await start(t, tree)
  writeFileSync(tree.path('holds'), 'b\nafter a')
  const named = { changes, agent_id: 'ann', request_id: 'r' }
  t.match(await post(first.url, 'async_transaction', named), { status: 'error', details: { unfinished: true } })
  await first.stop('SIGKILL')
  // It is held no longer: what is left could be made, too. The caller was told that it failed.
  rmSync(tree.path('holds'))
  const second = await start(t, tree)
  t.match(await post(second.url, 'async_read', { path: 'a' }), { content: 'a\n' })
  t.strictSame(filesOf(tree), files)
})

t.test('what a start can neither make nor take back is told, and settled once that works', async (t) => {
  const tree = makeTree(t, files)
  const first = await start(t, tree)
  writeFileSync(tree.path('holds'), 'kill b')
  await post(first.url, 'async_transaction', { changes, agent_id: 'ann' }).catch(() => {})
  writeFileSync(tree.path('holds'), 'a\nb')
  const second = await start(t, tree)
  t.match(await post(second.url, 'async_list', { path: '.' }), { status: 'ok' })
  t.match(await healthOf(second.url), {
    degraded: [{ part: 'transaction', message: /neither be finished nor taken back/ }]
  })
  // Its old and new bytes are kept, which lie beside it under the names of leftovers.
  t.ok(tree.all().some((name) => name.startsWith('.async-crud-mcp-')))
  rmSync(tree.path('holds'))
  await until(async () => (await healthOf(second.url))['status'] === 'healthy')
  t.strictSame(filesOf(tree), made)
  await until(() => !tree.all().some((name) => name.startsWith('.async-crud-mcp-')))
})
