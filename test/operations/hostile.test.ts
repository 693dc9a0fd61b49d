// Input made to hurt: it gets its error, harms nobody else, and what is promised stays true.
import { execFileSync } from 'node:child_process'
import { linkSync, mkdirSync, renameSync, symlinkSync } from 'node:fs'
import t from 'tap'
import { connect, connectModern, type Answer } from '../fixtures/clients.ts'
import { startServer } from '../fixtures/server.ts'
import { hashOf, makeTree } from '../fixtures/tree.ts'

t.test('a rename does not replace what is no file', async (t) => {
  const tree = makeTree(t, { a: 'one' })
  execFileSync('mkfifo', [tree.path('fifo')])
  const { url } = await startServer(t, tree.root)
  const client = await connect(t, 'rest', url)
  t.match(await client.call('async_rename', { old_path: 'a', new_path: 'fifo', overwrite: true }), {
    error_code: 'NOT_A_FILE'
  })
  t.strictSame(tree.all(), ['a', 'fifo'])
})

t.test('patches_applicable: true holds for encoding, size and links too', async (t) => {
  const lines = (first: string) => `${first}\n${'abcdefghijkl'.split('').join('\n')}\n`
  const tree = makeTree(t, { f: lines('zero'), linked: lines('zero') })
  linkSync(tree.path('linked'), tree.path('other'))
  const { url } = await startServer(t, tree.root, { crud: { hardlinks: 'refuse' } })
  const client = await connect(t, 'rest', url)
  const late = async (path: string, new_string: string): Promise<Answer> => {
    await client.call('async_read', { path })
    tree.write(path, lines('null'))
    return client.call('async_update', {
      path,
      expected_hash: hashOf(lines('zero')),
      encoding: 'windows-1252',
      patches: [{ old_string: 'k\n', new_string }]
    })
  }
  t.match(await late('f', '\u65e5\n'), { status: 'contention', patches_applicable: false })
  tree.write('f', lines('zero'))
  t.match(await late('f', '\u00e9\n'), { status: 'contention', patches_applicable: true })
  t.match(await late('linked', 'x\n'), { status: 'contention', patches_applicable: false })
})

t.test('a glob with thousands of alternatives is refused', async (t) => {
  const tree = makeTree(t)
  const { url } = await startServer(t, tree.root)
  const client = await connect(t, 'rest', url)
  t.match(await client.call('async_list', { path: '.', pattern: '*{1..100}'.repeat(28) }), {
    error_code: 'INVALID_PATTERN'
  })
})

t.test('an input with thousands of faults gets a short answer', async (t) => {
  const tree = makeTree(t)
  const { url } = await startServer(t, tree.root)
  const client = await connect(t, 'rest', url)
  const inputs = [
    {
      path: 'x',
      ...Object.fromEntries(Array.from({ length: 20_000 }, (_, index) => [`${'unknown'.repeat(9)}${index}`, 1]))
    },
    {
      path: 'x',
      ...Object.fromEntries(Array.from({ length: 900 }, (_, index) => [`${'unknown'.repeat(9)}${index}`, 1]))
    },
    { files: Array.from({ length: 9_000 }, () => ({})) },
    { files: Array.from({ length: 190_000 }, () => 1) }
  ]
  for (const input of inputs) {
    const answer = await client.call('path' in input ? 'async_read' : 'async_batch_read', input)
    t.match(answer, { error_code: 'INVALID_REQUEST' })
    t.ok(JSON.stringify(answer).length < 30_000)
  }
})

t.test('a batch leaves turns to everybody else', async (t) => {
  const tree = makeTree(t, { f: 'a\n'.repeat(100_000) })
  const { url } = await startServer(t, tree.root)
  const client = await connect(t, 'rest', url)
  const other = await connect(t, 'rest', url)
  // Only the work of the two is to be compared, not who is connected first.
  for (const warm of [client, other]) await warm.call('async_read', { path: 'f', limit: 1 })
  const count = 200
  const answered: string[] = []
  const batch = client.call('async_batch_read', {
    files: Array.from({ length: count }, () => ({ path: 'f', limit: 1 }))
  })
  await Promise.all([
    batch.then(({ summary }) => answered.push(`${summary.succeeded} files`)),
    other.call('async_read', { path: 'f', limit: 1 }).then(() => answered.push('one file'))
  ])
  t.strictSame(answered, ['one file', `${count} files`], 'a call sent after the batch is answered before it')
})

