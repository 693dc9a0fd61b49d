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
import { ownFolder } from '../../src/files/own-names.ts'
import { connect, type TestClient } from '../fixtures/clients.ts'
import { startServer } from '../fixtures/server.ts'
import { hashOf, makeTree, type Tree } from '../fixtures/tree.ts'

interface Scene {
  readonly tree: Tree
  readonly client: TestClient
}

async function scene(t: Test, files: Record<string, string>, further: readonly string[] = []): Promise<Scene> {
  const tree = makeTree(t, files)
  const { url } = await startServer(t, [tree.root, ...further])
  return { tree, client: await connect(t, 'rest', url, 'tester') }
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

const refused = { error_code: 'INVALID_REQUEST', message: /leads? to .*Nothing was changed/ }

t.test('a link is not renamed onto the file that it leads to, however it leads there', async (t) => {
  const { tree, client } = await scene(t, { 't.txt': 'precious', 'd/deep.txt': 'deep' })
  symlinkSync('t.txt', tree.path('direct'))
  symlinkSync(tree.path('t.txt'), tree.path('absolute'))
  symlinkSync('direct', tree.path('by-another'))
  symlinkSync('../t.txt', tree.path('d/upwards'))
  for (const old_path of ['direct', 'absolute', 'by-another', 'd/upwards']) {
    t.match(await client.call('async_rename', { old_path, new_path: 't.txt', overwrite: true }), refused, old_path)
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
