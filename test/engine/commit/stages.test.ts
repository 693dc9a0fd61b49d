// Changes of a host that has lost the tree, at the moment of each of their steps: the file system refuses them, and the next host ends them.
import { cpSync, existsSync, readdirSync, renameSync, writeFileSync } from 'node:fs'
import t, { type Test } from 'tap'
import { createCommits } from '../../../src/engine/commit/commits.ts'
import { createFileStore } from '../../../src/engine/files/file-store.ts'
import type { Stages } from '../../../src/engine/commit/stages.ts'
import type { Step } from '../../../src/engine/commit/step.ts'
import type { FileVersion } from '../../../src/engine/files/read-file.ts'
import { judge, nodeOf } from '../../../src/engine/commit/intent.ts'
import { servedDirectory } from '../../../src/tree/state/served-directory.ts'
import { hooksOf, stepTo } from '../../fixtures/steps.ts'
import { makeTree, type Tree } from '../../fixtures/tree.ts'

const before = { 'a.txt': 'a\n', 'b.txt': 'b\n', 'gone.txt': 'gone\n' }
const after = { 'a.txt': 'A\n', 'b.txt': 'B\n', 'new.txt': 'new\n' }

function hostOf(t: Test, { root }: Tree) {
  const store = createFileStore({
    roots: [root],
    maxFileBytes: 1_000_000,
    maxSyncBytes: 65_536,
    hardlinks: 'replace',
    protectedPaths: []
  })
  const commits = createCommits(store, {
    maxFileBytes: 1_000_000,
    maxSyncBytes: 65_536,
    durability: 'full',
    openOwnFolder: servedDirectory,
    isStaged: true
  })
  t.teardown(() => {
    commits.close()
    store.close()
  })
  return { ...store, ...commits, stages: commits.stages as Stages }
}

type Host = ReturnType<typeof hostOf>

async function versionOf(host: Host, path: string): Promise<[Step['place'], FileVersion]> {
  const place = host.open(path, 'entry')
  return [place, await host.read(place, path)]
}

/** Two files get other bytes, one is made, one goes. @param onCheck called right before the record, and right before the changes */
async function transact(host: Host, tree: Tree, onCheck: (time: number) => void): Promise<void> {
  const changes: Step[] = []
  for (const name of ['a.txt', 'b.txt'] as const) {
    const [place, version] = await versionOf(host, tree.path(name))
    changes.push(stepTo(place, name, version, after[name]))
  }
  changes.push(stepTo(host.open(tree.path('new.txt'), 'entry'), 'new.txt', undefined, after['new.txt']))
  const [gone, version] = await versionOf(host, tree.path('gone.txt'))
  changes.push(stepTo(gone, 'gone.txt', version, undefined))
  let time = 0
  await host.commit(
    changes,
    hooksOf(() => onCheck((time += 1)))
  )
}

const contentOf = (tree: Tree) => Object.fromEntries(tree.all().map((name) => [name, tree.read(name)]))

function assertSwept(t: Test, { stages }: Host, tree: Tree): void {
  t.strictSame(readdirSync(stages.of(tree.root).at('.')), [], 'nothing is left in the stage')
}

/** In the tests both hosts are of one process, whose own records are not looked for: they get the name of another. */
function settleAsOther(tree: Tree, next: Host) {
  const own = tree.path('.async-crud-mcp')
  for (const record of readdirSync(own).filter((name) => name.startsWith('transaction-')))
    renameSync(`${own}/${record}`, `${own}/${record.replace(/-\d+-/, '-1-')}`)
  return next.settleTransactions(() => {})
}

t.test('a transaction of a host that has the tree is made through the stage', async (t) => {
  const tree = makeTree(t, before)
  const host = hostOf(t, tree)
  host.stages.take(1)
  await transact(host, tree, () => {})
  t.strictSame(contentOf(tree), after)
  assertSwept(t, host, tree)
})

t.test('a host that has lost the tree begins no transaction', async (t) => {
  const tree = makeTree(t, before)
  const [late, next] = [hostOf(t, tree), hostOf(t, tree)]
  late.stages.take(1)
  const takeOver = (time: number) => {
    if (time !== 1) return
    next.stages.take(2)
    t.strictSame(
      next.settleTransactions(() => {}),
      []
    )
  }
  await t.rejects(transact(late, tree, takeOver), { code: 'OVERLOADED', message: /Another host has taken over/ })
  t.strictSame(contentOf(tree), before)
})

