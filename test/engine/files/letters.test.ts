// One file in all letters: its history, its lines, its readers, its lock and its watch, where the file system takes other letters for one name.
import { readdirSync, writeFileSync } from 'node:fs'
import { win32 } from 'node:path'
import t from 'tap'
import { isOtherSpelling } from '../../../src/engine/files/name-on-disk.ts'
import { namesOf, toPath } from '../../../src/engine/files/roots.ts'
import { createSpelling } from '../../../src/engine/files/spelling.ts'
import { cannotMount, ignoringLetters, mountTree } from '../../fixtures/mounts.ts'
import { post } from '../../fixtures/processes.ts'
import { startOneProgram } from '../../fixtures/server.ts'
import { hashOf } from '../../fixtures/tree.ts'
import { until } from '../../fixtures/until.ts'

interface Version {
  readonly path: string
  readonly operation: string
  readonly agent_id: string
}

for (const [name, fileSystem] of Object.entries(ignoringLetters))
  t.test(`on ${name} a file has one history, whatever its letters`, { skip: cannotMount(fileSystem) }, async (t) => {
    const tree = mountTree(t, fileSystem)
    tree.write('Dir/File.txt', 'one\n')
    const { url } = await startOneProgram(t, ['--dir', tree.root])
    const ok = { status: 'ok' }
    const versionsOf = async (path: string) => (await post(url, 'async_history', { path }))['versions'] as Version[]
    const isLogged = async (path: string, count: number) => {
      for (const each of [path, path.toUpperCase()]) t.equal((await versionsOf(each)).length, count, each)
      const all = (await post(url, 'async_history', {}))['versions'] as Version[]
      const paths = all.map((version) => version.path).filter((each) => each.toLowerCase() === path.toLowerCase())
      t.equal(new Set(paths).size, 1, paths.join())
    }

    const ann = { agent_id: 'ann' }
    const bob = { agent_id: 'bob' }
    const { hash } = await post(url, 'async_read', { path: 'Dir/File.txt', ...ann })
    const update = { path: 'dir/FILE.txt', expected_hash: hash, content: 'one\ntwo\n', ...bob }
    t.match(await post(url, 'async_update', update), ok)
    t.match(await post(url, 'async_append', { path: 'DIR/file.TXT', content: 'three\n', ...bob }), ok)
    await isLogged('Dir/File.txt', 3)
    const told = await post(url, 'async_list', { path: '.', ...ann })
    t.match(told, { notices: [{ path: 'Dir/File.txt' }] }, 'the reader by another spelling is told')
    const { ranges } = await post(url, 'async_blame', { path: 'DIR/FILE.TXT' })
    t.match(ranges, [{ agent_id: null }, { agent_id: 'bob' }, { agent_id: 'bob' }])
    t.match(await post(url, 'lock_try', { filepaths: ['dir/file.txt'], ...ann }), { results: [{ acquired: true }] })
    t.match(await post(url, 'lock_status', { filepaths: ['DIR/File.txt'], ...bob }), { results: [{ holder: 'ann' }] })
    t.match(await post(url, 'lock_release_all', ann), ok)

    writeFileSync(tree.path('dir/fILE.txt'), 'from outside\n')
    await until(async () => (await versionsOf('Dir/File.txt'))[0]?.operation === 'external')
    await isLogged('Dir/File.txt', 4)

    t.match(await post(url, 'async_write', { path: 'Dir/New/File.txt', content: 'new\n', ...ann }), ok)
    t.match(await post(url, 'async_append', { path: 'dir/new/file.txt', content: 'more\n', ...bob }), ok)
    await isLogged('Dir/New/File.txt', 2)

    const rename = { old_path: 'DIR/file.txt', new_path: 'Dir/FILE.txt', ...ann }
    t.match(await post(url, 'async_rename', rename), { ...ok, changed: fileSystem.keepsLetters })
    const expected = fileSystem.keepsLetters ? 'FILE.txt' : 'file.txt'
    t.ok(readdirSync(tree.path('dir')).includes(expected))
    t.match(await post(url, 'async_append', { path: 'Dir/FILE.txt', content: 'last\n', ...bob }), ok)
    t.equal(tree.read('Dir/FILE.txt'), 'from outside\nlast\n')
    const after = await versionsOf('dir/file.txt')
    t.match(after[0], { agent_id: 'bob', operation: 'async_append' })
    t.ok(
      after.some(({ operation }) => operation === 'external'),
      'it begins under the former spelling'
    )
    t.match(await post(url, 'async_rename', { ...rename, old_path: 'dir/FILE.txt' }), { ...ok, changed: false })
    const respelt = { operation: 'rename', path: 'Dir/FILE.txt', new_path: 'Dir/filE.TXT' }
    t.match(await post(url, 'async_transaction', { changes: [respelt] }), {
      error_code: 'INVALID_REQUEST',
      message: /only the letters differ.*third name/
    })
    t.match(await post(url, 'async_undo', { by_agent: 'ann', partial: true, ...ann }), { status: /ok|contention/ })
    t.equal(tree.read('Dir/file.txt'), 'from outside\nlast\n')
    const last = { path: 'DIR/FILE.TXT', expected_hash: hashOf('from outside\nlast\n'), content: 'end\n', ...ann }
    t.match(await post(url, 'async_update', last), ok)
  })

t.test('paths of shares and drives of Windows keep their beginning', async (t) => {
  const share = String.raw`\\server\share\dir`
  t.strictSame(namesOf(share, win32), [String.raw`\\server`, 'share', 'dir'])
  t.strictSame(namesOf(String.raw`\server\share`, win32), ['server', 'share'], 'of the current drive')
  for (const path of [share, String.raw`C:\a\b`, 'C:\\']) t.equal(toPath(namesOf(path, win32), win32), path)
  const root = { given: share, real: share, knownAs: [], node: { dev: 0n, ino: 0n } }
  const nameOf = createSpelling([root], win32)
  const name = String.raw`\\server\share\dir\a\b.txt`
  for (const path of [name, '//Server/share/dir/./a/B.txt'.replace('S', 's'), 'a/b.txt', String.raw`A\b.TXT`])
    t.equal(nameOf(path), name, path)
})

t.test('a short name of Windows is another spelling of the long one, and another file is not', async (t) => {
  const real = String.raw`C:\Program Files\Long name.txt`
  for (const path of [String.raw`C:\PROGRA~1\LONGNA~1.TXT`, String.raw`c:\program files\LONG NAME.txt`])
    t.ok(isOtherSpelling(path, real, '\\'), path)
  for (const path of [String.raw`C:\Program Files\Other.txt`, String.raw`C:\PROGRA~1`, String.raw`D:\PROGRA~1\x.txt`])
    t.notOk(isOtherSpelling(path, real, '\\'), path)
  t.notOk(isOtherSpelling('/a~1', '/b', '/'), 'elsewhere such a name means nothing')
})
