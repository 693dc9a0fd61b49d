// Modes of files and directories are respected, and told.
import { chmodSync } from 'node:fs'
import t from 'tap'
import { hashOf, makeTree } from '../../fixtures/tree.ts'
import { runUnprivileged } from '../../fixtures/unprivileged.ts'

const denied = { error_code: 'ACCESS_DENIED' }
const patches = [{ old_string: 'one', new_string: 'two' }]

t.test('a read-only file is not changed, and contention says that the patches would not apply', async (t) => {
  const tree = makeTree(t, { f: 'one\n' })
  const expected_hash = hashOf('one\n')
  const [read, appended, late, update, listed] = await runUnprivileged(tree, [
    { call: 'async_read', input: { path: 'f' } },
    { call: 'async_append', input: { path: 'f', content: 'x' } },
    { chmod: 'f', mode: 0o444 },
    { call: 'async_update', input: { path: 'f', expected_hash, patches } },
    { call: 'async_update', input: { path: 'f', expected_hash: hashOf('one\nx'), patches } },
    { call: 'list_files', input: {} }
  ])
  t.match([read, appended], [{ status: 'ok' }, { status: 'ok' }])
  t.match(late, { status: 'contention', base_known: true, patches_applicable: false })
  t.match(update, { ...denied, message: /read-only/ })
  t.match(listed, { files: [{ name: 'f', readable: true, writable: false, lines: 2 }] })
  t.equal(tree.read('f'), 'one\nx')
})

t.test('a directory that may not be written refuses changes', async (t) => {
  const tree = makeTree(t, { 'd/f': 'one', f: 'one' })
  const [inside, folder, edit] = await runUnprivileged(tree, [
    { chmod: 'd', mode: 0o555 },
    { call: 'async_update', input: { path: 'd/f', expected_hash: hashOf('one'), patches } },
    { chmod: '.', mode: 0o555 },
    { call: 'list_files', input: {} },
    { call: 'edit_file', input: { name: 'f', append: 'x' } },
    { chmod: '.', mode: 0o755 },
    { chmod: 'd', mode: 0o755 }
  ])
  t.match(inside, denied)
  t.match(folder, { files: [{ name: 'f', writable: false }] })
  t.match(edit, { error: { code: -32001, data: { details: /^ACCESS_DENIED/ } } })
  t.equal(tree.read('f'), 'one')
})

t.test(
  'a rename into a folder that may not be written names the new path, one out of such a folder the old',
  async (t) => {
    const tree = makeTree(t, { f: 'one', 'd/g': 'two' })
    const [into, from] = await runUnprivileged(tree, [
      { chmod: 'd', mode: 0o555 },
      { call: 'async_rename', input: { old_path: 'f', new_path: 'd/f' } },
      { call: 'async_rename', input: { old_path: 'd/g', new_path: 'g' } },
      { chmod: 'd', mode: 0o755 }
    ])
    t.match(into, { ...denied, path: 'd/f', message: /d\/f.*folder/ })
    t.match(from, { ...denied, path: 'd/g', message: /d\/g.*folder/ })
  }
)

t.test('what may not be read is listed as such, and its lines are not counted', async (t) => {
  const tree = makeTree(t, { closed: 'one', open: 'one' })
  const [listed, read, again, folder] = await runUnprivileged(tree, [
    { chmod: 'closed', mode: 0o200 },
    { call: 'list_files', input: {} },
    { call: 'read_file', input: { name: 'closed' } },
    { chmod: 'closed', mode: 0o600 },
    { call: 'list_files', input: {} },
    { chmod: '.', mode: 0o300 },
    { call: 'list_files', input: {} },
    { chmod: '.', mode: 0o700 }
  ])
  t.match(listed, {
    files: [
      { name: 'closed', readable: false, lines: -1 },
      { name: 'open', readable: true }
    ]
  })
  t.match(read, { error: { code: -32001 } })
  t.match(again, { files: [{ name: 'closed', readable: true, lines: 1 }, { name: 'open' }] })
  t.match(folder, { error: { code: -32001, message: /system denies/ } }, 'a folder that may not be read')
})

t.test('a root that cannot be written is refused at the start', async (t) => {
  const tree = makeTree(t, { f: '' })
  chmodSync(tree.root, 0o555)
  t.match(await runUnprivileged(tree, []), [{ start_error: /root cannot be read and written/ }])
  chmodSync(tree.root, 0o755)
})
