// The last step of a change, where a fault can lose a file or the truth about it: links, other file systems, failing disks.
import { execFileSync } from 'node:child_process'
import {
  existsSync,
  linkSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  rmSync,
  statSync,
  symlinkSync
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { ownFolder } from '../../../src/engine/files/temporary-names.ts'
import { connect, type Answer, type TestClient } from '../../fixtures/clients.ts'
import { cannotInject, withFaults } from '../../fixtures/inject.ts'
import { startProgram, startServer, type RunningProgram } from '../../fixtures/server.ts'
import { hashOf, makeTree, type Tree } from '../../fixtures/tree.ts'
import { until } from '../../fixtures/until.ts'

interface Scene {
  readonly tree: Tree
  readonly client: TestClient
}

async function scene(t: Test, files: Record<string, string>, further: readonly string[] = []): Promise<Scene> {
  const tree = makeTree(t, files)
  const { url } = await startServer(t, [tree.root, ...further])
  return { tree, client: await connect(t, 'rest', url, 'tester') }
}

/** With the first answer the program has read and removed what a start does: records of servers that were killed are removed, too. */
async function connectToStarted(t: Test, program: RunningProgram): Promise<TestClient> {
  const client = await connect(t, 'rest', program.url, 'tester')
  await client.call('async_list', { path: '.' })
  return client
}

/** A folder on another file system than the temporary folder; undefined, with a comment, where there is none. */
function makeElsewhere(t: Test): string | undefined {
  const shm = '/dev/shm'
  if (!existsSync(shm) || statSync(shm).dev === statSync(tmpdir()).dev) {
    t.comment('skipped: needs /dev/shm on another file system than the temporary folder; set TMPDIR to one that is not')
    return undefined
  }
  const folder = mkdtempSync(join(shm, 'async-crud-mcp-test-'))
  t.teardown(() => rmSync(folder, { recursive: true, force: true }))
  return folder
}

/** False, with a comment, where that is not allowed. */
function mount(t: Test, args: readonly string[]): boolean {
  try {
    execFileSync('mount', args, { stdio: 'ignore' })
  } catch {
    t.comment('skipped: mounting needs root; run the tests as root on Linux to see this one')
    return false
  }
  t.teardown(() => execFileSync('umount', [args.at(-1) as string]))
  return true
}

const refused = { error_code: 'INVALID_REQUEST', message: /points? to .*Nothing was changed/ }

t.test('a link is not renamed onto the file that it leads to, however it leads there', async (t) => {
  const { tree, client } = await scene(t, { 't.txt': 'precious', 'd/deep.txt': 'deep' })
  symlinkSync('t.txt', tree.path('direct'))
  symlinkSync(tree.path('t.txt'), tree.path('absolute'))
  symlinkSync('direct', tree.path('by-another'))
  symlinkSync('../t.txt', tree.path('d/upwards'))
  for (const old_path of ['direct', 'absolute', 'by-another', 'd/upwards']) {
    const rename = { old_path, new_path: 't.txt', overwrite: true }
    t.match(await client.call('async_rename', rename), refused, old_path)
    t.match(await client.call('async_rename', { ...rename, overwrite: false }), refused, 'to overwrite is no way out')
    const changes = [{ operation: 'rename', path: old_path, new_path: 't.txt', overwrite: true }]
    t.match(await client.call('async_transaction', { changes }), refused, `${old_path} in a transaction`)
    t.equal(tree.read('t.txt'), 'precious', old_path)
    t.ok(lstatSync(tree.path(old_path)).isSymbolicLink(), 'the link is there, too')
  }
})

t.test('a link is not renamed to the name that it leads to, where it would lead to itself', async (t) => {
  const { tree, client } = await scene(t, { 'there/same.txt': 'precious' })
  symlinkSync('middle', tree.path('first'))
  symlinkSync('there/same.txt', tree.path('middle'))
  symlinkSync('same.txt', tree.path('same'))
  for (const [old_path, new_path] of [
    ['first', 'middle'],
    ['same', 'there/same.txt'],
    ['same', 'same.txt']
  ] as const) {
    t.match(await client.call('async_rename', { old_path, new_path, overwrite: true }), refused, old_path)
  }
  t.equal(tree.read('there/same.txt'), 'precious')
  t.equal(readlinkSync(tree.path('middle')), 'there/same.txt')
})

t.test(
  'a link renamed over another name of its target, or over a file that it does not lead to, is renamed',
  async (t) => {
    const { tree, client } = await scene(t, { 't.txt': 'precious', other: 'old' })
    symlinkSync('t.txt', tree.path('one'))
    symlinkSync('t.txt', tree.path('two'))
    const rename = (old_path: string, new_path: string) =>
      client.call('async_rename', { old_path, new_path, overwrite: true })
    t.match(await rename('one', 'two'), { status: 'ok', changed: true })
    t.match(await rename('two', 'other'), { status: 'ok', changed: true })
    t.equal(readlinkSync(tree.path('other')), 't.txt')
    t.match(await rename('t.txt', 'other'), { status: 'ok', changed: true }, 'the file takes the place of its link')
    t.equal(tree.read('other'), 'precious')
    t.strictSame(tree.all(), ['other'])
  }
)

t.test('a rename between two hard links to one file changes nothing, and says so', async (t) => {
  const { tree, client } = await scene(t, { f: 'one' })
  linkSync(tree.path('f'), tree.path('g'))
  for (const overwrite of [true, false]) {
    t.match(await client.call('async_rename', { old_path: 'f', new_path: 'g', overwrite }), {
      status: 'ok',
      changed: false,
      hash: hashOf('one')
    })
    t.strictSame(tree.all(), ['f', 'g'])
  }
})

t.test('a link on its way to another file system is never without its destination', async (t) => {
  const elsewhere = makeElsewhere(t)
  if (elsewhere === undefined) return
  const { tree, client } = await scene(t, { 't.txt': 'new' }, [elsewhere])
  const taken = join(elsewhere, 'taken')
  const rename = (old_path: string, overwrite = true) =>
    client.call('async_rename', { old_path, new_path: taken, overwrite })

  symlinkSync(taken, tree.path('onto-target'))
  execFileSync('sh', ['-c', `printf precious > '${taken}'`])
  t.match(await rename('onto-target'), refused, 'the link leads to the very file that it would replace')
  t.equal(readFileSync(taken, 'utf8'), 'precious')

  symlinkSync(tree.path('t.txt'), tree.path('link'))
  t.match(await rename('link', false), { error_code: 'FILE_EXISTS' })
  t.match(await rename('link'), { status: 'ok', cross_filesystem: true })
  t.equal(readlinkSync(taken), tree.path('t.txt'))
  t.strictSame(tree.all(), ['onto-target', 't.txt'])

  mkdirSync(join(elsewhere, 'folder'))
  symlinkSync(tree.path('t.txt'), tree.path('link'))
  const onFolder = { old_path: 'link', new_path: join(elsewhere, 'folder'), overwrite: true }
  t.match(await client.call('async_rename', onFolder), { error_code: 'NOT_A_FILE' })
  const names = readdirSync(elsewhere).filter((name) => name !== ownFolder)
  t.strictSame(names.sort(), ['folder', 'taken'], 'no temporary name stays')
})

t.test('a file that is reached through two mounts of one folder is not renamed onto itself', async (t) => {
  const tree = makeTree(t, { 'one/f': 'precious' })
  mkdirSync(tree.path('two'))
  if (!mount(t, ['--bind', tree.path('one'), tree.path('two')])) return
  const { url } = await startServer(t, tree.root)
  const client = await connect(t, 'rest', url)
  const rename = { old_path: 'one/f', new_path: 'two/f', overwrite: true }
  t.match(await client.call('async_rename', rename), { status: 'ok', changed: false })
  t.equal(tree.read('one/f'), 'precious')
})

t.test('a change that is in the tree is told as made, whatever fails after it', { skip: cannotInject }, async (t) => {
  const elsewhere = makeElsewhere(t)
  const further = elsewhere === undefined ? [] : ['--dir', elsewhere]
  const tree = makeTree(t, {
    f: 'one\n',
    g: 'one\n',
    h: 'one',
    gone: 'one',
    moved: 'one',
    far: 'one',
    'far-too': 'one'
  })
  // One thread, so that its fsyncs are counted in their order.
  const program = await startProgram(t, ['--dir', tree.root, ...further], { UV_THREADPOOL_SIZE: '1' })
  const client = await connectToStarted(t, program)
  const failing = (calls: readonly string[], how: string, name: string, input: object, path?: string) =>
    withFaults(program.process.pid as number, calls, how, () => client.call(name, input), path)
  const unlinks = ['unlink', 'unlinkat']
  const hash = hashOf('one')
  const unsure = (error_code: string, details: object) => ({
    status: 'error',
    error_code,
    message: /the change was made, but .*Do not send it again/,
    details: { applied: true, ...details }
  })
  const lastVersion = async (path: string) =>
    ((await client.call('async_history', { path }))['versions'] as Answer[])[0] as Answer

  await t.test('the temporary name of a new file stays', async (t) => {
    const input = { path: 'new', content: 'one' }
    const answer = await failing(unlinks, 'error=EIO', 'async_write', input)
    t.match(answer, unsure('WRITE_ERROR', { leftover: true, hash }))
    t.equal(tree.read('new'), 'one')
    t.match(await lastVersion('new'), { agent_id: 'tester', operation: 'async_write', hash })
  })
  await t.test('the folder cannot be flushed after a write, an edit, a delete, a rename', async (t) => {
    const flush = (count: number, name: string, input: object) =>
      failing(['fsync'], `error=EIO:when=${count}`, name, input)
    const notDurable = { durable: false }
    const append = await flush(2, 'async_append', { path: 'f', content: 'two' })
    t.match(append, unsure('WRITE_ERROR', { ...notDurable, hash: hashOf('one\ntwo') }))
    t.match(await lastVersion('f'), { agent_id: 'tester', operation: 'async_append' })
    const edit = await flush(2, 'edit_file', { name: 'g', append: 'two' })
    t.match(edit, {
      error: { code: -32603, message: /was made, but/, data: { details: /"applied":true,.*"durable":false/ } }
    })
    t.equal(tree.read('g'), 'one\ntwo\n')
    t.match(await flush(1, 'async_delete', { path: 'gone' }), unsure('DELETE_ERROR', notDurable))
    const renamed = await flush(1, 'async_rename', { old_path: 'moved', new_path: 'moved-too' })
    t.match(renamed, unsure('RENAME_ERROR', { ...notDurable, hash }))
    t.match(await lastVersion('moved-too'), { agent_id: 'tester', operation: 'async_rename', hash })
    t.equal(existsSync(tree.path('gone')), false)
  })
  if (elsewhere !== undefined) {
    await t.test('a copy on another file system cannot be flushed, or the source not be removed', async (t) => {
      const rename = (old_path: string) => ({ old_path, new_path: join(elsewhere, old_path) })
      const kept = { source_left: true, hash }
      // After that of the note's folder, and that of the copy.
      const flushed = await failing(['fsync'], 'error=EIO:when=3', 'async_rename', rename('far'))
      t.match(flushed, unsure('RENAME_ERROR', { ...kept, durable: false }))
      const removed = await failing(unlinks, 'error=EIO', 'async_rename', rename('far-too'))
      t.match(removed, unsure('RENAME_ERROR', kept))
      for (const name of ['far', 'far-too']) {
        t.equal(tree.read(name), 'one', `${name} is still there`)
        t.equal(readFileSync(join(elsewhere, name), 'utf8'), 'one')
        t.match(await lastVersion(join(elsewhere, name)), { agent_id: 'tester', operation: 'async_rename', hash })
        t.notMatch(await lastVersion(name), { hash: null }, 'nor is it told as gone')
      }
    })
  }
  await t.test('the file cannot be closed: the lock is free all the same, and the change is told', async (t) => {
    const cannotClose = (how: string, content: string) =>
      failing(['close'], how, 'async_append', { path: 'h', content, timeout: 0 }, tree.path('h'))
    const appended = await cannotClose('error=EIO', 'two')
    t.match(appended, unsure('WRITE_ERROR', { durable: false }), 'the bytes may not be on the disk')
    const again = { path: 'h', content: '!', timeout: 0 }
    t.match(await client.call('async_append', again), { status: 'ok' })
    t.match(await cannotClose('error=EBADF', '!'), { status: 'error', error_code: 'SERVER_ERROR' })
    t.match(await client.call('async_append', again), { status: 'ok' })
  })
  await program.stop()
  const later = await startProgram(t, ['--dir', tree.root, ...further])
  const hasTemporary = () => tree.all().some((name) => name.endsWith('.tmp'))
  await until(() => !hasTemporary())
  await later.stop()
  t.notOk(hasTemporary(), 'the next start has removed the temporary name')
})

t.test('what the system fails with is told as that, and nothing was changed', { skip: cannotInject }, async (t) => {
  const tree = makeTree(t, { f: 'one' })
  symlinkSync('f', tree.path('link'))
  const program = await startProgram(t, ['--dir', tree.root], { UV_THREADPOOL_SIZE: '1' })
  const client = await connectToStarted(t, program)
  const write = { path: 'new/deep/f', content: 'x' }
  const before = tree.all()
  for (const [calls, how, name, input, expected] of [
    [['pread64'], 'error=EIO', 'async_read', { path: 'f' }, { error_code: 'READ_ERROR', message: /EIO.*Try again/ }],
    [['statx', 'lstat'], 'error=EIO', 'async_read', { path: 'f' }, { error_code: 'READ_ERROR' }],
    [['readlink', 'readlinkat'], 'error=EINVAL:when=1', 'async_read', { path: 'link' }, { status: 'ok' }],
    [
      ['mkdir', 'mkdirat'],
      'error=ENOSPC',
      'async_write',
      write,
      { error_code: 'WRITE_ERROR', message: /disk is full/ }
    ],
    [['mkdir', 'mkdirat'], 'error=EIO:when=2', 'async_write', write, { error_code: 'WRITE_ERROR' }],
    [['fsync'], 'error=EIO', 'async_write', write, { error_code: 'WRITE_ERROR', message: /Nothing was changed/ }],
    [['link', 'linkat'], 'error=ENOSPC', 'async_write', write, { error_code: 'WRITE_ERROR', message: /disk is full/ }],
    [
      ['rename', 'renameat'],
      'error=ENOSPC',
      'async_append',
      { path: 'f', content: 'x' },
      { error_code: 'WRITE_ERROR' }
    ],
    [
      ['rename', 'renameat'],
      'error=EIO',
      'async_rename',
      { old_path: 'f', new_path: 'g' },
      { error_code: 'RENAME_ERROR' }
    ],
    [['unlink', 'unlinkat'], 'error=EIO', 'async_delete', { path: 'f' }, { error_code: 'DELETE_ERROR' }],
    [['unlink', 'unlinkat'], 'error=ENOENT', 'async_delete', { path: 'f' }, { error_code: 'FILE_NOT_FOUND' }],
    [['openat', 'open'], 'error=EIO', 'async_list', { path: '.' }, { error_code: 'READ_ERROR' }]
  ] as const) {
    const title = `${name}: ${calls[0]} ${how}`
    const answer = await withFaults(program.process.pid as number, calls, how, () => client.call(name, input))
    t.match(answer, expected, title)
    t.notMatch(answer, { details: { applied: true } }, title)
    t.strictSame(tree.all(), before, title)
    t.equal(tree.read('f'), 'one', title)
  }
})

t.test('the next start ends what a kill has left of a change of several steps', { skip: cannotInject }, async (t) => {
  const elsewhere = makeElsewhere(t)
  const further = elsewhere === undefined ? [] : ['--dir', elsewhere]
  const tree = makeTree(t, { f: 'one', 'old/f': 'kept' })
  const start = () => startProgram(t, ['--dir', tree.root, ...further])
  const notes = () => tree.own().filter((name) => name.startsWith('change-'))
  /** The process is killed instead of the system call. */
  const killedAt = async (program: RunningProgram, calls: readonly string[], name: string, input: object) => {
    const client = await connectToStarted(t, program)
    const how = 'error=EIO:signal=SIGKILL'
    await withFaults(program.process.pid as number, calls, how, () =>
      t.rejects(client.call(name, input), 'it is killed')
    )
  }

  let program = await start()
  await killedAt(program, ['link', 'linkat'], 'async_write', { path: 'new/deep/f', content: 'x' })
  t.ok(existsSync(tree.path('new/deep')) && notes().length === 1, 'folders and their note are there')
  program = await start()
  await until(() => notes().length === 0)
  t.strictSame(
    tree.all().filter((name) => !name.endsWith('.tmp')),
    ['f', 'old', 'old/f'],
    'only what was there before'
  )
  await program.stop()
  if (elsewhere === undefined) return
  program = await start()

  const to = join(elsewhere, 'f')
  await killedAt(program, ['unlink', 'unlinkat'], 'async_rename', { old_path: 'f', new_path: to })
  t.equal(readFileSync(to, 'utf8'), tree.read('f'), 'both are there')
  program = await start()
  const client = await connectToStarted(t, program)
  t.strictSame([existsSync(tree.path('f')), notes().length], [false, 0], 'the rename is made')
  t.match(await client.call('async_history', { path: to }), {
    versions: [{ agent_id: 'tester', operation: 'async_rename', renamed_from: 'f' }]
  })
  tree.write('f', 'one')
  await killedAt(program, ['unlink', 'unlinkat'], 'async_rename', { old_path: 'f', new_path: to, overwrite: true })
  tree.write('f', 'changed meanwhile')
  program = await start()
  await connectToStarted(t, program)
  t.equal(readFileSync(to, 'utf8'), 'one')
  t.equal(tree.read('f'), 'changed meanwhile', 'what another program has written since is not removed')
  t.strictSame(notes(), [])
  await program.stop()
  program = await start()
  const last = await connectToStarted(t, program)
  t.match(await last.call('async_write', { path: 'a/b/c', content: 'x' }), { status: 'ok' })
  t.match(await last.call('async_rename', { old_path: 'a/b/c', new_path: join(elsewhere, 'd/c') }), {
    status: 'ok'
  })
  t.strictSame(notes(), [], 'a change that is done leaves no note')
  await program.stop()
})
