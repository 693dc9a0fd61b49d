// A root that is moved, removed, replaced or unmounted while it is served, and what becomes of it when it is back.
import { existsSync, mkdirSync, readdirSync, renameSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { setTimeout as delay } from 'node:timers/promises'
import t, { type Test } from 'tap'
import type { PartialConfig } from '../../../src/config/config.ts'
import { skipOnHosts } from '../../fixtures/behind.ts'
import type { Answer } from '../../fixtures/clients.ts'
import { call, healthOf, httpOn, memberOn, own, post, stdioOn } from '../../fixtures/processes.ts'
import { startProgram, startServer } from '../../fixtures/server.ts'
import { makeTree, type Tree } from '../../fixtures/tree.ts'
import { until } from '../../fixtures/until.ts'

/** The times after which the server looks again at what it has lost, and more: nothing is made in them. */
const watchedMs = 4000
const gone = { error_code: 'DIR_NOT_FOUND', message: /root .* is gone/ }

/** Asks for as long as the server takes to look after what it has lost. */
async function whileItLooks(act: () => Promise<void>): Promise<void> {
  const end = performance.now() + watchedMs
  while (performance.now() < end) {
    await act()
    await delay(200)
  }
}

async function isDegraded(t: Test, url: string, message: RegExp): Promise<void> {
  const { status, degraded } = await healthOf(url)
  t.equal(status, 'degraded')
  t.match((degraded as Answer[]).find(({ part }) => part === 'roots')?.['message'], message)
}

function treeOf(tree: Tree, name: string): Tree {
  return { ...tree, root: tree.path(name) }
}

for (const enabled of [false, true]) {
  t.test(`a root that was moved is not made anew (persistence.enabled: ${enabled})`, async (t) => {
    const tree = makeTree(t, { 'root/a/f': 'one' })
    const persistence = {
      enabled,
      write_debounce_seconds: 0.01,
      state_file: enabled ? tree.path(`root/${own}/s/s`) : null
    }
    const { url } = await startServer(t, tree.path('root'), { persistence })
    await post(url, 'async_append', { path: 'a/f', content: '!' })
    t.match(await post(url, 'lock_try', { filepaths: ['a/f'], agent_id: 'ann' }), { all_acquired: true })
    renameSync(tree.path('root'), tree.path('moved'))
    await whileItLooks(async () => {
      t.match(await post(url, 'async_read', { path: 'a/f' }), gone)
      t.match(await post(url, 'async_write', { path: 'a/g', content: 'lost', create_dirs: true }), gone)
      await isDegraded(t, url, /is gone/)
    })
    t.notOk(existsSync(tree.path('root')))
    renameSync(tree.path('moved'), tree.path('root'))
    const append = { path: 'a/f', content: '?', agent_id: 'ann' }
    t.match(await post(url, 'async_append', append), { status: 'ok' })
    t.equal(tree.read('root/a/f'), 'one!?')
    t.match(await post(url, 'async_append', { ...append, agent_id: 'bob', timeout: 0 }), { error_code: 'LOCK_TIMEOUT' })
    await until(async () => (await healthOf(url))['status'] === 'healthy')
  })
}

t.test('what has taken the place of a root is neither served nor written to', async (t) => {
  const tree = makeTree(t, { 'root/f': 'one' })
  const { url } = await startServer(t, tree.path('root'))
  await post(url, 'async_append', { path: 'f', content: '!' })
  renameSync(tree.path('root'), tree.path('moved'))
  const others = {
    folder: () => mkdirSync(tree.path('root')),
    link: () => symlinkSync(tree.path('moved'), tree.path('root')),
    file: () => writeFileSync(tree.path('root'), '')
  }
  for (const [name, make] of Object.entries(others)) {
    make()
    await whileItLooks(async () => {
      t.match(await post(url, 'async_read', { path: 'f' }), gone, name)
      t.match(await post(url, 'async_write', { path: 'g', content: 'lost' }), gone, name)
      await isDegraded(t, url, /is gone/)
    })
    if (name === 'folder') t.strictSame(readdirSync(tree.path('root')), [])
    rmSync(tree.path('root'), { recursive: true })
  }
  t.notOk(existsSync(tree.path('moved/g')))
  renameSync(tree.path('moved'), tree.path('root'))
  t.match(await post(url, 'async_append', { path: 'f', content: '?' }), { status: 'ok' })
  t.equal(tree.read('root/f'), 'one!?')
})

t.test('a folder made in the place of one that was removed is another one, and a stop leaves it alone', async (t) => {
  const tree = makeTree(t, { 'root/f': 'one' })
  const { url, process } = await startProgram(t, ['--dir', tree.path('root')])
  await post(url, 'async_append', { path: 'f', content: '!' })
  rmSync(tree.path('root'), { recursive: true })
  // Such as by another server of that folder.
  mkdirSync(tree.path(`root/${own}/live`), { recursive: true })
  tree.write(`root/${own}/live/state`, 'of another server')
  tree.write('root/f', 'another')
  t.match(await post(url, 'async_append', { path: 'f', content: '!' }), gone)
  const ended = new Promise((resolve) => process.once('exit', resolve))
  process.kill('SIGTERM')
  t.equal(await ended, 0)
  t.strictSame(tree.own(), [])
  t.strictSame(readdirSync(tree.path('root')).sort(), [own, 'f'])
  t.equal(tree.read(`root/${own}/live/state`), 'of another server')
})

t.test('a root that is back is watched again at once', { skip: skipOnHosts.looksIntoOne }, async (t) => {
  const tree = makeTree(t, { 'root/a/f': 'one', 'root/g': 'one' })
  const { url, app } = await startServer(t, tree.path('root'), { watcher: { rescan_seconds: 0 } })
  for (const path of ['a/f', 'g']) await post(url, 'async_read', { path })
  await until(() => app.watcher?.watchedFolders === 2)
  const next = () =>
    new Promise<string>((resolve) => {
      const stop = app.history.onEntry(({ steps: [{ path }], operation }) => {
        if (operation !== 'external') return
        stop()
        resolve(path)
      })
    })
  for (const name of ['a/f', 'g']) {
    renameSync(tree.path('root'), tree.path('moved'))
    await until(() => app.watcher?.watchedFolders === 0)
    const changedWhileAway = next()
    writeFileSync(tree.path(`moved/${name}`), `changed while away ${name}`)
    renameSync(tree.path('moved'), tree.path('root'))
    t.equal(await changedWhileAway, tree.path(`root/${name}`))
    await until(() => app.watcher?.watchedFolders === 2)
    const changed = next()
    tree.write(`root/${name}`, `two of ${name}`)
    t.equal(await changed, tree.path(`root/${name}`))
  }
})

for (const away of ['one', 'two']) {
  t.test(`of two roots, calls on the one that is there go on (${away} is gone)`, async (t) => {
    const tree = makeTree(t, { 'one/f': 'one', 'two/f': 'two' })
    const roots = [tree.path('one'), tree.path('two')]
    const { url } = await startServer(t, roots, { persistence: { write_debounce_seconds: 0.01 } })
    const there = away === 'one' ? 'two' : 'one'
    for (const name of ['one', 'two']) await post(url, 'async_append', { path: tree.path(`${name}/f`), content: '!' })
    const path = tree.path(`${there}/f`)
    t.match(await post(url, 'lock_try', { filepaths: [path], agent_id: 'ann' }), { all_acquired: true })
    renameSync(tree.path(away), tree.path('moved'))
    await whileItLooks(async () => {
      const { hash, ...rest } = await post(url, 'async_read', { path })
      t.match(rest, { status: 'ok' })
      const append = { path, content: '.', expected_hash: hash, agent_id: 'ann' }
      t.match(await post(url, 'async_append', append), { status: 'ok' })
      t.match(await post(url, 'lock_release', { filepaths: [path], agent_id: 'ann' }), { status: 'ok' })
      t.match(await post(url, 'lock_try', { filepaths: [path], agent_id: 'ann' }), { all_acquired: true })
      t.match(await post(url, 'async_append', { path: tree.path(`${away}/f`), content: 'lost' }), {
        error_code: 'DIR_NOT_FOUND',
        message: new RegExp(`root ${tree.path(away)} is gone`)
      })
      await isDegraded(t, url, new RegExp(`${away} is gone`))
    })
    t.notOk(existsSync(tree.path(away)))
    renameSync(tree.path('moved'), tree.path(away))
    t.match(await post(url, 'async_append', { path: tree.path(`${away}/f`), content: '?' }), { status: 'ok' })
    t.equal(tree.read(`${away}/f`), `${away}!?`)
    await until(async () => (await healthOf(url))['status'] === 'healthy')
  })
}

t.test('a relay whose authority ends while one of two roots is gone goes on with the other', async (t) => {
  const tree = makeTree(t, { 'one/f': 'one', 'two/f': 'two' })
  const args = ['--dir', tree.path('two')]
  const first = await httpOn(t, treeOf(tree, 'one'), ...args)
  const second = await httpOn(t, treeOf(tree, 'one'), ...args)
  t.match(await healthOf(second.url), { role: 'relay' })
  renameSync(tree.path('two'), tree.path('moved'))
  await first.stop('SIGKILL')
  const path = tree.path('one/f')
  t.match(await post(second.url, 'async_append', { path, content: '!' }), { status: 'ok' })
  t.match(await post(second.url, 'async_append', { path: tree.path('two/f'), content: '!' }), {
    error_code: 'DIR_NOT_FOUND',
    message: new RegExp(`root ${tree.path('two')} is gone`)
  })
  renameSync(tree.path('moved'), tree.path('two'))
  t.match(await post(second.url, 'async_append', { path: tree.path('two/f'), content: '!' }), { status: 'ok' })
  await until(() => existsSync(tree.path(`two/${own}/authority.lock`)))
  const third = await httpOn(t, treeOf(tree, 'one'), ...args)
  t.match(await healthOf(third.url), { role: 'relay', authority_pid: second.process.pid })
})

t.test('what is answered while the first root is away is in the state that comes back with it', async (t) => {
  const tree = makeTree(t, { 'one/f': 'one', 'two/f': 'two' })
  const persistence = { ASYNC_CRUD_MCP_PERSISTENCE__ENABLED: 'true', XDG_DATA_HOME: tree.path(`one/${own}/data`) }
  const settings = { ...persistence, ASYNC_CRUD_MCP_PERSISTENCE__STATE_FILE: tree.path(`one/${own}/s/state`) }
  const args = ['--dir', tree.path('one'), '--dir', tree.path('two')]
  const first = await startProgram(t, args, { ...settings, ASYNC_CRUD_MCP_PERSISTENCE__WRITE_DEBOUNCE_SECONDS: '0.01' })
  const path = tree.path('two/f')
  const lease = { filepaths: [path], agent_id: 'ann', ttl_seconds: 3000 }
  await post(first.url, 'async_append', { path, content: '!' })
  t.match(await post(first.url, 'lock_try', { ...lease, filepaths: [tree.path('two/g')] }), { all_acquired: true })
  renameSync(tree.path('one'), tree.path('moved'))
  // Twice the time after which the state that was lost is looked for again.
  await whileItLooks(async () => {
    t.match(await post(first.url, 'async_append', { path, content: '.' }), { status: 'ok' })
  })
  t.match(await post(first.url, 'lock_try', lease), { all_acquired: true })
  const named = { path, content: '?', agent_id: 'ann', request_id: 'only once' }
  const answer = await post(first.url, 'async_append', named)
  t.match(answer, { status: 'ok' })
  await first.stop('SIGKILL')
  renameSync(tree.path('moved'), tree.path('one'))
  const second = await startProgram(t, args, settings)
  t.match(await post(second.url, 'async_append', { path, content: '', agent_id: 'bob', timeout: 0 }), {
    error_code: 'LOCK_TIMEOUT'
  })
  t.match(await post(second.url, 'async_append', named), { hash: answer['hash'] })
  t.notOk(tree.read('two/f').includes('??'))
})

t.test('a lease whose token would need the root that is gone is refused with its name', async (t) => {
  const tree = makeTree(t, { 'one/f': 'one', 'two/f': 'two' })
  const { url } = await startServer(t, [tree.path('one'), tree.path('two')])
  await post(url, 'async_read', { path: tree.path('two/f') })
  renameSync(tree.path('one'), tree.path('moved'))
  const lease = { filepaths: [tree.path('two/f')], agent_id: 'ann' }
  t.match(await post(url, 'lock_try', lease), { message: new RegExp(`root ${tree.path('one')} is gone`) })
  renameSync(tree.path('moved'), tree.path('one'))
  t.match(await post(url, 'lock_try', lease), { all_acquired: true })
})

t.test('a start while the root is missing makes nothing, and says which root it is', async (t) => {
  const tree = makeTree(t, { 'root/f': 'one' })
  const stdio = stdioOn(t, treeOf(tree, 'root'))
  await call(stdio, 'async_read', { path: 'f' })
  renameSync(tree.path('root'), tree.path('moved'))
  await t.rejects(
    startProgram(t, ['--dir', tree.path('root')]),
    new RegExp(`root does not exist: ${tree.path('root')}`)
  )
  t.notOk(existsSync(tree.path('root')))
})

t.test('a server of the place to which a root was moved is refused while the root is served', async (t) => {
  const tree = makeTree(t, { 'root/f': 'one' })
  const { url } = await memberOn(t, treeOf(tree, 'root'))
  renameSync(tree.path('root'), tree.path('moved'))
  const { url: other } = await startServer(t, tree.path('moved'))
  t.match(await post(other, 'async_append', { path: 'f', content: '!' }), {
    message: new RegExp(`already served, by process ${process.pid} as part of the tree ${tree.path('root')}`)
  })
  renameSync(tree.path('moved'), tree.path('root'))
  t.match(await post(url, 'async_append', { path: 'f', content: '?' }), { status: 'ok' })
  t.equal(tree.read('root/f'), 'one?')
})

const kept: PartialConfig['persistence'] = { enabled: true, write_debounce_seconds: 0.01 }

t.test('a folder of the user in which the state lies is not made anew while the server runs', async (t) => {
  const tree = makeTree(t, { 'root/f': 'one', 'disk/states/x': '' })
  const persistence = { ...kept, state_file: tree.path('disk/states/own/state') }
  const { url } = await startServer(t, tree.path('root'), { persistence })
  await post(url, 'async_append', { path: 'f', content: '!' })
  t.ok(existsSync(tree.path('disk/states/own/state')))
  renameSync(tree.path('disk'), tree.path('unmounted'))
  await whileItLooks(async () => {
    t.match(await post(url, 'async_append', { path: 'f', content: '.' }), { status: 'ok' })
  })
  t.notOk(existsSync(tree.path('disk')))
  t.match(await healthOf(url), { status: 'degraded' })
  renameSync(tree.path('unmounted'), tree.path('disk'))
  await until(async () => (await healthOf(url))['status'] === 'healthy')
})
