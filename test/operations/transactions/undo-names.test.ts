// Undo over names: renames, replaced files, links. What is undone is there as before, an undo of the undo brings it all back, and what is not kept is told.
import { chmodSync, linkSync, lstatSync, readdirSync, readFileSync, readlinkSync, rmSync, symlinkSync } from 'node:fs'
import t, { type Test } from 'tap'
import type { PartialConfig } from '../../../src/config/config.ts'
import { connect, type Answer, type TestClient } from '../../fixtures/clients.ts'
import { startServer } from '../../fixtures/server.ts'
import { hashOf, makeTree, type Tree } from '../../fixtures/tree.ts'
import { runUnprivileged } from '../../fixtures/unprivileged.ts'

interface Scene {
  readonly tree: Tree
  readonly ann: TestClient
  readonly bob: TestClient
  readonly operator: TestClient
  /** What is at each name, with its permission bits. */
  readonly look: () => Record<string, string>
}

async function scene(
  t: Test,
  files: Record<string, string>,
  crud: PartialConfig['crud'] = {},
  watcher: PartialConfig['watcher'] = {}
): Promise<Scene> {
  const tree = makeTree(t, files)
  const { url } = await startServer(t, tree.root, { crud: { durability: 'rename', ...crud }, watcher })
  const as = (name: string) => connect(t, 'rest', url, name)
  const look = () => {
    const names = readdirSync(tree.root, { recursive: true }) as string[]
    const own = names.filter((name) => !name.startsWith('.async-crud-mcp')).sort()
    return Object.fromEntries(own.map((name) => [name, describe(tree.path(name))]))
  }
  return { tree, ann: await as('ann'), bob: await as('bob'), operator: await as('operator'), look }
}

function describe(path: string): string {
  const stat = lstatSync(path)
  if (stat.isSymbolicLink()) return `link to ${readlinkSync(path)}`
  return stat.isDirectory() ? 'folder' : `${(stat.mode & 0o777).toString(8)} ${readFileSync(path, 'utf8')}`
}

async function done(client: TestClient, name: string, input: object): Promise<Answer> {
  const answer = await client.call(name, input)
  if (answer['status'] !== 'ok') throw new Error(`${name} ${JSON.stringify(input)}: ${JSON.stringify(answer)}`)
  return answer
}

/** The undo gives back what was there before, its undo what was there after, and a further one the first again. */
async function thereAndBack(t: Test, { operator, look }: Scene, before: object, by_agent = 'ann'): Promise<void> {
  const after = look()
  let answer = await operator.call('async_undo', { by_agent })
  t.match(answer, { status: 'ok', conflicts: [] })
  t.same(look(), before, 'as before')
  for (const { path, new_path = path, hash } of answer['files'] as Answer[])
    if (hash === null && new_path === path)
      t.notMatch(look()[path] ?? '', /^\d/, 'no file is there, as the answer says')
  for (const [what, expected] of [
    ['the undo of the undo', after],
    ['and the undo of that one', before]
  ] as const) {
    answer = await operator.call('async_undo', { of_change_set: answer['change_set'] })
    t.match(answer, { status: 'ok', conflicts: [] }, `${what} ${answer['message'] ?? ''}`)
    t.same(look(), expected, what)
  }
  t.match(
    await operator.call('async_undo', { by_agent }),
    { status: 'ok', undone: 0, conflicts: [] },
    'all is taken back'
  )
  t.same(look(), before)
}

type Rename = readonly [string, string]
const rename = (client: TestClient, [old_path, new_path]: Rename, overwrite = false) =>
  done(client, 'async_rename', { old_path, new_path, overwrite })
const write = (client: TestClient, path: string, content: string) => done(client, 'async_write', { path, content })
const remove = (client: TestClient, path: string) => done(client, 'async_delete', { path })
const exchange = (client: TestClient, renames: readonly Rename[]) =>
  done(client, 'async_transaction', {
    changes: renames.map(([path, new_path]) => ({ operation: 'rename', path, new_path, overwrite: true }))
  })

const limits = { max_file_size_bytes: 2048 }