t.test('a .gitignore that makes its matcher backtrack is not obeyed in that line', async (t) => {
  const deep = 'a/'.repeat(40)
  const tree = makeTree(t, {
    '.gitignore': `${'**/a/'.repeat(8)}**/b\nignored.txt\n`,
    'ignored.txt': '',
    [`${deep}b`]: ''
  })
  const { url } = await startServer(t, tree.root)
  const client = await connect(t, 'rest', url)
  const answer = await client.call('async_list', { path: '.', ignore: true, recursive: true })
  const names = (answer['entries'] as { name: string }[]).map(({ name }) => name)
  t.ok(names.includes(`${deep}b`), 'what the line would hide is shown')
  t.notOk(names.includes('ignored.txt'))
})

t.test('an agent id is bounded wherever it comes from', async (t) => {
  const tree = makeTree(t, { f: '' })
  const { url } = await startServer(t, tree.root)
  const rest = await connect(t, 'rest', url, 'x'.repeat(201))
  t.match(await rest.call('async_append', { path: 'f', content: 'x' }), {
    error_code: 'INVALID_REQUEST',
    message: /X-Agent-Id/
  })
  const modern = await connectModern(url)
  t.teardown(() => modern.close())
  const _meta = { 'async-crud-mcp/agent_id': 'x'.repeat(100_000) }
  t.match(await modern.callTool({ name: 'async_append', arguments: { path: 'f', content: 'x' }, _meta }), {
    isError: true,
    structuredContent: { error_code: 'INVALID_REQUEST' }
  })
  t.equal(tree.read('f'), '')
})

t.test('a batch of contentions has an answer of bounded size', async (t) => {
  const text = (word: string) =>
    Array.from({ length: 300 }, (_, index) => `${index % 30 === 0 ? word : 'line'} ${index}\n`).join('')
  const tree = makeTree(t, { f: text('old') })
  const { url } = await startServer(t, tree.root, { crud: { max_batch_answer_bytes: 20_000 } })
  const client = await connect(t, 'rest', url)
  await client.call('async_read', { path: 'f' })
  tree.write('f', text('new'))
  const item = { path: 'f', expected_hash: hashOf(text('old')), content: '' }
  const answer = await client.call('async_batch_update', {
    files: Array.from({ length: 50 }, () => item),
    diff_format: 'unified'
  })
  t.ok(JSON.stringify(answer).length < 100_000)
  const results = answer['results'] as Answer[]
  t.match(results[0], { status: 'contention', diff: { format: 'unified' } })
  t.match(results[49], {
    status: 'contention',
    base_known: true,
    diff: null,
    current_hash: hashOf(text('new')),
    message: /no room/
  })
})

t.test('the answer of a batch of reads keeps to its bound, and what was left out was not seen', async (t) => {
  const tree = makeTree(t, { a: 'a'.repeat(600), b: 'b'.repeat(600), c: 'c'.repeat(400), huge: 'h'.repeat(2000) })
  const { url } = await startServer(t, tree.root, { crud: { max_batch_answer_bytes: 1000 } })
  const client = await connect(t, 'rest', url, 'ann')
  for (const consistent of [false, true]) {
    const files = ['huge', 'a', 'b', 'c'].map((path) => ({ path }))
    const { results, summary } = await client.call('async_batch_read', { files, consistent })
    const [huge, a, b, c] = results as Answer[]
    t.match([a, c], [{ status: 'ok' }, { status: 'ok' }], 'a smaller one still has room')
    const refused = { status: 'error', error_code: 'FILE_TOO_LARGE', message: /no room.*another call/ }
    t.match([huge, b], [refused, refused])
    t.match(summary, { succeeded: 2, failed: 2 })
  }
  const bob = await connect(t, 'rest', url, 'bob')
  for (const path of ['a', 'b']) await bob.call('async_append', { path, content: 'x' })
  const { notices } = await client.call('async_status', {})
  t.same(
    (notices as Answer[]).map(({ path }) => path),
    ['a']
  )
})

