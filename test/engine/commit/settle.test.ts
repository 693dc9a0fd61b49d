// What the notes of changes say that a kill has cut off: the next start ends these changes.
import { linkSync, lstatSync } from 'node:fs'
import t, { type Test } from 'tap'
import { createCommits } from '../../../src/engine/commit/commits.ts'
import { nodeMark, type Mark } from '../../../src/engine/commit/note.ts'
import { createFileStore } from '../../../src/engine/files/file-store.ts'
import { servedDirectory } from '../../../src/tree/state/served-directory.ts'
import { hashOf, makeTree, type Tree } from '../../fixtures/tree.ts'

const ofAnother = '4194999-a-0123456789abcdef'
const stagedName = (count: number) => `.async-crud-mcp-4194999-a-000000000000000${count}.tmp`

function commitsOf(t: Test, { root }: Tree) {
  const limits = { maxFileBytes: 1_000_000, maxSyncBytes: 65_536 }
  const store = createFileStore({ roots: [root], ...limits, hardlinks: 'replace', protectedPaths: [] })
  const commits = createCommits(store, { ...limits, durability: 'full', openOwnFolder: servedDirectory })
  t.teardown(() => {
    commits.close()
    store.close()
  })
  return commits
}

const settle = (t: Test, tree: Tree) => commitsOf(t, tree).settle(() => {})
const author = { agentId: 'ann', operation: 'async_transaction' }
const step = (path: string, staged: string | null, before: Mark, after: Mark) => ({
  path,
  staged,
  backup: null,
  before,
  after
})
const note = (tree: Tree, name: string, text: string) => tree.write(`.async-crud-mcp/${name}`, text)
const notesOf = (tree: Tree) => tree.own().filter((name) => name.endsWith('.json') || name.startsWith('settled-'))

for (const [end, verdict] of [
  ['', 'made'],
  ['.back', 'not-made']
] as const)
  t.test(`the note of a transaction that had ${end === '' ? 'begun' : 'failed'} is ended: ${verdict}`, async (t) => {
    const tree = makeTree(t, { a: 'a\n', b: 'b\n', [stagedName(1)]: 'A\n' })
    linkSync(tree.path('a'), tree.path(stagedName(2)))
    linkSync(tree.path('b'), tree.path(stagedName(3)))
    const steps = [
      {
        path: tree.path('a'),
        staged: stagedName(1),
        backup: stagedName(2),
        before: `node:${lstatSync(tree.path('a')).ino}`,
        after: hashOf('A\n')
      },
      { path: tree.path('b'), staged: null, backup: stagedName(3), before: hashOf('b\n'), after: null }
    ]
    const name = `change-${ofAnother}${end}.json`
    note(tree, name, JSON.stringify({ ...author, steps }))
    const commits = commitsOf(t, tree)
    const kept: string[] = []
    const [settled] = commits.settle((hash) => void kept.push(hash))
    t.equal(settled?.made?.agentId, verdict === 'made' ? 'ann' : undefined)
    t.strictSame(tree.all(), verdict === 'made' ? ['a'] : ['a', 'b'], 'and nothing is left of what was staged')
    t.equal(tree.read('a'), verdict === 'made' ? 'A\n' : 'a\n')
    t.strictSame(kept, [hashOf('a\n'), hashOf('b\n')], 'the bytes before are kept')
    t.strictSame(notesOf(tree), [`settled-${name}.${verdict}`])
    t.equal(commits.judge({ note: name }), verdict)
  })

t.test('of the folders that were noted, the empty ones are removed', async (t) => {
  const tree = makeTree(t, { 'new/theirs/f': 'x', [`new/empty/deep/${stagedName(1)}`]: 'staged' })
  const paths = ['new', 'new/empty', 'new/empty/deep', 'new/theirs', 'gone', 'gone/new'].map((path) => tree.path(path))
  note(tree, `change-${ofAnother}.json`, JSON.stringify({ ...author, steps: [], folders: paths }))
  t.strictSame(settle(t, tree), [])
  t.strictSame(tree.all(), ['new', 'new/theirs', 'new/theirs/f'])
  t.strictSame(notesOf(tree), [])
})

t.test('a copy to another file system is finished if both files have the same bytes, else both stay', async (t) => {
  for (const target of ['text', 'other']) {
    const tree = makeTree(t, { from: 'text', to: target })
    const steps = [
      step(tree.path('to'), null, null, hashOf('text')),
      step(tree.path('from'), null, hashOf('text'), null)
    ]
    note(tree, `change-${ofAnother}.json`, JSON.stringify({ ...author, steps }))
    settle(t, tree)
    t.strictSame(tree.all(), target === 'text' ? ['to'] : ['from', 'to'])
    t.equal(tree.read('to'), target)
  }
})

t.test('a note that was cut off is kept beside, and told', async (t) => {
  const tree = makeTree(t, { a: 'a' })
  note(tree, `change-${ofAnother}.json`, '{"agentId":"ann","operation":')
  t.match(settle(t, tree), [{ message: /cannot be read\. It is kept beside/ }])
  t.strictSame(notesOf(tree), [`settled-change-${ofAnother}.json.damaged`])
})

t.test('the intents of receipts are judged by the disk', async (t) => {
  const tree = makeTree(t, { a: 'a\n', [stagedName(1)]: 'A\n' })
  const { judge } = commitsOf(t, tree)
  const node = nodeMark(lstatSync(tree.path('a'), { bigint: true }))
  const other = nodeMark({ ino: 7n, birthtimeNs: 7n })
  const [a, none] = [tree.path('a'), tree.path('none')]
  const write = step(a, 'gone', hashOf(''), hashOf('a\n'))
  t.equal(judge({ steps: [write] }), 'made')
  t.equal(judge({ steps: [{ ...write, staged: stagedName(1) }] }), 'not-made')
  t.equal(judge({ steps: [{ ...write, path: none, before: null }] }), 'not-made')
  t.equal(judge({ steps: [step(a, null, node, null)] }), 'not-made')
  t.equal(judge({ steps: [step(a, null, other, null)] }), 'unclear')
  t.equal(judge({ steps: [step(none, null, node, null)] }), 'made')
  const rename = (from: string, to: string, moved = node) => ({
    steps: [step(from, null, moved, null), step(to, null, null, moved)]
  })
  t.equal(judge(rename(none, a)), 'made')
  t.equal(judge(rename(none, a, other)), 'made', 'copied to another file system')
  t.equal(judge(rename(a, none)), 'not-made')
  t.equal(judge(rename(a, tree.path(stagedName(1)))), 'not-made')
  t.equal(judge(rename(none, tree.path('none-too'))), 'unclear')
})