const stories: Readonly<Record<string, (scene: Scene) => Promise<unknown>>> = {
  'a file is moved away and another created at its name': async ({ ann }) => {
    await rename(ann, ['a', 'z'])
    await write(ann, 'a', 'new a\n')
  },
  'a file is saved as editors do: written beside, then renamed over it': async ({ ann }) => {
    await write(ann, 'c.tmp', 'new a\n')
    await rename(ann, ['c.tmp', 'a'], true)
  },
  'a file is saved so twice': async ({ ann }) => {
    for (const content of ['one\n', 'two\n']) {
      await write(ann, 'c.tmp', content)
      await rename(ann, ['c.tmp', 'a'], true)
    }
  },
  'a file is deleted and another renamed to its name': async ({ ann }) => {
    await remove(ann, 'a')
    await rename(ann, ['b', 'a'])
  },
  'a file is deleted, another takes its name and leaves it again': async ({ ann }) => {
    await remove(ann, 'a')
    await rename(ann, ['b', 'a'])
    await rename(ann, ['a', 'd'])
    await write(ann, 'a', 'new a\n')
    await write(ann, 'b', 'new b\n')
  },
  'a file is renamed over another that was never read': async ({ ann }) => {
    await rename(ann, ['a', 'b'], true)
  },
  'a file is renamed over one that was renamed over another': async ({ ann }) => {
    await rename(ann, ['a', 'b'], true)
    await rename(ann, ['b', 'c'], true)
    await rename(ann, ['c', 'a'])
  },
  'two names are exchanged': async ({ ann }) => {
    await exchange(ann, [
      ['a', 'b'],
      ['b', 'a']
    ])
  },
  'three names go round, and then once more': async ({ ann }) => {
    const round: Rename[] = [
      ['a', 'b'],
      ['b', 'c'],
      ['c', 'a']
    ]
    await exchange(ann, round)
    await exchange(ann, round)
  },
  'two names are exchanged, and one of the files is deleted and created again': async ({ ann }) => {
    await exchange(ann, [
      ['a', 'b'],
      ['b', 'a']
    ])
    await remove(ann, 'b')
    await write(ann, 'b', 'new b\n')
  },
  'names move up by one, over the last': async ({ ann }) => {
    await exchange(ann, [
      ['a', 'b'],
      ['b', 'c']
    ])
  },
  'a file is renamed over a link, and another link renamed': async ({ ann }) => {
    await rename(ann, ['a', 'link'], true)
    await rename(ann, ['other', 'moved'])
  },
  'a link is renamed over a file': async ({ ann }) => {
    await rename(ann, ['link', 'c'], true)
  },
  'a link is deleted and a file created at its name': async ({ ann }) => {
    await remove(ann, 'link')
    await write(ann, 'link', 'no link\n')
  },
  'a link is renamed over a link, and deleted': async ({ ann }) => {
    await rename(ann, ['link', 'other'], true)
    await remove(ann, 'other')
  },
  'a link and a file change places': async ({ ann }) => {
    await exchange(ann, [
      ['a', 'link'],
      ['link', 'a']
    ])
  },
  'a file is renamed over a read-only one': async ({ ann }) => rename(ann, ['a', 'ro'], true),
  'a read-only file is deleted': async ({ ann }) => remove(ann, 'ro'),
  'a file goes into a folder that is made for it, another comes to its name, and goes there, too': async ({ ann }) => {
    await rename(ann, ['a', 'deep/er/a'])
    await rename(ann, ['b', 'a'])
    await write(ann, 'b', 'new b\n')
    await rename(ann, ['a', 'deep/er/a'], true)
  }
}

for (const [title, act] of Object.entries(stories))
  t.test(`undo and redo: ${title}`, async (t) => {
    const all = await scene(t, { a: 'a\n', b: 'b\n', c: 'c\n', ro: 'ro\n' })
    symlinkSync('b', all.tree.path('link'))
    symlinkSync('nowhere', all.tree.path('other'))
    chmodSync(all.tree.path('ro'), 0o444)
    const before = all.look()
    await act(all)
    const made = all.look()
    t.notSame(made, before)
    // Folders that a change has made stay.
    const folders = Object.entries(made).filter(([, what]) => what === 'folder')
    await thereAndBack(t, all, { ...before, ...Object.fromEntries(folders) })
  })

