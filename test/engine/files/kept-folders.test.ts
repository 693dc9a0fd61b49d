// Folders stay open between calls: whatever becomes of them meanwhile is seen as if they were opened anew, and none stays open for long.
import { execFileSync } from 'node:child_process'
import { chmodSync, mkdirSync, readdirSync, readlinkSync, renameSync, rmSync, symlinkSync } from 'node:fs'
import { tmpdir } from 'node:os'
import t, { type Test } from 'tap'
import { createFileStore } from '../../../src/engine/files/file-store.ts'
import { isLocal } from '../../../src/engine/files/kept-folders.ts'
import { isErrno, OperationError } from '../../../src/errors.ts'
import { connect } from '../../fixtures/clients.ts'
import { casesOf, givenSeed } from '../../fixtures/length.ts'
import { createRandom, type Random } from '../../fixtures/random.ts'
import { startServer } from '../../fixtures/server.ts'
import { hashOf, makeTree, type Tree } from '../../fixtures/tree.ts'
import { runUnprivileged } from '../../fixtures/unprivileged.ts'
import { until } from '../../fixtures/until.ts'

/** Elsewhere no folder is kept, and the tests show that they ask for nothing that only keeping gives. */
const isKeeping = isLocal(tmpdir())

/** Paths of what this process has open below a folder. */
function openBelow(root: string): string[] {
  const paths = readdirSync('/proc/self/fd').flatMap((fd) => {
    try {
      return [readlinkSync(`/proc/self/fd/${fd}`)]
    } catch (error) {
      // The descriptor of this listing itself.
      if (isErrno(error, 'ENOENT')) return []
      throw error
    }
  })
  return paths.filter((path) => path.startsWith(`${root}/`))
}

async function scene(t: Test, files: Record<string, string>) {
  const tree = makeTree(t, files)
  const { url, app } = await startServer(t, tree.path('root'))
  const client = await connect(t, 'rest', url, 'tester')
  const read = async (path: string) => (await client.call('async_read', { path }))['content']
  return {
    tree,
    app,
    client,
    read,
    /** Returns while these folders are open. */
    keep: (...folders: string[]): Promise<void> =>
      until(async () => {
        for (const folder of folders) await read(`${folder}/f`)
        if (!isKeeping) return true
        const open = openBelow(tree.path('root'))
        return folders.every((folder) => open.includes(tree.path(`root/${folder}`)))
      })
  }
}

t.test('a kept folder that is moved away is not found any more, and is found at its new name', async (t) => {
  const { tree, client, read, keep } = await scene(t, { 'root/d/e/f': 'one' })
  await keep('d/e')
  renameSync(tree.path('root/d'), tree.path('root/moved'))
  t.match(await client.call('async_read', { path: 'd/e/f' }), { error_code: 'FILE_NOT_FOUND' })
  t.match(await client.call('async_write', { path: 'd/e/g', content: 'x', create_dirs: false }), {
    error_code: 'DIR_NOT_FOUND'
  })
  t.equal(await read('moved/e/f'), 'one')
  await keep('moved/e')
  renameSync(tree.path('root/moved'), tree.path('outside'))
  t.match(await client.call('async_delete', { path: 'moved/e/f' }), { error_code: 'FILE_NOT_FOUND' })
  t.strictSame(tree.all(), ['outside', 'outside/e', 'outside/e/f', 'root'])
})

t.test('a folder in the place of a kept one is the one that is read and changed, however deep', async (t) => {
  const { tree, client, read, keep } = await scene(t, { 'root/d/e/f': 'one', 'root/other/e/f': 'two' })
  await keep('d/e')
  renameSync(tree.path('root/d'), tree.path('root/old'))
  renameSync(tree.path('root/other'), tree.path('root/d'))
  t.equal(await read('d/e/f'), 'two')
  await keep('d/e', 'old/e')
  const change = { path: 'd/e/f', expected_hash: hashOf('two'), content: 'three' }
  t.match(await client.call('async_update', change), { status: 'ok' })
  t.strictSame([tree.read('root/d/e/f'), tree.read('root/old/e/f')], ['three', 'one'])
})

t.test('a kept folder that is deleted is gone, and one that is made anew is another', async (t) => {
  const { tree, client, read, keep } = await scene(t, { 'root/d/e/f': 'one' })
  await keep('d/e')
  rmSync(tree.path('root/d'), { recursive: true })
  t.match(await client.call('async_read', { path: 'd/e/f' }), { error_code: 'FILE_NOT_FOUND' })
  t.match(await client.call('async_write', { path: 'd/e/f', content: 'two', create_dirs: false }), {
    error_code: 'DIR_NOT_FOUND'
  })
  t.match(await client.call('async_write', { path: 'd/e/f', content: 'two' }), { status: 'ok' })
  t.equal(await read('d/e/f'), 'two')
  await keep('d/e')
  rmSync(tree.path('root/d'), { recursive: true })
  tree.write('root/d/e/f', 'three')
  t.equal(await read('d/e/f'), 'three')
})

