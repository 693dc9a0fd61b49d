// Late changes that are merged, or not, as their callers see them over REST and MCP.
import { readFileSync, writeFileSync } from 'node:fs'
import t, { type Test } from 'tap'
import { lengthOf } from '../fixtures/length.ts'
import { connect, transports, type TestClient, type TransportName } from '../fixtures/clients.ts'
import { startServer } from '../fixtures/server.ts'
import { hashOf, makeTree, type Tree } from '../fixtures/tree.ts'
import type { PartialConfig } from '../../src/config/config.ts'

const base = Array.from({ length: 20 }, (_, index) => `line ${index + 1}\n`).join('')
const late = { path: 'f.txt', expected_hash: hashOf(base), on_contention: 'merge' }
const put = (text: string, line: number, word = `changed ${line}`) => text.replace(`line ${line}\n`, `${word}\n`)

interface Scene {
  readonly tree: Tree
  readonly ann: TestClient
  readonly bob: TestClient
}

/** Both have read f.txt; then bob changes line 5. */
async function scene(
  t: Test,
  {
    transport = 'rest',
    files = { 'f.txt': base },
    config = {}
  }: { transport?: TransportName; files?: Record<string, string>; config?: PartialConfig } = {}
): Promise<Scene> {
  const tree = makeTree(t, files)
  const { url } = await startServer(t, tree.root, config)
  const ann = await connect(t, transport, url, 'ann')
  const bob = await connect(t, 'rest', url, 'bob')
  for (const path of Object.keys(files)) await ann.call('async_read', { path })
  return { tree, ann, bob }
}

async function change(bob: TestClient, path: string, before: string, content: string): Promise<string> {
  const { hash, status } = await bob.call('async_update', { path, expected_hash: hashOf(before), content })
  if (status !== 'ok') throw new Error(`bob cannot change ${path}: ${status}`)
  return hash as string
}

for (const transport of transports) {
  t.test(
    `${transport}: a change that touches no other lands in one call, and tells what others had changed`,
    async (t) => {
      const { tree, ann, bob } = await scene(t, { transport })
      const others = put(base, 5)
      const previous_hash = await change(bob, 'f.txt', base, others)
      const answer = await ann.call('async_update', {
        ...late,
        patches: [{ old_string: 'line 15', new_string: 'mine' }]
      })
      t.match(answer, {
        status: 'ok',
        merged: true,
        changed: true,
        previous_hash,
        hash: hashOf(put(others, 15, 'mine')),
        modified_by: [{ agent_id: 'bob', operation: 'async_update' }],
        diff: { changes: [{ start_line: 5, end_line: 5, old_content: 'line 5', new_content: 'changed 5' }] }
      })
      t.equal(answer['modified_by'].length, 1, 'without the change itself')
      t.equal(answer['notices'], undefined, 'the diff has told it')
      t.equal(tree.read('f.txt'), put(others, 15, 'mine'))
    }
  )

  t.test(
    `${transport}: a change that touches another is contention, with the place in all three, and nothing is written`,
    async (t) => {
      const { tree, ann, bob } = await scene(t, { transport })
      const others = `first\n${put(base, 5)}`
      const current_hash = await change(bob, 'f.txt', base, others)
      t.match(await ann.call('async_update', { ...late, content: put(put(base, 6), 15) }), {
        status: 'contention',
        current_hash,
        base_known: true,
        message: /not merged: it conflicts at one place/,
        diff: { changes: [{ type: 'added' }, { start_line: 5 }] },
        merge_conflicts: [
          {
            reason: 'overlap',
            base: { start_line: 5, end_line: 6, content: 'line 5\nline 6\n' },
            current: { start_line: 6, end_line: 7, content: 'changed 5\nline 6\n' },
            incoming: { start_line: 5, end_line: 6, content: 'line 5\nchanged 6\n' }
          }
        ]
      })
      t.equal(tree.read('f.txt'), others)
    }
  )
}

