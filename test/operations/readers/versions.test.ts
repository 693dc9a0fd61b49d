// What a reader gets instead of the whole file again: not_modified, the difference, the versions of the past and a way back.
import { chmodSync, readlinkSync, rmSync, statSync, symlinkSync, writeFileSync } from 'node:fs'
import t, { type Test } from 'tap'
import type { PartialConfig } from '../../../src/config/config.ts'
import { connect, type TestClient } from '../../fixtures/clients.ts'
import { startServer } from '../../fixtures/server.ts'
import { hashOf, makeTree, type Tree } from '../../fixtures/tree.ts'
import { lengthOf } from '../../fixtures/length.ts'

const text = Array.from({ length: 50 }, (_, index) => `line ${index + 1}\n`).join('')
const changed = text.replace('line 20\n', 'line twenty\n')

async function scene(
  t: Test,
  files: Record<string, string | Buffer>,
  config: PartialConfig = {}
): Promise<{ tree: Tree; client: TestClient }> {
  const tree = makeTree(t, files)
  const { url } = await startServer(t, tree.root, { watcher: { enabled: false }, ...config })
  return { tree, client: await connect(t, 'rest', url, 'ann') }
}

t.test(
  'known_hash: nothing where it is still there, the difference where that is shorter, else the content',
  async (t) => {
    const { tree, client } = await scene(t, { f: text })
    const { hash } = await client.call('async_read', { path: 'f' })
    const same = await client.call('async_read', { path: 'f', known_hash: hash })
    t.match(same, { status: 'ok', not_modified: true, hash, total_lines: 50, lines_returned: 0 })
    t.notOk('content' in same || 'diff' in same)

    tree.write('f', changed)
    const delta = await client.call('async_read', { path: 'f', known_hash: hash })
    t.match(delta, {
      hash: hashOf(changed),
      diff: { format: 'json', changes: [{ type: 'modified', start_line: 20, new_content: 'line twenty' }] }
    })
    t.notOk('content' in delta || 'not_modified' in delta)
    const unified = await client.call('async_read', { path: 'f', known_hash: hash, diff_format: 'unified' })
    t.match(unified.diff, { format: 'unified', content: /-line 20\n\+line twenty\n/ })

    tree.write('f', 'short\n')
    const short = await client.call('async_read', { path: 'f', known_hash: hash })
    t.match(short, { content: 'short\n', hash: hashOf('short\n') })
    t.notOk('diff' in short)
    const unknown = await client.call('async_read', { path: 'f', known_hash: hashOf('never seen') })
    t.match(unknown, { content: 'short\n' })
    t.match(await client.call('async_read', { path: 'f', known_hash: 'abc' }), { error_code: 'INVALID_REQUEST' })
  }
)

t.test('known_hash of a range and in a batch', async (t) => {
  const { tree, client } = await scene(t, { f: text, g: text })
  const hash = hashOf(text)
  await client.call('async_batch_read', { files: [{ path: 'f' }, { path: 'g' }] })
  tree.write('g', changed)
  const { results } = await client.call('async_batch_read', {
    files: [
      { path: 'f', known_hash: hash },
      { path: 'g', known_hash: hash },
      { path: 'g', known_hash: hash, offset: 0, limit: 2 }
    ]
  })
  t.match(results, [
    { not_modified: true },
    { diff: { changes: [{ start_line: 20 }] } },
    { content: 'line 1\nline 2\n' }
  ])
})