t.test('a transaction whose record is in place is the next host to end, and the late one adds nothing', async (t) => {
  const tree = makeTree(t, before)
  const [late, next] = [hostOf(t, tree), hostOf(t, tree)]
  late.stages.take(1)
  const takeOver = (time: number) => {
    if (time !== 2) return
    next.stages.take(2)
    t.strictSame(contentOf(tree), before)
  }
  await t.rejects(transact(late, tree, takeOver), { code: 'AUTHORITY_LOST', message: /all of its changes, or none/ })
  t.strictSame(contentOf(tree), before, 'until the next host ends it')
  t.match(settleAsOther(tree, next), [{ isMade: true }])
  t.strictSame(contentOf(tree), after)
})

t.test('a write, a creation, a delete and a rename of a host that has lost the tree change nothing', async (t) => {
  const tree = makeTree(t, before)
  const late = hostOf(t, tree)
  const files = { a: await versionOf(late, tree.path('a.txt')), gone: await versionOf(late, tree.path('gone.txt')) }
  let epoch = 0
  const lose = () => {
    const next = hostOf(t, tree)
    next.stages.take((epoch += 1))
  }
  const refused = { code: 'OVERLOADED', message: /Another host has taken over/ }
  const free = () => late.open(tree.path('new.txt'), 'entry')
  const changes: (() => Step[])[] = [
    () => [stepTo(files.a[0], 'a.txt', files.a[1], 'late')],
    () => [stepTo(free(), 'new.txt', undefined, 'late')],
    () => [stepTo(files.gone[0], 'gone.txt', files.gone[1], undefined)],
    () => [
      stepTo(files.gone[0], 'gone.txt', files.gone[1], undefined),
      {
        ...stepTo(free(), 'new.txt', undefined, undefined),
        after: { kind: 'moved', from: files.gone[0], version: files.gone[1] }
      }
    ]
  ]
  for (const change of changes) {
    late.stages.take((epoch += 1))
    await t.rejects(late.commit(change(), hooksOf(lose)), refused)
    t.strictSame(contentOf(tree), before)
  }
  t.notOk(existsSync(tree.path('new.txt')))
})

t.test('the next host knows what was made, though its number for the device is another one', async (t) => {
  const tree = makeTree(t, before)
  const late = hostOf(t, tree)
  late.stages.take(1)
  const { stat } = late.open(tree.path('a.txt'), 'entry')
  if (stat === undefined) throw new Error('a.txt is missing')
  const elsewhere = { dev: stat.dev + 7n, ino: stat.ino, birthtimeNs: stat.birthtimeNs }
  const node = nodeOf(Object.assign(Object.create(stat), elsewhere))
  const write = { kind: 'write', path: tree.path('a.txt'), node, before: 'old', after: 'new' } as const
  writeFileSync(late.stages.of(tree.root).at('left'), '')
  const next = hostOf(t, tree)
  next.stages.take(2)
  next.settleTransactions(() => {})
  t.equal(judge({ ...write, staged: 'other' }, next), 'made')
  t.equal(judge({ kind: 'delete', path: tree.path('a.txt'), node }, next), 'not-made')
  const other = { ...write, node: '7:7:7' }
  t.equal(judge({ ...other, staged: 'left' }, next), 'not-made', 'though another program has changed the file since')
  t.equal(judge({ ...other, staged: 'other' }, next), 'made')
})

t.test('the next host ends a transaction where it has the volume, though that is another path', async (t) => {
  const [tree, elsewhere] = [makeTree(t, before), makeTree(t)]
  const late = hostOf(t, tree)
  late.stages.take(1)
  await transact(late, tree, (time) => {
    if (time === 2) cpSync(tree.root, elsewhere.root, { recursive: true })
  })
  t.strictSame(contentOf(elsewhere), before)
  const next = hostOf(t, elsewhere)
  next.stages.take(2)
  t.match(settleAsOther(elsewhere, next), [{ isMade: true }])
  t.strictSame(contentOf(elsewhere), after)
  assertSwept(t, next, elsewhere)
})