t.test('without on_contention a late change is only reported', async (t) => {
  const { tree, ann, bob } = await scene(t)
  const others = put(base, 5)
  await change(bob, 'f.txt', base, others)
  for (const on_contention of [undefined, 'report']) {
    const answer = await ann.call('async_update', { ...late, on_contention, content: put(base, 15) })
    t.match(answer, { status: 'contention' })
    t.equal(answer['merge_conflicts'], undefined)
  }
  t.match(await ann.call('async_update', { ...late, on_contention: 'guess', content: '' }), {
    error_code: 'INVALID_REQUEST',
    message: /on_contention must be one of "report", "merge"/
  })
  t.equal(tree.read('f.txt'), others)
})

t.test('a change that is there already is ok, and nothing is written', async (t) => {
  const { ann, bob } = await scene(t)
  const hash = await change(bob, 'f.txt', base, put(base, 5))
  t.match(await ann.call('async_update', { ...late, content: put(base, 5) }), {
    status: 'ok',
    merged: true,
    changed: false,
    bytes_written: 0,
    hash,
    previous_hash: hash
  })
  t.match(await ann.call('async_update', { ...late, content: base }), { status: 'ok', changed: false, hash }, 'none')
})

t.test('the diff has the form and the bound that were asked for', async (t) => {
  const { ann, bob } = await scene(t, { config: { crud: { diff_max_bytes: 1024 } } })
  await change(bob, 'f.txt', base, put(base, 5))
  const unified = await ann.call('async_update', { ...late, content: put(base, 15), diff_format: 'unified' })
  t.match(unified, {
    status: 'ok',
    diff: { format: 'unified', content: /^--- expected\n\+\+\+ current\n@@ -2,7 \+2,7 @@\n/ }
  })
  const long = put(base, 5, 'x'.repeat(2_000))
  await bob.call('async_update', { path: 'f.txt', expected_hash: unified['hash'], content: long })
  t.match(await ann.call('async_update', { ...late, content: put(base, 10) }), {
    status: 'ok',
    merged: true,
    diff: { format: 'lines', lines: [{ start_line: 5, end_line: 5 }] }
  })
  const conflict = await ann.call('async_update', { ...late, content: put(base, 5, 'mine') })
  t.match(conflict, {
    status: 'contention',
    diff: { format: 'lines' },
    message: /merge_conflicts, whose contents are too large to send/
  })
  t.strictSame(conflict['merge_conflicts'][0].base, { start_line: 5, end_line: 5 })
})

t.test('a version that the server does not know cannot be merged', async (t) => {
  const { tree, ann } = await scene(t)
  const answer = await ann.call('async_update', { ...late, expected_hash: hashOf('never'), content: 'x' })
  t.match(answer, { status: 'contention', base_known: false, diff: null })
  t.equal(answer['merge_conflicts'], undefined)
  t.match(await ann.call('async_append', { ...late, expected_hash: hashOf('never'), content: 'x' }), {
    status: 'contention',
    base_known: false
  })
  t.equal(tree.read('f.txt'), base)
})

t.test('patches mean the version that was named, and fail if they do not apply there', async (t) => {
  const { tree, ann, bob } = await scene(t)
  await change(bob, 'f.txt', base, base.replace('line 5\n', 'line 5\nonly there\n'))
  const wrong = { ...late, patches: [{ old_string: 'only there', new_string: 'x' }] }
  t.match(await ann.call('async_update', wrong), { error_code: 'INVALID_PATCH', message: /does not occur/ })
  const lines = {
    ...late,
    patches: [{ start_line: 10, end_line: 11, new_content: 'ten', expected_lines: 'line 10\nline 11' }]
  }
  t.match(await ann.call('async_update', { ...lines, on_contention: 'report' }), {
    status: 'contention',
    patches_applicable: false,
    conflicts: [{ reason: 'lines_moved' }],
    applicable_patches: [{ patch_index: 0, start_line: 11, end_line: 12 }]
  })
  t.match(await ann.call('async_update', lines), { status: 'ok', merged: true })
  t.match(tree.read('f.txt'), 'only there\nline 6\nline 7\nline 8\nline 9\nten\nline 12\n')
})