t.test('known_hash hides no line that the agent was never given', async (t) => {
  const { tree, client } = await scene(t, { f: text })
  const read = (input: object, agent_id = 'ann') => client.call('async_read', { path: 'f', agent_id, ...input })
  const { hash: known_hash } = await read({ limit: 10 })
  t.match(await read({ known_hash, limit: 10 }), { not_modified: true, lines_returned: 0 }, 'lines it has')
  t.match(await read({ known_hash, offset: 2, limit: 3 }), { not_modified: true }, 'some of them')
  t.match(await read({ known_hash, limit: 0 }), { not_modified: true }, 'no lines at all')
  t.match(await read({ known_hash, offset: 5, limit: 10 }), { content: /^line 6\n/, lines_returned: 10 }, 'more')
  t.match(await read({ known_hash }), { content: text }, 'the whole')
  t.match(await read({ known_hash, offset: 30 }), { not_modified: true }, 'by now it has all')

  for (const offset of [0, 10, 25]) await read({ offset, limit: 15, agent_id: 'bob' })
  t.match(await read({ known_hash, agent_id: 'bob' }), { content: text }, 'lines 41 to 50 are missing')
  await read({ offset: 40, agent_id: 'cyd' })
  t.match(await read({ known_hash, agent_id: 'cyd' }), { content: text })

  tree.write('f', changed)
  const { results } = await client.call('async_batch_read', {
    agent_id: 'cyd',
    files: [{ path: 'f', known_hash, offset: 10 }]
  })
  t.match(
    results,
    [{ diff: { changes: [{ start_line: 20 }] } }],
    'who knows the version as a whole gets the difference'
  )
  await read({ limit: 10, agent_id: 'eve' })
  const patches = [{ old_string: 'line 3\n', new_string: 'line three\n' }]
  const update = { path: 'f', expected_hash: hashOf(changed), patches, agent_id: 'eve' }
  const { hash: made } = await client.call('async_update', update)
  t.match(await read({ known_hash: made, agent_id: 'eve' }), { content: /line 50/ }, 'a change of a part shows no more')
  await client.call('async_update', { path: 'f', expected_hash: made, content: changed, agent_id: 'eve' })
  const sent = { known_hash: hashOf(changed), offset: 20, agent_id: 'eve' }
  t.match(await read(sent), { not_modified: true }, 'who has sent the content has all of it')

  await client.call('async_read', { path: 'f', limit: 30, agent_id: 'dan' })
  tree.write('f', text)
  t.match(await read({ known_hash: hashOf(changed), agent_id: 'dan' }), { content: text }, 'who has a part, the lines')
})

t.test('of who has read nothing here, known_hash counts for the whole file alone', async (t) => {
  const tree = makeTree(t, { f: text })
  const { url } = await startServer(t, tree.root, { watcher: { enabled: false } })
  const stranger = await connect(t, 'rest', url)
  const { hash: known_hash } = await stranger.call('async_read', { path: 'f', limit: 10 })
  t.match(await stranger.call('async_read', { path: 'f', known_hash }), { not_modified: true })
  for (const range of [{ offset: 10 }, { limit: 10 }, { offset: 1, limit: 2 }])
    t.match(await stranger.call('async_read', { path: 'f', known_hash, ...range }), { content: /^line/ })
  tree.write('f', changed)
  t.match(await stranger.call('async_read', { path: 'f', known_hash }), { diff: {} })
  t.match(await stranger.call('async_read', { path: 'f', known_hash, offset: 10 }), { content: /^line 11/ })
})

t.test('the history of a file says who made which version, when, and how much it changed', async (t) => {
  const { tree, client } = await scene(t, {})
  await client.call('async_write', { path: 'f', content: text })
  await client.call('async_update', {
    path: 'f',
    expected_hash: hashOf(text),
    patches: [{ old_string: 'line 20\n', new_string: 'line twenty\n' }],
    agent_id: 'bob'
  })
  writeFileSync(tree.path('f'), `${changed}more\n`)
  await client.call('async_append', { path: 'f', content: 'end\n' })
  await client.call('async_rename', { old_path: 'f', new_path: 'g' })
  const { versions } = await client.call('async_history', { path: 'f' })
  t.match(versions, [
    { hash: null, agent_id: 'ann', operation: 'async_rename', renamed_to: 'g', kept: false, lines: { removed: 52 } },
    { agent_id: 'ann', operation: 'async_append', lines: { added: 1, removed: 0, modified: 0 } },
    { agent_id: 'external', operation: 'external', hash: hashOf(`${changed}more\n`), lines: { added: 1 } },
    { agent_id: 'bob', operation: 'async_update', hash: hashOf(changed), lines: { modified: 1 }, kept: true },
    { agent_id: 'ann', operation: 'async_write', previous_hash: null, lines: { added: 50 } }
  ])
  t.equal(versions.length, 5)
  t.match((await client.call('async_history', { path: 'g' })).versions, [
    { path: 'g', operation: 'async_rename', renamed_from: 'f' }
  ])
  t.match((await client.call('async_history', { by_agent: 'bob' })).versions, [{ path: 'f', agent_id: 'bob' }])
  t.match(await client.call('async_history', { by_agent: 'nobody' }), { status: 'ok', versions: [] })
  t.match(await client.call('async_history', { path: 'none' }), { status: 'ok', versions: [] })
})

t.test('a long history comes in pages that miss nothing, over all files', async (t) => {
  const { client } = await scene(t, {})
  for (const name of ['a', 'b', 'c']) await client.call('async_write', { path: name, content: '0' })
  for (let round = 1; round <= 9; round += 1)
    for (const name of ['a', 'b', 'c']) await client.call('async_append', { path: name, content: String(round) })
  const seen: string[] = []
  let cursor: string | undefined
  do {
    const page = await client.call('async_history', { limit: 7, ...(cursor !== undefined && { cursor }) })
    for (const { path, hash } of page.versions) seen.push(`${path} ${hash}`)
    cursor = page.next_cursor
  } while (cursor !== undefined)
  t.equal(seen.length, 30)
  t.equal(new Set(seen).size, 30)
  t.match(seen[0], `c ${hashOf('0123456789')}`)
  for (const bad of ['', 'x', '-1', '1e3'])
    t.match(await client.call('async_history', { cursor: bad }), { error_code: 'INVALID_REQUEST' }, bad)
})