t.test('a link in the place of a kept folder is followed inside the root, and refused if it leads out', async (t) => {
  const { tree, client, read, keep } = await scene(t, { 'root/d/e/f': 'one', 'root/real/e/f': 'two', 'out/e/f': 'no' })
  await keep('d/e', 'real/e')
  renameSync(tree.path('root/d'), tree.path('kept-d'))
  symlinkSync('real', tree.path('root/d'))
  t.equal(await read('d/e/f'), 'two')
  await client.call('lock_try', { filepaths: ['real/e/f'], agent_id: 'ann' })
  const change = { path: 'd/e/f', expected_hash: hashOf('two'), content: 'three', timeout: 0 }
  t.match(await client.call('async_update', change), { error_code: 'LOCK_TIMEOUT' }, 'both names mean one file')
  for (const target of [tree.path('out'), '../out', tree.path('kept-d')]) {
    rmSync(tree.path('root/d'))
    symlinkSync(target, tree.path('root/d'))
    t.match(await client.call('async_read', { path: 'd/e/f' }), { error_code: 'PATH_OUTSIDE_BASE' }, target)
  }
  // The very folder that is open, but reached through a link.
  t.match(await client.call('async_write', { path: 'd/e/g', content: 'x' }), { error_code: 'PATH_OUTSIDE_BASE' })
  rmSync(tree.path('root/d'))
  renameSync(tree.path('kept-d'), tree.path('root/d'))
  t.equal(await read('d/e/f'), 'one')
})

t.test('a root that another folder or a link has replaced is refused while its folders are kept', async (t) => {
  const { tree, client, read, keep } = await scene(t, { 'root/d/f': 'one', 'other/d/f': 'two' })
  await keep('d')
  renameSync(tree.path('root'), tree.path('moved'))
  const gone = { error_code: 'DIR_NOT_FOUND', message: /root/ }
  t.match(await client.call('async_read', { path: 'd/f' }), gone)
  symlinkSync('moved', tree.path('root'))
  t.match(await client.call('async_read', { path: 'd/f' }), gone)
  rmSync(tree.path('root'))
  renameSync(tree.path('other'), tree.path('root'))
  t.match(await client.call('async_read', { path: 'd/f' }), gone)
  renameSync(tree.path('root'), tree.path('other'))
  renameSync(tree.path('moved'), tree.path('root'))
  t.equal(await read('d/f'), 'one')
})

t.test('a folder that may not be read any more is refused though it is open', async (t) => {
  const tree = makeTree(t, { 'd/f': 'one' })
  const read = { call: 'async_read', input: { path: 'd/f' } }
  const answers = await runUnprivileged(tree, [
    read,
    { chmod: 'd', mode: 0o311 },
    read,
    { chmod: 'd', mode: 0o755 },
    read
  ])
  t.match(answers, [{ content: 'one' }, { error_code: 'ACCESS_DENIED' }, { content: 'one' }])
})

t.test('a file system is mounted over a kept folder, is seen at once, and is unmounted at once', async (t) => {
  const { tree, read, keep } = await scene(t, { 'root/d/e/f': 'one' })
  await keep('d/e')
  const mounted = tree.path('root/d')
  try {
    execFileSync('mount', ['-t', 'tmpfs', 'tmpfs', mounted], { stdio: 'ignore' })
  } catch {
    return t.comment('skipped: mounting needs root; run the tests as root on Linux to see this one')
  }
  const unmount = () => execFileSync('umount', [mounted])
  try {
    t.equal(await read('d/e/f'), undefined)
    tree.write('root/d/e/f', 'two')
    t.equal(await read('d/e/f'), 'two')
  } catch (error) {
    unmount()
    throw error
  }
  t.doesNotThrow(unmount, 'no folder in it is kept')
  t.equal(await read('d/e/f'), 'one')
})

const cannotCount = !isKeeping && 'folders are kept on local file systems of Linux only'

t.test('a walk over hundreds of folders keeps few open, none for long', { skip: cannotCount }, async (t) => {
  const names = Array.from({ length: 300 }, (_, index) => `a/${index}`)
  const { tree, app, read } = await scene(t, Object.fromEntries(names.map((name) => [`root/${name}/f`, name])))
  const root = tree.path('root')
  // The watcher opens a folder that is kept once more, for the moment in which it reads it.
  const foldersOpen = () => new Set(openBelow(`${root}/a`)).size
  let most = 0
  const wrong: string[] = []
  for (const name of [...names, ...names]) {
    if ((await read(`${name}/f`)) !== name) wrong.push(name)
    most = Math.max(most, foldersOpen())
  }
  t.strictSame(wrong, [])
  t.ok(most > 1 && most <= 64, `${most} folders open`)
  await until(() => foldersOpen() === 0)
  await until(async () => {
    await read('a/1/f')
    return foldersOpen() > 0
  })
  await app.close()
  t.equal(foldersOpen(), 0, 'after the end')
})