t.test('of a contention answer, a patch by lines can be sent with its new numbers', async (t) => {
  const { tree, ann, bob } = await scene(t)
  await change(bob, 'f.txt', base, `zero\n${base}`)
  const patch = { start_line: 10, end_line: 10, new_content: 'ten', expected_lines: 'line 10' }
  const contention = await ann.call('async_update', { ...late, on_contention: 'report', patches: [patch] })
  const [{ start_line, end_line }] = contention['applicable_patches'] as [{ start_line: number; end_line: number }]
  const again = { ...late, expected_hash: contention['current_hash'] as string }
  t.match(await ann.call('async_update', { ...again, patches: [patch] }), {
    error_code: 'INVALID_PATCH',
    message: /line 10 is "line 9"/
  })
  t.match(await ann.call('async_update', { ...again, patches: [{ ...patch, start_line, end_line }] }), { status: 'ok' })
  t.equal(tree.read('f.txt'), `zero\n${put(base, 10, 'ten')}`)
})

t.test('patches by text and by lines do not go together, and a wrong one is told by its form', async (t) => {
  const { ann } = await scene(t)
  const fault = async (...patches: unknown[]) =>
    (await ann.call('async_update', { ...late, patches }))['message'] as string
  const [byText, byLines] = [
    { old_string: 'a', new_string: 'b' },
    { start_line: 1, end_line: 1, new_content: '' }
  ]
  t.match(await fault(byText, byLines), /both patches by text \(old_string\) and patches by lines \(start_line\)/)
  t.equal(await fault({ old_string: 'a' }), 'Invalid input for async_update: missing parameter "patches[0].new_string"')
  t.match(await fault({ start_line: 1, end_line: 1 }), /: missing parameter "patches\[0\].new_content"$/)
  t.match(
    await fault(byText, { ...byLines, end_lin: 2 }),
    /: unknown parameter "patches\[1\].end_lin"; did you mean "end_line"\?$/
  )
  t.match(await fault({ ...byLines, start_line: 0 }), /: patches\[0\].start_line must be >= 1, not 0$/)
  t.match(await fault('x'), /: patches\[0\] must be object, not string$/)
})

t.test('line ends are not mixed up', async (t) => {
  const { tree, ann, bob } = await scene(t)
  const crlf = base.replaceAll('\n', '\r\n')
  await change(bob, 'f.txt', base, crlf)
  t.match(await ann.call('async_update', { ...late, content: put(base, 5) }), { status: 'contention' })
  t.equal(tree.read('f.txt'), crlf)
})

const json = '{\n  "a": 1,\n  "b": 2,\n  "c": 3\n}\n'
const firstNew = json.replace('{\n', '{\n  "new": 1,\n')
const lastNew = json.replace('3\n', '3,\n  "new": 2\n')