t.test('the files of others stay where they are, and what they have built is merged', async (t) => {
  const all = await scene(t, { a: '1\n2\n3\n4\n5\n', b: 'b\n' })
  const { ann, bob, operator, look } = all
  await write(ann, 'c.tmp', '1\nann\n3\n4\n5\n')
  await rename(ann, ['c.tmp', 'a'], true)
  await rename(bob, ['b', 'd'])
  t.match(await operator.call('async_undo', { by_agent: 'ann' }), { status: 'ok' })
  t.same(look(), { a: '644 1\n2\n3\n4\n5\n', d: '644 b\n' })
  await rename(ann, ['d', 'e'])
  await write(bob, 'd', "bob's\n")
  t.match(await operator.call('async_undo', { by_agent: 'ann', partial: true }), {
    conflicts: [{ path: 'd', reason: 'in_the_way' }]
  })
  t.same(look(), { a: '644 1\n2\n3\n4\n5\n', d: "644 bob's\n", e: '644 b\n' })
})

t.test('bytes that are replaced or removed are kept, or the answer says that they are not', async (t) => {
  const big = 'x'.repeat(3000)
  const { tree, ann, operator } = await scene(t, { a: 'a\n', b: 'b\n', c: 'c\n', big }, { max_file_size_bytes: 2048 })
  const over = await rename(ann, ['a', 'b'], true)
  t.notOk('kept' in over, 'kept, although nobody had read it')
  const { versions } = await operator.call('async_history', { path: 'b' })
  t.match(versions, [
    { hash: hashOf('a\n'), agent_id: 'ann', kept: true },
    { hash: hashOf('b\n'), agent_id: null, kept: true }
  ])
  await done(operator, 'async_restore', { path: 'b', hash: hashOf('b\n'), expected_hash: null })
  t.equal(tree.read('b'), 'b\n')
  t.match(await rename(ann, ['c', 'big'], true), { kept: false })
  const refused = await operator.call('async_undo', { by_agent: 'ann', paths: ['big', 'c'] })
  t.match(refused, { status: 'contention', conflicts: [{ path: 'big', reason: 'not_kept' }] })
  t.equal(tree.read('big'), 'c\n')
  tree.write('big', big)
  t.match(await remove(ann, 'big'), { deleted_hash: null, kept: false })
  t.match(await operator.call('async_history', { path: 'big', limit: 1 }), {
    versions: [{ hash: null, agent_id: 'ann', operation: 'async_delete' }]
  })
  tree.write('big', big)
  const changes = [
    { operation: 'delete', path: 'b' },
    { operation: 'delete', path: 'big' }
  ]
  const { changes: made } = await done(ann, 'async_transaction', { changes })
  t.same(
    made.map(({ kept }: Answer) => kept),
    [undefined, false]
  )
})

t.test('an undo whose versions are dropped says so, and changes nothing', async (t) => {
  const { ann, operator, look } = await scene(t, { a: 'a\n', b: 'b\n' }, { max_file_versions: 1 })
  await rename(ann, ['a', 'b'], true)
  const now = look()
  t.match(await operator.call('async_undo', { by_agent: 'ann' }), {
    status: 'contention',
    conflicts: [{ path: 'b', reason: 'not_kept' }]
  })
  t.same(look(), now)
})

t.test('a file that is too large to read is moved back by an undo', async (t) => {
  const big = 'x'.repeat(3000)
  const all = await scene(t, { big }, { max_file_size_bytes: 2048 })
  const before = all.look()
  t.notOk('kept' in (await rename(all.ann, ['big', 'moved'])))
  await thereAndBack(t, all, before)
})

t.test('without room for versions every change says that nothing is kept', async (t) => {
  const { tree, ann, operator } = await scene(t, { a: 'a\n', b: 'b\n' }, { base_cache_bytes: 0 })
  const { hash } = await ann.call('async_read', { path: 'a' })
  const update = await done(ann, 'async_update', { path: 'a', expected_hash: hash, content: 'new\n' })
  t.match(update, { kept: false })
  t.match(await done(ann, 'async_append', { path: 'a', content: 'more\n' }), { kept: false })
  t.match(await rename(ann, ['a', 'b'], true), { kept: false })
  t.match(await remove(ann, 'b'), { kept: false })
  t.notOk('kept' in (await write(ann, 'n', 'n\n')), 'a new file replaces nothing')
  t.match(await operator.call('async_undo', { by_agent: 'ann', paths: ['a', 'b'] }), {
    status: 'contention',
    conflicts: [{ reason: 'not_kept' }]
  })
  t.same(
    tree.all().filter((path) => !path.startsWith('.')),
    ['n']
  )
})