t.test('what was there at first sight has no author', async (t) => {
  const { client } = await scene(t, { f: text })
  await client.call('async_read', { path: 'f' })
  const { versions } = await client.call('async_history', { path: 'f' })
  t.match(versions, [{ agent_id: null, operation: null, kept: true }])
  t.notOk('previous_hash' in versions[0])
  t.match((await client.call('async_status', { path: 'f' })).last_change, null)
})

t.test('async_diff: between two kept versions, and from one to what is there now', async (t) => {
  const { tree, client } = await scene(t, { f: text })
  await client.call('async_read', { path: 'f' })
  tree.write('f', changed)
  await client.call('async_append', { path: 'f', content: 'end\n', agent_id: 'bob' })
  const from_hash = hashOf(text)
  t.match(await client.call('async_diff', { path: 'f', from_hash }), {
    to_hash: hashOf(`${changed}end\n`),
    diff: { summary: { lines_modified: 1, lines_added: 1 } },
    modified_by: [{ agent_id: 'external' }, { agent_id: 'bob', operation: 'async_append' }]
  })
  const part = await client.call('async_diff', {
    path: 'f',
    from_hash,
    to_hash: hashOf(changed),
    diff_format: 'unified'
  })
  t.match(part, { diff: { content: /\+line twenty/ }, modified_by: [{ agent_id: 'external' }] })
  t.equal(part.modified_by.length, 1)
  t.match(await client.call('async_diff', { path: 'f', from_hash: hashOf('never') }), {
    error_code: 'VERSION_NOT_KEPT',
    message: /async_history/
  })
  t.match(await client.call('async_diff', { path: 'none', from_hash }), { error_code: 'FILE_NOT_FOUND' })
})

t.test('async_restore brings a version back byte for byte, and is an ordinary change', async (t) => {
  const bytes = Buffer.from('\ufeffone\r\ntwo\rthree')
  const { tree, client } = await scene(t, { f: bytes })
  await client.call('async_read', { path: 'f' })
  await client.call('async_update', { path: 'f', expected_hash: hashOf(bytes), content: 'other' })
  t.match(await client.call('async_restore', { path: 'f', hash: hashOf(bytes) }), {
    status: 'ok',
    previous_hash: hashOf('\ufeffother'),
    hash: hashOf(bytes),
    changed: true
  })
  t.ok(tree.bytes('f').equals(bytes))
  t.match(await client.call('async_restore', { path: 'f', hash: hashOf(bytes) }), { changed: false, bytes_written: 0 })
  t.match((await client.call('async_history', { path: 'f', limit: 1 })).versions, [{ operation: 'async_restore' }])
  rmSync(tree.path('f'))
  t.match(await client.call('async_restore', { path: 'f', hash: hashOf(bytes), expected_hash: hashOf(bytes) }), {
    error_code: 'FILE_NOT_FOUND'
  })
  t.match(await client.call('async_restore', { path: 'f', hash: hashOf('\ufeffother') }), {
    status: 'ok',
    previous_hash: null
  })
  t.equal(tree.read('f'), '\ufeffother')
})

t.test('what is restored after its deletion has its mode, by whomever it was deleted', async (t) => {
  const { tree, client } = await scene(t, { 'run.sh': 'one', private: 'one', 'd/set': 'one', gone: 'one' })
  const restore = (path: string) => client.call('async_restore', { path, hash: hashOf('one') })
  const modes = { 'run.sh': 0o755, private: 0o600, 'd/set': 0o6750, gone: 0o640 }
  for (const [path, mode] of Object.entries(modes)) {
    chmodSync(tree.path(path), mode)
    await client.call('async_read', { path })
    if (path === 'gone') rmSync(tree.path(path))
    else t.match(await client.call('async_delete', { path }), { status: 'ok' })
    if (path === 'd/set') rmSync(tree.path('d'), { recursive: true })
    t.match(await restore(path), { status: 'ok', changed: true, hash: hashOf('one') })
    t.equal(statSync(tree.path(path)).mode & 0o7777, mode & 0o1777, `${path}: set-id bits meant its owner`)
  }
})