t.test('JSON stays JSON, whatever the file is called and whichever way it is merged', async (t) => {
  const names = ['p.json', 'book.ipynb', 'q.txt', 'noname', '.babelrc', 'marked.geojson', 'commented.jsonc']
  const wrap = (path: string, text: string) =>
    path.startsWith('marked') ? `\uFEFF${text}` : path.endsWith('c') ? `// so\n${text}` : text
  const files = Object.fromEntries(names.map((path) => [path, wrap(path, json)]))
  const tree = makeTree(t, files)
  const { url } = await startServer(t, tree.root)
  const ann = await connect(t, 'rest', url, 'ann')
  const bob = await connect(t, 'rest', url, 'bob')
  const ways: Record<string, (path: string, expected_hash: string, content: string) => Promise<string>> = {
    async_update: async (path, expected_hash, content) => {
      const answer = await ann.call('async_update', { path, expected_hash, content, on_contention: 'merge' })
      return answer['merge_conflicts']?.[0].reason
    },
    async_batch_update: async (path, expected_hash, content) => {
      const input = { files: [{ path, expected_hash, content }], on_contention: 'merge' }
      const { results } = (await ann.call('async_batch_update', input)) as { results?: Answered[] }
      return reasonOf(results?.[0])
    },
    'async_batch_update, atomic': async (path, expected_hash, content) => {
      const input = { files: [{ path, expected_hash, content }], on_contention: 'merge', atomic: true }
      const { results } = (await ann.call('async_batch_update', input)) as { results?: Answered[] }
      return reasonOf(results?.[0])
    },
    async_transaction: async (path, expected_hash, content) => {
      const changes = [{ operation: 'update', path, expected_hash, content }]
      const answer = await ann.call('async_transaction', { changes, on_contention: 'merge' })
      return reasonOf((answer as { contentions?: Answered[] }).contentions?.[0])
    },
    PUT: async (path, expected_hash, content) => {
      const headers = { 'if-match': `"${expected_hash}"`, prefer: 'merge', 'x-agent-id': 'ann' }
      const answer = await fetch(`${url}/files/${path}`, { method: 'PUT', headers, body: content })
      return reasonOf((await answer.json()) as Answered)
    }
  }
  for (const path of names) {
    const texts = [json, firstNew, lastNew].map((text) => wrap(path, text))
    const [before, others, mine] = texts as [string, string, string]
    await bob.call('async_read', { path })
    await change(bob, path, before, others)
    for (const [way, merge] of Object.entries(ways)) {
      t.equal(await merge(path, hashOf(before), mine), 'invalid_json', `${way} of ${path}`)
      t.equal(tree.read(path), others, `${way} of ${path}: nothing is written`)
    }
  }
})

interface Answered {
  readonly merge_conflicts?: readonly { readonly reason: string }[]
}

function reasonOf(answer: Answered | undefined): string {
  return answer?.merge_conflicts?.[0]?.reason ?? JSON.stringify(answer)
}

t.test('an undo and two changes of one transaction leave JSON, too', async (t) => {
  const { tree, ann, bob } = await scene(t, { files: { undone: firstNew, 'both.ipynb': json } })
  await change(ann, 'undone', firstNew, json)
  await change(bob, 'undone', json, lastNew)
  t.match(await bob.call('async_undo', { by_agent: 'ann' }), {
    conflicts: [{ merge_conflicts: [{ reason: 'invalid_json' }] }]
  })
  t.equal(tree.read('undone'), lastNew)
  const update = { operation: 'update', path: 'both.ipynb', expected_hash: hashOf(json) }
  const changes = [
    { ...update, content: firstNew },
    { ...update, content: lastNew }
  ]
  t.match(await ann.call('async_transaction', { changes }), {
    error_code: 'INVALID_REQUEST',
    message: /changes\[0\] and changes\[1\] are both about both.ipynb: together they are no JSON/
  })
  t.equal(tree.read('both.ipynb'), json)
})

t.test('an edit from outside is merged with, too', async (t) => {
  const { tree, ann } = await scene(t)
  writeFileSync(tree.path('f.txt'), put(base, 3, 'by hand'))
  t.match(await ann.call('async_update', { ...late, content: put(base, 15) }), {
    status: 'ok',
    merged: true,
    modified_by: [{ agent_id: 'external' }]
  })
  t.equal(readFileSync(tree.path('f.txt'), 'utf8'), put(put(base, 3, 'by hand'), 15))
})

t.test('in a batch each file may say otherwise than the call', async (t) => {
  const names = ['a', 'b', 'c']
  const { tree, ann, bob } = await scene(t, { files: Object.fromEntries(names.map((name) => [name, base])) })
  for (const name of names) await change(bob, name, base, put(base, 5))
  const file = (path: string, line: number, more = {}) => ({
    path,
    expected_hash: hashOf(base),
    content: put(base, line),
    ...more
  })
  const files = [
    file('a', 15),
    file('b', 15, { on_contention: 'report' }),
    file('c', 5, { content: put(base, 5, 'c') })
  ]
  t.match(await ann.call('async_batch_update', { files, on_contention: 'merge' }), {
    results: [
      { status: 'ok', merged: true, diff: { summary: { regions_changed: 1 } } },
      { status: 'contention', merge_conflicts: undefined },
      { status: 'contention', merge_conflicts: [{ reason: 'overlap' }] }
    ],
    summary: { total: 3, succeeded: 1, contention: 2, failed: 0 }
  })
  t.match(await ann.call('async_batch_update', { files: [file('b', 15, { on_contention: 'merge' })] }), {
    results: [{ status: 'ok', merged: true }]
  })
  t.strictSame(
    names.map((name) => tree.read(name)),
    [put(put(base, 5), 15), put(put(base, 5), 15), put(base, 5)]
  )
})