t.test('an undo obeys crud.hardlinks: refuse, as an update does', async (t) => {
  const all = await scene(t, { b: 'b\n', c: 'c\n' }, { hardlinks: 'refuse' })
  const { tree, ann, operator, look } = all
  for (const path of ['b', 'c']) await done(ann, 'async_append', { path, content: 'ann\n' })
  linkSync(tree.path('b'), tree.path('b2'))
  const before = look()
  const answer = await operator.call('async_undo', { by_agent: 'ann' })
  t.match(answer, { status: 'contention', undone: 0, conflicts: [{ path: 'b', reason: 'refused' }] })
  t.match(answer['conflicts'], [{ message: /crud\.hardlinks/ }])
  t.same(look(), before)
  t.match(await operator.call('async_undo', { by_agent: 'ann', partial: true }), { status: 'ok', undone: 1 })
  t.same(look(), { ...before, c: '644 c\n' })
})

t.test('an undo leaves a read-only file as it is, as an update does', async (t) => {
  const tree = makeTree(t, { a: 'a\n', b: 'b\n' })
  const append = (path: string) => ({ call: 'async_append', input: { path, content: 'ann\n', agent_id: 'ann' } })
  const undo = { call: 'async_undo', input: { by_agent: 'ann', agent_id: 'operator' } }
  const [, , refused, partial, outside] = await runUnprivileged(tree, [
    append('a'),
    append('b'),
    { chmod: 'a', mode: 0o444 },
    undo,
    { ...undo, input: { ...undo.input, partial: true } },
    { ...undo, input: { ...undo.input, by_agent: 'external', dry_run: true } }
  ])
  t.match(refused, { status: 'contention', conflicts: [{ path: 'a', reason: 'refused', message: /read-only/ }] })
  t.match(partial, { status: 'ok', undone: 1 })
  t.same([describe(tree.path('a')), describe(tree.path('b'))], ['444 a\nann\n', '644 b\n'])
  t.match(outside, { status: 'ok', files: [{ path: 'a', previous_mode: '444', mode: '644' }] }, 'writable again')
})

t.test('blame follows each file through a swap, a chain, and over a restart of names', async (t) => {
  const { ann, bob } = await scene(t, { a: 'one\n', b: 'two\n', c: 'three\n' })
  for (const path of ['a', 'b', 'c']) await done(ann, 'async_append', { path, content: `ann ${path}\n` })
  await exchange(bob, [
    ['a', 'b'],
    ['b', 'a']
  ])
  await exchange(bob, [
    ['b', 'c'],
    ['c', 'd']
  ])
  for (const [path, first, second] of [
    ['a', 'two', 'ann b'],
    ['c', 'one', 'ann a'],
    ['d', 'three', 'ann c']
  ] as const) {
    const { ranges } = await ann.call('async_blame', { path })
    t.match(
      ranges,
      [
        { start_line: 1, end_line: 1, agent_id: null },
        { start_line: 2, end_line: 2, agent_id: 'ann' }
      ],
      `${path}: ${first}, ${second}`
    )
  }
})

t.test('blame knows the authors of a file that an undo brings back to an earlier name', async (t) => {
  const { ann, operator } = await scene(t, { a: 'a\n', b: 'b\n' })
  await done(ann, 'async_append', { path: 'a', content: 'ann\n' })
  const task = { agent_id: 'bob', change_set: 'task' }
  await done(ann, 'async_rename', { old_path: 'a', new_path: 'c', ...task })
  await done(ann, 'async_rename', { old_path: 'b', new_path: 'c', overwrite: true, ...task })
  await done(operator, 'async_undo', { of_change_set: 'task' })
  t.match((await ann.call('async_blame', { path: 'a' }))['ranges'], [
    { start_line: 1, end_line: 1, agent_id: null },
    { start_line: 2, end_line: 2, agent_id: 'ann' }
  ])
})

