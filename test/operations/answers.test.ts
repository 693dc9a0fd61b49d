// What callers are told, over every door: contention of what is no text, nulls, malformed items, tokens, tools that are none.
import t from 'tap'

import { hashOf } from '../fixtures/tree.ts'
import { openWorld } from '../leases/fixtures/doors.ts'

const world = await openWorld(t)
const { tree } = world
const ann = await world.enter('rest', 'ann')

const text = 'one\ntwo\n'
const binary = Buffer.from([0x89, 0x50, 0xff, 0x00, 0x0a])

/** A file whose earlier version the server knows. */
async function replaceOutside(path: string, before: string | Buffer, after: string | Buffer): Promise<string> {
  tree.write(path, before)
  await ann.call('async_status', { path })
  tree.write(path, after)
  return hashOf(before)
}

/** Every operation that takes the version it is meant for: its input, and what its message advises. */
const versioned: [name: string, input: object, advice: RegExp][] = [
  ['async_update', { path: 'f', content: 'x' }, /current_hash/],
  ['async_update', { path: 'f', content: 'x', on_contention: 'merge' }, /current_hash/],
  ['async_update', { path: 'f', patches: [{ old_string: 'one', new_string: '1' }] }, /current_hash/],
  ['async_append', { path: 'f', content: 'x' }, /append.*current_hash/],
  ['async_append', { path: 'f', content: 'x', on_contention: 'merge' }, /append.*current_hash/],
  ['async_delete', { path: 'f' }, /delete.*current_hash/],
  ['async_rename', { old_path: 'f', new_path: 'g' }, /rename.*current_hash/],
  ['async_restore', { path: 'f', hash: hashOf('kept') }, /restore.*current_hash/],
  ['edit_file', { name: 'f', append: 'x' }, /read_file.*current_hash/],
  ['edit_file', { name: 'f', append: 'x', on_contention: 'merge' }, /read_file.*current_hash/]
]

t.test('a stale expected_hash is contention, whatever the bytes before and now are', async (t) => {
  await replaceOutside('f', 'kept', text)
  for (const [before, after, known] of [
    [text, binary, true],
    [binary, text, true],
    [binary, Buffer.concat([binary, binary]), true],
    [undefined, binary, false]
  ] as const) {
    const expected_hash =
      before === undefined ? (tree.write('f', after), hashOf('never')) : await replaceOutside('f', before, after)
    for (const [name, input, advice] of versioned) {
      const title = `${name} ${JSON.stringify(input)} from ${before?.length} to ${after.length} bytes`
      const answer = await ann.call(name, { ...input, expected_hash })
      t.match(
        answer,
        { status: 'contention', expected_hash, current_hash: hashOf(after), base_known: known, diff: null },
        title
      )
      t.match(answer.message, advice, title)
    }
    t.ok(tree.bytes('f').equals(Buffer.from(after)), 'nothing was changed')
  }
})

t.test('with the current_hash of such an answer the same call is carried out', async (t) => {
  const expected_hash = await replaceOutside('f', text, binary)
  const late = await ann.call('async_rename', { old_path: 'f', new_path: 'g', expected_hash })
  t.match(await ann.call('async_rename', { old_path: 'f', new_path: 'g', expected_hash: late.current_hash }), {
    status: 'ok'
  })
  const again = await ann.call('async_delete', { path: 'g', expected_hash })
  t.match(await ann.call('async_delete', { path: 'g', expected_hash: again.current_hash }), { status: 'ok' })
  t.notOk(tree.all().includes('g'))
})

t.test(
  'contention in another encoding than that of the file names it, and one that does not exist is an error',
  async (t) => {
    const expected_hash = await replaceOutside('f', 'caf\u00e9', Buffer.from('caf\u00e9s', 'latin1'))
    const input = { path: 'f', content: 'x', expected_hash }
    t.match(await ann.call('async_update', { ...input, encoding: 'ascii' }), {
      status: 'contention',
      diff: null,
      message: /ascii.*encoding/
    })
    for (const hash of [expected_hash, hashOf('never')])
      t.match(await ann.call('async_update', { ...input, expected_hash: hash, encoding: 'klingon' }), {
        error_code: 'ENCODING_ERROR',
        message: /klingon/
      })
  }
)