t.test('an append contends only where it names a version, and is merged to the end that there is', async (t) => {
  const { tree, ann, bob } = await scene(t)
  const others = `${put(base, 20)}more\n`
  const current_hash = await change(bob, 'f.txt', base, others)
  const append = { path: 'f.txt', content: 'mine\n', expected_hash: hashOf(base) }
  t.match(await ann.call('async_append', append), { status: 'contention', current_hash, diff: { format: 'json' } })
  t.equal(tree.read('f.txt'), others)
  t.match(await ann.call('async_append', { ...append, on_contention: 'merge', diff_format: 'unified' }), {
    status: 'ok',
    merged: true,
    bytes_appended: 5,
    diff: { content: /-line 20\n\+changed 20\n\+more\n$/ },
    modified_by: [{ agent_id: 'bob' }]
  })
  const answer = await ann.call('async_append', { ...append, expected_hash: hashOf(`${others}mine\n`) })
  t.match(answer, { status: 'ok', merged: undefined })
  t.match(await ann.call('async_append', { path: 'f.txt', content: 'x\n' }), { status: 'ok', merged: undefined })
  t.equal(tree.read('f.txt'), `${others}mine\nmine\nx\n`)
  t.match(await ann.call('async_append', { ...append, path: 'gone', create_if_missing: true }), {
    error_code: 'FILE_NOT_FOUND',
    message: /expected_hash names a version/
  })
})

t.test('an append is not glued to a line that others have left open', async (t) => {
  const { tree, ann, bob } = await scene(t, { files: { 'f.txt': 'a\n' } })
  await change(bob, 'f.txt', 'a\n', 'a\nx')
  const append = { path: 'f.txt', expected_hash: hashOf('a\n'), on_contention: 'merge', content: 'mine\n' }
  t.match(await ann.call('async_append', append), { status: 'contention', current_hash: hashOf('a\nx') })
  t.equal(tree.read('f.txt'), 'a\nx')
})

t.test('who asks in another encoding than that of the file is told so', async (t) => {
  const { tree, ann } = await scene(t, { files: {} })
  writeFileSync(tree.path('l.txt'), Buffer.from([0xe4, 10]))
  const { hash } = await ann.call('async_read', { path: 'l.txt', encoding: 'latin1' })
  const update = { path: 'l.txt', expected_hash: hash, content: 'x' }
  for (const current of [Buffer.from([0xe4, 0xe4, 10]), 'plain\n']) {
    writeFileSync(tree.path('l.txt'), current)
    t.match(await ann.call('async_update', update), {
      status: 'contention',
      base_known: true,
      diff: null,
      message: /version you know is not text in utf-8/
    })
  }
})