t.test('a version of a path that was a link since is restored as the file that it was', async (t) => {
  const { tree, ann, operator } = await scene(t, { a: 'a\n', c: 'c\n' })
  symlinkSync('a', tree.path('link'))
  await rename(ann, ['link', 'c'], true)
  await remove(ann, 'c')
  await done(operator, 'async_restore', { path: 'c', hash: hashOf('c\n') })
  t.equal(describe(tree.path('c')), '644 c\n')
})

for (const how of ['async_rename', 'async_transaction'] as const)
  t.test(`what others put at a name that was free is moved back, be it a link: ${how}`, async (t) => {
    const { tree, ann, bob, operator, look } = await scene(t, { a: 'a\n', big: 'big\n', b: 'b\n' }, limits)
    for (const path of ['a', 'big', 'b']) await remove(bob, path)
    symlinkSync('nowhere', tree.path('a'))
    tree.write('big', 'x'.repeat(limits.max_file_size_bytes + 1))
    tree.write('b', 'new b\n')
    const before = look()
    const renames: Rename[] = ['a', 'big', 'b'].map((path) => [path, `${path}.moved`])
    if (how === 'async_transaction') await exchange(ann, renames)
    else for (const names of renames) await rename(ann, names)
    t.match(await operator.call('async_undo', { by_agent: 'ann' }), { status: 'ok', conflicts: [] })
    t.same(look(), before)
    t.match((await operator.call('async_history', { by_agent: 'external' }))['versions'], [
      { path: 'b' },
      {},
      { link: 'nowhere' }
    ])
  })

for (const how of ['async_rename', 'async_transaction'] as const)
  t.test(`a link that others put at a free name comes back from under what replaced it: ${how}`, async (t) => {
    const all = await scene(t, { a: 'a\n', b: 'b\n' })
    await remove(all.bob, 'a')
    symlinkSync('nowhere', all.tree.path('a'))
    const before = all.look()
    if (how === 'async_transaction') await exchange(all.ann, [['b', 'a']])
    else await rename(all.ann, ['b', 'a'], true)
    await thereAndBack(t, all, before)
  })

t.test('a renamed link is in the history, and one that leads nowhere now is told', async (t) => {
  const { tree, ann, operator } = await scene(t, { a: 'a\n' })
  symlinkSync('a', tree.path('link'))
  const answer = await rename(ann, ['link', 'sub/link'])
  t.match(answer, { hash: null, message: /leads nowhere|does not exist/ })
  const { versions } = await operator.call('async_history', { by_agent: 'ann' })
  t.match(versions, [
    { path: 'sub/link', hash: null, link: 'a', renamed_from: 'link' },
    { path: 'link', hash: null, renamed_to: 'sub/link' }
  ])
  const back = await rename(ann, ['sub/link', 'again'])
  t.match(back, { hash: hashOf('a\n') })
  t.match((await operator.call('async_history', { path: 'again' }))['versions'], [
    { link: 'a', renamed_from: 'sub/link', agent_id: 'ann' },
    { hash: hashOf('a\n'), agent_id: null }
  ])
  t.notOk('message' in back)
})

t.test(
  'what is put at the name of a file that a program outside has removed unseen is new, and its undo removes it',
  async (t) => {
    for (const [what, make] of [
      ['async_write', (ann) => done(ann, 'async_write', { path: 'a', content: 'a\n' })],
      [
        'async_transaction',
        (ann) => done(ann, 'async_transaction', { changes: [{ operation: 'write', path: 'a', content: 'a\n' }] })
      ],
      ['async_rename', (ann) => done(ann, 'async_rename', { old_path: 'b', new_path: 'a' })]
    ] as const satisfies readonly (readonly [string, (ann: TestClient) => Promise<Answer>])[]) {
      const { tree, ann, operator, look } = await scene(t, { a: 'a\nold\n', b: 'a\n' }, {}, { enabled: false })
      await done(operator, 'async_read', { path: 'a' })
      rmSync(tree.path('a'))
      const before = look()
      await make(ann)
      const { ranges } = await done(ann, 'async_blame', { path: 'a' })
      t.equal(
        ranges[0].agent_id,
        what === 'async_rename' ? null : 'ann',
        `${what}: no line is of the file that was there`
      )
      t.match(await done(operator, 'async_undo', { by_agent: 'ann' }), { undone: 1, conflicts: [] })
      t.same(look(), before, what)
    }
  }
)
