// What earlier versions have noted of changes that a kill cut off: the next start, of this version, ends it as they would have.
import { linkSync, lstatSync } from 'node:fs'
import t, { type Test } from 'tap'
import { createCommits } from '../../../src/engine/commit/commits.ts'
import { fromEarlierIntent } from '../../../src/engine/commit/earlier-notes.ts'
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
const note = (tree: Tree, name: string, text: string) => tree.write(`.async-crud-mcp/${name}`, text)
const notesOf = (tree: Tree) => tree.own().filter((name) => name.endsWith('.json') || name.startsWith('settled-'))

for (const [end, verdict] of [
  ['', 'made'],
  ['.back', 'not-made']
] as const)
  t.test(`the record of a transaction that had ${end === '' ? 'begun' : 'failed'} is ended: ${verdict}`, async (t) => {
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
    const name = `transaction-${ofAnother}${end}.json`
    note(tree, name, JSON.stringify({ agentId: 'ann', operation: 'async_transaction', steps }))
    const commits = commitsOf(t, tree)
    const kept: string[] = []
    const [settled] = commits.settle((hash) => void kept.push(hash))
    t.equal(settled?.made?.agentId, verdict === 'made' ? 'ann' : undefined)
    t.strictSame(tree.all(), verdict === 'made' ? ['a'] : ['a', 'b'], 'and nothing is left of what was staged')
    t.equal(tree.read('a'), verdict === 'made' ? 'A\n' : 'a\n')
    t.strictSame(kept, [hashOf('a\n'), hashOf('b\n')], 'the bytes before are kept')
    t.strictSame(notesOf(tree), [`settled-${name}.${verdict}`])
    const intent = fromEarlierIntent({ kind: 'transaction', record: name })
    t.equal(intent && commits.judge(intent), verdict)
  })

t.test('of the folders that were noted, the empty ones are removed', async (t) => {
  const tree = makeTree(t, { 'new/theirs/f': 'x', [`new/empty/deep/${stagedName(1)}`]: 'staged' })
  const paths = ['new', 'new/empty', 'new/empty/deep', 'new/theirs', 'gone', 'gone/new'].map((path) => tree.path(path))
  note(tree, `unfinished-${ofAnother}.json`, JSON.stringify({ kind: 'folders', paths }))
  t.strictSame(settle(t, tree), [])
  t.strictSame(tree.all(), ['new', 'new/theirs', 'new/theirs/f'])
  t.strictSame(notesOf(tree), [])
})

t.test('a copy to another file system is finished if both files have the same bytes, else both stay', async (t) => {
  for (const target of ['text', 'other']) {
    const tree = makeTree(t, { from: 'text', to: target })
    const copy = { kind: 'copy', from: tree.path('from'), to: tree.path('to') }
    note(tree, `unfinished-${ofAnother}.json`, JSON.stringify(copy))
    settle(t, tree)
    t.strictSame(tree.all(), target === 'text' ? ['to'] : ['from', 'to'])
    t.equal(tree.read('to'), target)
  }
})

t.test('a note that was cut off is kept beside, and told', async (t) => {
  const tree = makeTree(t, { a: 'a' })
  note(tree, `transaction-${ofAnother}.json`, '{"agentId":"ann","operation":')
  t.match(settle(t, tree), [{ message: /cannot be read\. It is kept beside/ }])
  t.strictSame(notesOf(tree), [`settled-transaction-${ofAnother}.json.damaged`])
})

t.test('the intents of receipts are judged by the disk', async (t) => {
  const tree = makeTree(t, { a: 'a\n', [stagedName(1)]: 'A\n' })
  const { judge } = commitsOf(t, tree)
  const { dev, ino, birthtimeNs } = lstatSync(tree.path('a'), { bigint: true })
  const [node, other] = [`${dev + 7n}:${ino}:${birthtimeNs}`, '7:7:7']
  const verdictOf = (value: object) => {
    const intent = fromEarlierIntent(value as never)
    return intent && judge(intent)
  }
  const write = { kind: 'write', path: tree.path('a'), staged: 'gone', node, before: hashOf(''), after: hashOf('a\n') }
  t.equal(verdictOf(write), 'made')
  t.equal(verdictOf({ ...write, staged: stagedName(1) }), 'not-made')
  t.equal(verdictOf({ ...write, path: tree.path('none'), before: null }), 'not-made')
  t.equal(verdictOf({ kind: 'delete', path: tree.path('a'), node }), 'not-made')
  t.equal(verdictOf({ kind: 'delete', path: tree.path('a'), node: other }), 'unclear')
  t.equal(verdictOf({ kind: 'delete', path: tree.path('none'), node }), 'made')
  const rename = { kind: 'rename', from: tree.path('none'), to: tree.path('a'), node }
  t.equal(verdictOf(rename), 'made')
  t.equal(verdictOf({ ...rename, node: other }), 'made', 'copied to another file system')
  t.equal(verdictOf({ ...rename, from: tree.path('a'), to: tree.path('none') }), 'not-made')
  t.equal(verdictOf({ ...rename, from: tree.path('a'), to: tree.path(stagedName(1)) }), 'not-made')
  t.equal(verdictOf({ ...rename, to: tree.path('none-too') }), 'unclear')
  for (const broken of [{ ...rename, to: 7 }, { ...write, staged: '../a' }, { kind: 'other' }, {}])
    t.equal(fromEarlierIntent(broken as never), undefined)
})