t.test('edit_file means the lines of the version that it names, and answers as ever where it names none', async (t) => {
  const { tree, ann, bob } = await scene(t)
  const others = `zero\n${base}`
  const current_hash = await change(bob, 'f.txt', base, others)
  const edits = [{ line: 10, operation: 'replace', content: 'ten' }]
  const edit = { name: 'f.txt', edits, expected_hash: hashOf(base) }
  t.match(await ann.call('edit_file', edit), {
    status: 'contention',
    path: 'f.txt',
    current_hash,
    diff: { changes: [{}] }
  })
  const merged = put(others, 10, 'ten')
  t.match(await ann.call('edit_file', { ...edit, on_contention: 'merge' }), {
    success: true,
    lines_modified: 1,
    new_total_lines: 21,
    previous_hash: current_hash,
    hash: hashOf(merged),
    merged: true,
    diff: { changes: [{ type: 'added', new_content: 'zero' }] },
    modified_by: [{ agent_id: 'bob' }]
  })
  t.equal(tree.read('f.txt'), merged)
  t.match(await ann.call('edit_file', { ...edit, on_contention: 'merge', edits: [{ ...edits[0], content: '10' }] }), {
    status: 'contention',
    merge_conflicts: [{ base: { start_line: 10 }, current: { start_line: 11 } }]
  })
  t.match(await ann.call('edit_file', { ...edit, expected_hash: hashOf(merged) }), {
    success: true,
    hash: hashOf(merged.replace('line 9\n', 'ten\n')),
    merged: undefined
  })
  t.strictSame(await ann.call('edit_file', { name: 'f.txt', edits: [{ line: 1, operation: 'delete' }] }), {
    success: true,
    lines_modified: 1,
    file_created: false,
    new_total_lines: 20
  })
  t.match(await ann.call('edit_file', { ...edit, name: 'gone', create_if_missing: true }), {
    error: { code: -32001, message: /expected_hash names a version/ }
  })
})

t.test('a merge waits for leases of others, and lands on what they have made of the file', async (t) => {
  const { tree, ann, bob } = await scene(t)
  const lease = await bob.call('lock_try', { filepaths: ['f.txt'] })
  t.match(lease, { results: [{ acquired: true }] })
  t.match(await ann.call('async_update', { ...late, content: put(base, 15), timeout: 0 }), {
    error_code: 'LOCK_TIMEOUT'
  })
  const landing = ann.call('async_update', { ...late, content: put(base, 15) })
  await change(bob, 'f.txt', base, put(base, 5))
  await bob.call('lock_release', { filepaths: ['f.txt'] })
  t.match(await landing, { status: 'ok', merged: true })
  t.equal(tree.read('f.txt'), put(put(base, 5), 15))
  const token = 999_999
  t.match(await ann.call('async_update', { ...late, content: put(base, 10), fencing_token: token }), {
    error_code: 'LEASE_LOST'
  })
})

t.test('many agents with one base: every change lands in one call', async (t) => {
  const text = Array.from({ length: 200 }, (_, index) => `line ${index + 1}\n`).join('')
  const { tree, ann } = await scene(t, { files: { 'f.txt': text } })
  const expected_hash = hashOf(text)
  const lines = Array.from({ length: lengthOf({ full: 50, short: 25 }) }, (_, index) => index * 4 + 2)
  const answers = await Promise.all(
    lines.map((line) =>
      ann.call('async_update', {
        ...late,
        expected_hash,
        agent_id: `agent ${line}`,
        patches: [{ start_line: line, end_line: line, new_content: `agent ${line}\nwas here` }]
      })
    )
  )
  t.strictSame([...new Set(answers.map(({ status }) => status as string))], ['ok'])
  t.equal(
    tree.read('f.txt'),
    lines.reduce((all, line) => put(all, line, `agent ${line}\nwas here`), text)
  )
})

t.test('texts too unlike to compare in time are answered, not merged', async (t) => {
  const shuffled = (seed: number) =>
    Array.from({ length: 40_000 }, (_, index) => `line ${(Math.imul(index + seed, 48_271) >>> 8) % 9_001}\n`).join('')
  const [first, second, third] = [shuffled(1), shuffled(20_000), shuffled(33_333)]
  const config = { crud: { diff_timeout_ms: 200 } }
  const { tree, ann, bob } = await scene(t, { files: { 'f.txt': first }, config })
  await change(bob, 'f.txt', first, second)
  const answer = await ann.call('async_update', { ...late, expected_hash: hashOf(first), content: third })
  t.match(answer, { status: 'contention', merge_coarse: true, message: /^The versions are too different to compare/ })
  t.equal(tree.read('f.txt'), second)
})