t.test("a body nested without end is the caller's fault on every route", async (t) => {
  const tree = makeTree(t)
  const { url } = await startServer(t, tree.root)
  const nested = `${'['.repeat(100_000)}${']'.repeat(100_000)}`
  for (const [path, body] of [
    ['/async_read', `{"path":${nested}}`],
    ['/mcp', nested],
    [
      '/mcp',
      `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"async_read","arguments":{"path":${nested}}}}`
    ]
  ] as const) {
    const response = await fetch(url + path, {
      method: 'POST',
      headers: { 'content-type': 'application/json', accept: 'application/json, text/event-stream' },
      body
    })
    t.equal(response.status, 400, path)
    t.match(await response.text(), /nested more than/)
  }
})

t.test('a bad URL is answered in the envelope', async (t) => {
  const tree = makeTree(t)
  const { url } = await startServer(t, tree.root)
  const response = await fetch(`${url}/%zz`)
  t.match(
    { status: response.status, body: (await response.json()) as object },
    { status: 400, body: { status: 'error', error_code: 'INVALID_REQUEST' } }
  )
})

t.test('a link with ".." behind another link leads where the system says', async (t) => {
  const tree = makeTree(t, { x: 'lexical', 'a/x': 'kernel', 'a/b/y': '' })
  symlinkSync(tree.path('a/b'), tree.path('inner'))
  symlinkSync(`${tree.root}/inner/../x`, tree.path('absolute'))
  symlinkSync('inner/../x', tree.path('relative'))
  const { url } = await startServer(t, tree.root)
  const client = await connect(t, 'rest', url)
  for (const path of ['absolute', 'relative'])
    t.match(await client.call('async_read', { path }), { content: tree.read(path) }, path)
})

t.test('paths too long for one call to the system are listed all the same', async (t) => {
  const tree = makeTree(t)
  const name = 'n'.repeat(240)
  let parent = tree.root
  for (let depth = 0; depth < 14; depth += 1) mkdirSync((parent = `${parent}/${name}`))
  execFileSync('bash', ['-c', `cd "$1" && for i in 1 2 3 4 5 6; do mkdir ${name} && cd ${name}; done`, '-', parent])
  const { url } = await startServer(t, tree.root)
  const client = await connect(t, 'rest', url)
  const answer = await client.call('async_list', { path: '.', recursive: true })
  t.equal(answer['total_entries'], 20)
  t.equal((answer['entries'] as unknown[]).length, 20)
  // Node's own removal gives the system whole paths.
  execFileSync('rm', ['-rf', tree.path(name)])
})

t.test('a root that is gone is said to be gone', async (t) => {
  const tree = makeTree(t, { 'root/f': 'one' })
  const { url } = await startServer(t, tree.path('root'))
  const client = await connect(t, 'rest', url)
  renameSync(tree.path('root'), tree.path('moved'))
  t.match(await client.call('async_read', { path: 'f' }), { error_code: 'DIR_NOT_FOUND', message: /root .* is gone/ })
  renameSync(tree.path('moved'), tree.path('root'))
  t.match(await client.call('async_read', { path: 'f' }), { content: 'one' })
})

t.test('what is remembered of many small versions takes no more memory than is counted', async (t) => {
  const tree = makeTree(t, { f: '' })
  const { url, app } = await startServer(t, tree.root)
  const client = await connect(t, 'rest', url)
  await client.call('async_append', { path: 'f', content: 'small' })
  const bytes = await app.bases.get(hashOf('small'))
  t.equal(bytes?.buffer.byteLength, 5)
})
