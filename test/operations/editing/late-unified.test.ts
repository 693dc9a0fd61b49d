// A unified diff that comes too late: which of its hunks still apply.
import t from 'tap'
import { connect, type Answer } from '../../fixtures/clients.ts'
import { startServer } from '../../fixtures/server.ts'
import { makeTree } from '../../fixtures/tree.ts'

const lines = Array.from({ length: 30 }, (_, index) => `line ${index + 1}`)
const text = `${lines.join('\n')}\n`
const hunk = (line: number) =>
  `@@ -${line - 1},3 +${line - 1},3 @@\n line ${line - 1}\n-line ${line}\n+mine ${line}\n line ${line + 1}\n`

t.test('the contention says whether the diff still applies, and which hunks do', async (t) => {
  const tree = makeTree(t, { 'f.txt': text })
  const { url } = await startServer(t, tree.root)
  const [ann, bob] = [await connect(t, 'rest', url, 'ann'), await connect(t, 'rest', url, 'bob')]
  const { hash } = await ann.call('async_read', { path: 'f.txt' })
  const late = (unified_diff: string): Promise<Answer> =>
    ann.call('async_update', { path: 'f.txt', expected_hash: hash, unified_diff })
  const theirs = `new\n${text.replace('line 15\n', 'theirs\n')}`
  await bob.call('async_update', { path: 'f.txt', expected_hash: hash, content: theirs })

  const fits = await late(hunk(5) + hunk(25))
  t.match(fits, {
    status: 'contention',
    patches_applicable: true,
    conflicts: [],
    non_conflicting_patches: [0, 1],
    applicable_patches: [
      { patch_index: 0, start_line: 5, end_line: 7 },
      { patch_index: 1, start_line: 25, end_line: 27 }
    ],
    message: /All your hunks still apply: send them again with expected_hash set to current_hash/
  })
  const partly = await late(hunk(5) + hunk(15) + hunk(25))
  t.match(partly, {
    status: 'contention',
    patches_applicable: false,
    conflicts: [{ patch_index: 1, reason: 'not_found', base_start_line: 14, base_end_line: 16 }],
    non_conflicting_patches: [0, 2],
    message: /Adjust the hunks named in conflicts/
  })
  t.match(await late('no diff'), { status: 'contention', patches_applicable: false, non_conflicting_patches: [] })
  const again = { path: 'f.txt', expected_hash: fits['current_hash'], unified_diff: hunk(5) + hunk(25) }
  t.match(await ann.call('async_update', again), { status: 'ok' }, 'what was said to apply does')
  t.equal(tree.read('f.txt'), theirs.replace('line 5\n', 'mine 5\n').replace('line 25\n', 'mine 25\n'))
})
