// What becomes of the file itself: bytes, modes, links, other file systems, a full disk, and changes from outside.
import { execFileSync } from 'node:child_process'
import {
  chmodSync,
  linkSync,
  lstatSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import type { PartialConfig } from '../../src/config/config.ts'
import { connect, type Answer, type TestClient } from '../fixtures/clients.ts'
import { startServer } from '../fixtures/server.ts'
import { hashOf, makeTree, type Tree } from '../fixtures/tree.ts'

async function scene(
  t: Test,
  files: Record<string, string | Buffer>,
  config: PartialConfig = {}
): Promise<{ tree: Tree; client: TestClient }> {
  const tree = makeTree(t, files)
  const { url } = await startServer(t, tree.root, config)
  return { tree, client: await connect(t, 'rest', url, 'tester') }
}

const update = (
  client: TestClient,
  path: string,
  before: string | Buffer,
  old_string: string,
  new_string: string
): Promise<Answer> =>
  client.call('async_update', { path, expected_hash: hashOf(before), patches: [{ old_string, new_string }] })

t.test(
  'bytes that a patch does not touch are the same afterwards: every line end, mark and missing newline',
  async (t) => {
    const { tree, client } = await scene(t, {})
    for (const text of [
      'a\nX\nb\n',
      'a\r\nX\r\nb\r\n',
      'a\rX\rb',
      'a\r\nX\nb\r',
      '\ufeffX\n',
      'X',
      'X\u2028\n',
      'X\0\n'
    ]) {
      tree.write('f', text)
      t.match(await update(client, 'f', text, 'X', 'Y'), { status: 'ok' })
      t.equal(tree.read('f'), text.replace('X', 'Y'), inspect(text))
    }
  }
)

t.test('lines are counted as the design says, and read with their own ends', async (t) => {
  const { tree, client } = await scene(t, {})
  for (const [text, lines] of [
    ['', 0],
    ['a', 1],
    ['a\n', 1],
    ['a\n\n', 2],
    ['a\rb\r\nc\n', 3],
    ['a\u2028b\u0085c\vd', 1]
  ] as const) {
    tree.write('f', text)
    t.match(await client.call('async_read', { path: 'f' }), { total_lines: lines, content: text }, inspect(text))
  }
  tree.write('f', 'a\rb\r\nc')
  t.match(await client.call('async_read', { path: 'f', offset: 1, limit: 2 }), { content: 'b\r\nc', lines_returned: 2 })
})

t.test('an update keeps the mode, set-id bits included; a new file gets 0666 minus the umask', async (t) => {
  const { tree, client } = await scene(t, { script: 'one' })
  for (const mode of [0o755, 0o640, 0o600, 0o444, 0o4755]) {
    chmodSync(tree.path('script'), mode)
    const before = tree.read('script')
    t.match(await update(client, 'script', before, before, `${before}.`), { status: 'ok' })
    t.equal(statSync(tree.path('script')).mode & 0o7777, mode, mode.toString(8))
  }
  await client.call('async_write', { path: 'new', content: '' })
  t.equal(statSync(tree.path('new')).mode & 0o7777, 0o666 & ~process.umask())
})

t.test(
  'an update keeps the owner',
  { skip: process.getuid?.() !== 0 && 'needs root to give files away' },
  async (t) => {
    const { tree, client } = await scene(t, { f: 'one' })
    execFileSync('chown', ['65534:65534', tree.path('f')])
    await update(client, 'f', 'one', 'one', 'two')
    t.match(statSync(tree.path('f')), { uid: 65534, gid: 65534 })
  }
)

t.test(
  'operations on content act on the target of a link and the link stays; rename and delete act on the link',
  async (t) => {
    const { tree, client } = await scene(t, { 'real/f': 'one' })
    symlinkSync('real/f', tree.path('link'))
    t.match(await update(client, 'link', 'one', 'one', 'two'), { status: 'ok' })
    t.equal(tree.read('real/f'), 'two')
    t.ok(lstatSync(tree.path('link')).isSymbolicLink())
    t.match(await client.call('async_append', { path: 'link', content: '!' }), { status: 'ok' })
    t.match(await client.call('async_rename', { old_path: 'link', new_path: 'link2', expected_hash: hashOf('two!') }), {
      status: 'ok',
      hash: hashOf('two!')
    })
    t.ok(lstatSync(tree.path('link2')).isSymbolicLink())
    t.match(await client.call('async_delete', { path: 'link2', expected_hash: hashOf('two') }), {
      status: 'contention'
    })
    t.match(await client.call('async_delete', { path: 'link2', expected_hash: hashOf('two!') }), {
      status: 'ok',
      deleted_hash: hashOf('two!')
    })
    t.equal(tree.read('real/f'), 'two!')
    symlinkSync('real/new', tree.path('dangling'))
    t.match(await client.call('async_write', { path: 'dangling', content: 'made' }), { status: 'ok' })
    t.equal(tree.read('real/new'), 'made')
  }
)

t.test('a name that is taken further up does not stand in the way of a file in new directories', async (t) => {
  const { tree, client } = await scene(t, { f: 'one' })
  t.match(await client.call('async_write', { path: 'new/deep/f', content: 'two' }), { status: 'ok' })
  t.match(await client.call('async_rename', { old_path: 'f', new_path: 'other/f' }), { status: 'ok' })
  t.strictSame(tree.all(), ['new', 'new/deep', 'new/deep/f', 'other', 'other/f'])
})

t.test('a hard-linked file is parted and the answer says so, or refused', async (t) => {
  const { tree, client } = await scene(t, { f: 'one' })
  linkSync(tree.path('f'), tree.path('other'))
  t.match(await update(client, 'f', 'one', 'one', 'two'), { status: 'ok', links_broken: 1 })
  t.equal(tree.read('other'), 'one')
  t.notHas(await update(client, 'f', 'two', 'two', 'three'), { links_broken: 1 })
  const strict = await scene(t, { f: 'one' }, { crud: { hardlinks: 'refuse' } })
  linkSync(strict.tree.path('f'), strict.tree.path('other'))
  t.match(await update(strict.client, 'f', 'one', 'one', 'two'), { error_code: 'ACCESS_DENIED', message: /hard links/ })
  t.equal(strict.tree.read('f'), 'one')
})

t.test('a rename to another file system copies, says so, and leaves one file', async (t) => {
  const other = mkdtempSync('/dev/shm/async-crud-mcp-test-')
  t.teardown(() => rmSync(other, { recursive: true, force: true }))
  const tree = makeTree(t, { f: 'one', g: 'two' })
  if (statSync(other).dev === statSync(tree.root).dev)
    return t.comment('skipped: /dev/shm and the temporary folder are one file system')
  chmodSync(tree.path('f'), 0o751)
  const { url } = await startServer(t, [tree.root, other])
  const client = await connect(t, 'rest', url)
  t.match(await client.call('async_rename', { old_path: 'f', new_path: join(other, 'deep/f') }), {
    status: 'ok',
    cross_filesystem: true,
    hash: hashOf('one')
  })
  t.equal(readFileSync(join(other, 'deep/f'), 'utf8'), 'one')
  t.equal(statSync(join(other, 'deep/f')).mode & 0o777, 0o751)
  t.match(await client.call('async_rename', { old_path: 'g', new_path: join(other, 'deep/f') }), {
    error_code: 'FILE_EXISTS'
  })
  t.match(await client.call('async_rename', { old_path: 'g', new_path: join(other, 'deep/f'), overwrite: true }), {
    status: 'ok',
    cross_filesystem: true
  })
  t.equal(readFileSync(join(other, 'deep/f'), 'utf8'), 'two')
  t.strictSame(tree.all(), [])
  return undefined
})

t.test('on a full disk nothing is changed and nothing is left behind', async (t) => {
  const root = mkdtempSync(join(tmpdir(), 'async-crud-mcp-full-'))
  try {
    execFileSync('mount', ['-t', 'tmpfs', '-o', 'size=64k', 'none', root], { stdio: 'ignore' })
  } catch {
    rmSync(root, { recursive: true })
    return t.comment('skipped: mounting a small file system needs root; run the tests as root on Linux to see this one')
  }
  t.teardown(() => {
    execFileSync('umount', [root])
    rmSync(root, { recursive: true })
  })
  writeFileSync(join(root, 'f'), 'one')
  const large = 'x'.repeat(200_000)
  const tree = makeTree(t, { large })
  const { url } = await startServer(t, [root, tree.root])
  const client = await connect(t, 'rest', url)
  t.match(await client.call('async_append', { path: 'f', content: large }), {
    error_code: 'WRITE_ERROR',
    message: /disk is full/
  })
  t.match(await client.call('async_write', { path: 'deep/new', content: large }), { error_code: 'WRITE_ERROR' })
  t.equal(readFileSync(join(root, 'f'), 'utf8'), 'one')
  const others = ['-mindepth', '1', '-not', '-path', '*/.async-crud-mcp*']
  t.strictSame(execFileSync('find', [root, ...others], { encoding: 'utf8' }).trim(), join(root, 'f'))
  t.match(await client.call('async_append', { path: 'f', content: ' two' }), { status: 'ok' })

  t.match(await client.call('async_rename', { old_path: tree.path('large'), new_path: join(root, 'large') }), {
    error_code: 'RENAME_ERROR',
    path: join(root, 'large'),
    message: /disk is full.*[Ff]ree/
  })
  t.strictSame(tree.all(), ['large'])
  return undefined
})

t.test(
  'what somebody outside changes is an ordinary version: contention with the exact diff, attributed to external',
  async (t) => {
    const saves: [string, (path: string) => void][] = [
      ['in place', (path) => writeFileSync(path, 'one\nTWO\nthree\n')],
      [
        'by rename, as editors do',
        (path) => (writeFileSync(`${path}~`, 'one\nTWO\nthree\n'), renameSync(`${path}~`, path))
      ],
      ['with sed -i', (path) => execFileSync('sed', ['-i', 's/two/TWO/', path])]
    ]
    for (const [title, save] of saves) {
      const { tree, client } = await scene(t, { f: 'one\ntwo\nthree\n' })
      await client.call('async_read', { path: 'f' })
      save(tree.path('f'))
      t.match(
        await update(client, 'f', 'one\ntwo\nthree\n', 'three', '3'),
        {
          status: 'contention',
          base_known: true,
          modified_by: [{ agent_id: 'external', operation: 'external' }],
          diff: { changes: [{ start_line: 2, old_content: 'two', new_content: 'TWO' }] }
        },
        title
      )
    }
  }
)

t.test('a base that is no longer kept is said so, never invented', async (t) => {
  const { client } = await scene(t, { f: 'one', big: 'x'.repeat(3000) }, { crud: { base_cache_bytes: 2000 } })
  await client.call('async_read', { path: 'f' })
  await client.call('async_append', { path: 'f', content: 'y'.repeat(1700) })
  const late = await update(client, 'f', 'one', 'one', 'two')
  t.match(late, { status: 'contention', base_known: false, diff: null, message: /[Rr]ead the file again/ })
  t.match(
    late['modified_by'],
    [{ agent_id: 'tester', operation: 'async_append' }],
    'who changed it is known all the same'
  )
})

t.test('a base survives renames and comes back when its content does', async (t) => {
  const { client } = await scene(t, { f: 'one' })
  await client.call('async_read', { path: 'f' })
  await client.call('async_rename', { old_path: 'f', new_path: 'g' })
  await client.call('async_append', { path: 'g', content: ' more' })
  t.match(await update(client, 'g', 'one', 'one', 'two'), {
    base_known: true,
    modified_by: [{ operation: 'async_append' }]
  })
})

t.test('a diff larger than crud.diff_max_bytes only names the changed lines', async (t) => {
  const lines = (prefix: string) => Array.from({ length: 400 }, (_, index) => `${prefix} ${index}`).join('\n')
  const { client } = await scene(t, { f: lines('old') }, { crud: { diff_max_bytes: 1024 } })
  await client.call('async_read', { path: 'f' })
  await client.call('async_update', { path: 'f', expected_hash: hashOf(lines('old')), content: lines('new') })
  t.match(await update(client, 'f', lines('old'), 'old 1\n', ''), {
    status: 'contention',
    base_known: true,
    diff: { format: 'lines', lines: [{ start_line: 1, end_line: 400 }], advice: /async_diff/ },
    message: /only names the lines that changed\. Read the file again/
  })
})

t.test('other encodings are patched in their own bytes', async (t) => {
  const bytes = Buffer.from([0xe9, 0x0a, 0x62])
  const { tree, client } = await scene(t, { f: bytes })
  t.match(await client.call('async_read', { path: 'f' }), { error_code: 'ENCODING_ERROR' })
  t.match(await client.call('async_read', { path: 'f', encoding: 'iso-8859-1' }), {
    content: '\u00e9\nb',
    encoding: 'iso-8859-1'
  })
  const patches = [{ old_string: 'b', new_string: '\u00fc' }]
  t.match(
    await client.call('async_update', { path: 'f', expected_hash: hashOf(bytes), encoding: 'iso-8859-1', patches }),
    { status: 'ok' }
  )
  t.same(tree.bytes('f'), Buffer.from([0xe9, 0x0a, 0xfc]))
})

t.test(
  'a listing honours .gitignore and known hashes, pages through everything, and shows no file of ours',
  async (t) => {
    const files = Object.fromEntries(Array.from({ length: 25 }, (_, index) => [`many/${index}.txt`, 'x']))
    const { tree, client } = await scene(t, {
      ...files,
      '.gitignore': 'ignored/\n*.log\n!keep.log\n',
      'ignored/a.txt': '',
      'a.log': '',
      'keep.log': '',
      'sub/.gitignore': 'b.txt\n',
      'sub/b.txt': '',
      'b.txt': '',
      '.git/config': '',
      '.async-crud-mcp/state': '',
      '.async-crud-mcp-1-a-0123456789abcdef.tmp': ''
    })
    const names = async (input: object) =>
      (
        (await client.call('async_list', { path: '.', recursive: true, ...input }))['entries'] as { name: string }[]
      ).map(({ name }) => name)
    t.strictSame(await names({ ignore: true, pattern: '{*.log,*.txt}' }), [
      'b.txt',
      'keep.log',
      ...Object.keys(files).sort()
    ])
    const all = await names({})
    t.notOk(all.some((name) => name.includes('async-crud-mcp')))
    t.ok(all.includes('ignored/a.txt'))
    t.notOk(all.some((name) => name.startsWith('.git/')))
    const paged: string[] = []
    let cursor: string | undefined
    do {
      const answer = await client.call('async_list', {
        path: '.',
        recursive: true,
        limit: 7,
        ...(cursor !== undefined && { cursor })
      })
      paged.push(...(answer['entries'] as { name: string }[]).map(({ name }) => name))
      cursor = answer['next_cursor'] as string | undefined
    } while (cursor !== undefined)
    t.strictSame(paged, all)

    const hashes = async () =>
      (
        (await client.call('async_list', { path: 'many', pattern: '{1,2}.txt', include_hashes: true }))['entries'] as {
          hash: string | null
        }[]
      ).map(({ hash }) => hash)
    t.strictSame(await hashes(), [null, null])
    await client.call('async_read', { path: 'many/1.txt' })
    t.strictSame(await hashes(), [hashOf('x'), null])
    writeFileSync(tree.path('many/1.txt'), 'y')
    t.strictSame(await hashes(), [null, null], 'a hash is not given for a file that changed, however shortly after')
  }
)

const cannotList = process.platform === 'linux' ? false : 'open files are listed in /proc, on Linux only'

t.test('a version that lost its name is held open no longer than its call', { skip: cannotList }, async (t) => {
  const { tree, client } = await scene(t, { f: 'a' })
  const held = () => openFiles().filter((path) => path.startsWith(tree.root) && path.endsWith(' (deleted)'))
  await client.call('async_update', { path: 'f', expected_hash: hashOf('a'), content: 'b' })
  t.strictSame(held(), [], 'replaced')
  await client.call('async_delete', { path: 'f' })
  t.strictSame(held(), [], 'deleted')
})

function openFiles(): string[] {
  return readdirSync('/proc/self/fd').flatMap((fd) => {
    try {
      return [readlinkSync(`/proc/self/fd/${fd}`)]
    } catch {
      // The descriptor of this listing itself.
      return []
    }
  })
}

/** ASCII alone: other line separators in a title would break the test report. */
function inspect(text: string): string {
  return JSON.stringify(text).replace(
    /[\u007f-\uffff]/g,
    (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`
  )
}