t.test('a link that was deleted is restored as that link, and never as a copy of another version', async (t) => {
  const { tree, client } = await scene(t, { 'd/f': 'one', other: 'two' })
  const hash = hashOf('one')
  for (const [path, link] of [
    ['d/link', 'f'],
    ['link', tree.path('d/f')]
  ] as const) {
    symlinkSync(link, tree.path(path))
    t.match(await client.call('async_delete', { path }), { status: 'ok', deleted_hash: hash })
    t.match(await client.call('async_restore', { path, hash }), { status: 'ok', changed: true, bytes_written: 0, hash })
    t.equal(readlinkSync(tree.path(path)), link)
    t.match(await client.call('async_read', { path }), { content: 'one' })
  }
  await client.call('async_delete', { path: 'link' })
  tree.write('d/f', 'changed')
  t.match(await client.call('async_restore', { path: 'link', hash }), {
    error_code: 'INVALID_REQUEST',
    message: /was a symbolic link to .*d\/f.*Restore/
  })
  t.strictSame(tree.all(), ['d', 'd/f', 'd/link', 'other'])
  t.match(await client.call('async_restore', { path: 'd/f', hash, expected_hash: null }), { status: 'ok' })
  t.match(await client.call('async_restore', { path: 'link', hash }), { status: 'ok' })
  t.equal(readlinkSync(tree.path('link')), tree.path('d/f'))
})

t.test('async_restore over a version that the agent does not know is contention', async (t) => {
  const { tree, client } = await scene(t, { f: text })
  await client.call('async_read', { path: 'f' })
  tree.write('f', changed)
  const unaware = await client.call('async_restore', { path: 'f', hash: hashOf(text) })
  t.match(unaware, { status: 'contention', expected_hash: hashOf(text), current_hash: hashOf(changed) })
  t.equal(tree.read('f'), changed)
  tree.write('f', 'third')
  t.match(await client.call('async_restore', { path: 'f', hash: hashOf(text), expected_hash: hashOf(changed) }), {
    status: 'contention'
  })
  t.match(await client.call('async_restore', { path: 'f', hash: hashOf(text), expected_hash: null }), { status: 'ok' })
  t.equal(tree.read('f'), text)
  tree.write('f', 'fourth')
  const stranger = { path: 'f', hash: hashOf(text), agent_id: 'who never read it' }
  t.match(await client.call('async_restore', stranger), { error_code: 'INVALID_REQUEST', message: /expected_hash/ })
  await client.call('async_read', { path: 'f', limit: 1, agent_id: 'dan' })
  tree.write('f', 'fifth')
  t.match(
    await client.call('async_restore', { ...stranger, agent_id: 'dan' }),
    { status: 'contention' },
    'read in part'
  )
  t.equal(tree.read('f'), 'fifth')
})

t.test('what has been dropped from memory cannot be restored, and says so', async (t) => {
  const { tree, client } = await scene(t, { f: text }, { crud: { base_cache_bytes: 1000 } })
  await client.call('async_read', { path: 'f' })
  for (let round = 0; round < 5; round += 1)
    await client.call('async_write', { path: `g${round}`, content: `${round}`.repeat(400) })
  t.match((await client.call('async_history', { path: 'f' })).versions, [{ kept: false }])
  t.match(await client.call('async_restore', { path: 'f', hash: hashOf(text) }), { error_code: 'VERSION_NOT_KEPT' })
  t.equal(tree.read('f'), text)
})

t.test(
  'a status shows the last change, and a look at a file that is being written takes nothing for a change from outside',
  async (t) => {
    const { client } = await scene(t, { f: '0' })
    const writes = (async () => {
      for (let round = 1; round <= lengthOf({ full: 60, short: 10 }); round += 1)
        await client.call('async_append', { path: 'f', content: String(round) })
    })()
    const looks = (async () => {
      for (let round = 0; round < lengthOf({ full: 300, short: 20 }); round += 1) {
        await client.call('async_status', { path: 'f' })
        await client.call('async_list', { path: '.', include_hashes: true })
      }
    })()
    await Promise.all([writes, looks])
    t.match((await client.call('async_status', { path: 'f' })).last_change, {
      agent_id: 'ann',
      operation: 'async_append'
    })
    t.strictSame((await client.call('async_history', { by_agent: 'external' })).versions, [])
  }
)

t.test('how many files and versions are remembered is bounded', async (t) => {
  const { client } = await scene(t, {}, { crud: { max_history_files: 2, max_file_versions: 3 } })
  for (const path of ['a', 'b', 'c']) await client.call('async_write', { path, content: '' })
  for (let round = 0; round < 5; round += 1) await client.call('async_append', { path: 'c', content: '.' })
  const { versions } = await client.call('async_history')
  t.strictSame(
    versions.map(({ path }: { path: string }) => path),
    ['c', 'c', 'c', 'b']
  )
  t.match(await client.call('async_status'), { tracked_files: 2 })
})