/** Where a path leads by a store: the canonical path and what is there, or the code of the refusal. */
function resolve(store: ReturnType<typeof openStore>, path: string): string {
  try {
    const place = store.open(path, 'target')
    try {
      const look = place.directory.stat('.')
      return `${place.path} in ${look?.ino}, missing ${place.missing.join()}: ${place.stat?.ino} ${place.stat?.mode}`
    } finally {
      place.close()
    }
  } catch (error) {
    if (error instanceof OperationError) return error.code
    throw error
  }
}

const openStore = (root: string) =>
  createFileStore({ roots: [root], maxFileBytes: 1e6, maxSyncBytes: 1e6, hardlinks: 'break', protectedPaths: [] })

const names = ['a', 'b', 'a/a', 'a/b', 'b/a', 'a/a/a', '../out', '../out/a']
const oneOf = <Item>(random: Random, items: readonly Item[]) => items[Math.floor(random() * items.length)] as Item

/** Links to the folder above may follow one another: even those of all names together must not lead out of the tree. */
const deep = 'p/q/r/s/t'

/** Moves, removes, makes or links a folder at random; what the system refuses is left. */
function disturb(tree: Tree, random: Random): string {
  const [from, to] = [oneOf(random, names), oneOf(random, names)]
  const path = (name: string) => tree.path(`${deep}/root/${name}`)
  const what = oneOf(random, ['move', 'move', 'remove', 'make', 'make', 'link', 'mode'] as const)
  try {
    if (what === 'move') renameSync(path(from), path(to))
    else if (what === 'remove') rmSync(path(from), { recursive: true })
    else if (what === 'make') mkdirSync(path(to), { recursive: true })
    else if (what === 'link') symlinkSync(oneOf(random, [path(from), from, '..']), path(to))
    else chmodSync(path(from), oneOf(random, [0o755, 0o700]))
  } catch (error) {
    if (!isErrno(error, 'ENOENT', 'EEXIST', 'ENOTEMPTY', 'EINVAL', 'ENOTDIR', 'ELOOP', 'EISDIR', 'EPERM')) throw error
  }
  return `${what} ${from} ${to}`
}

t.test('whatever is done to folders, a path leads where it does for a server that has opened none', async (t) => {
  const seed = givenSeed ?? Date.now() % 1e6
  t.comment(`seed ${seed}`)
  const random = createRandom(seed)
  const tree = makeTree(
    t,
    Object.fromEntries(['root/a/a/f', 'root/a/b/f', 'root/b/f', 'out/a/f'].map((name) => [`${deep}/${name}`, '']))
  )
  const kept = openStore(tree.path(`${deep}/root`))
  t.teardown(() => kept.close())
  const paths = ['a/f', 'a/a/f', 'a/b/f', 'b/f', 'b/a/f', 'a/a/a/f', 'a/../b/f', 'a/a/../../b/a/f', 'a', 'b/a/new/f']
  const done: string[] = []
  let [files, refusals] = [0, 0]
  for (let round = 0; round < casesOf(5000); round += 1) {
    done.push(disturb(tree, random))
    const fresh = openStore(tree.path(`${deep}/root`))
    for (const path of paths) {
      const [found, expected] = [resolve(kept, path), resolve(fresh, path)]
      if (found !== expected) t.equal(found, expected, `seed ${seed}, ${path} after ${done.slice(-8).join(', ')}`)
      if (/^[A-Z_]+$/.test(expected)) refusals += 1
      else files += 1
    }
    fresh.close()
    // Nothing may be lost for good, or all paths would lead nowhere.
    if (round % 20 === 0)
      for (const name of ['a/a', 'a/b', 'b', '../out/a'])
        try {
          tree.write(`${deep}/root/${name}/f`, '')
        } catch {
          // A file or a dangling link is in the way.
        }
  }
  t.ok(files > 100 && refusals > 100, `${files} places and ${refusals} refusals`)
})

t.test('a place that is closed twice takes the folder from no other', async (t) => {
  const tree = makeTree(t, { 'root/a/f': '' })
  const [store, fresh] = [openStore(tree.path('root')), openStore(tree.path('root'))]
  t.teardown(() => [store, fresh].forEach((each) => each.close()))
  const [one, two] = [store.open('a/f', 'target'), store.open('a/f', 'target')]
  one.close()
  one.close()
  two.close()
  t.equal(resolve(store, 'a/f'), resolve(fresh, 'a/f'))
})
