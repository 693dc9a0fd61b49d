// Changes of a host that has lost the tree, at the moment of each of their steps: the file system refuses them, and the next host ends them.
import {
  cpSync,
  existsSync,
  linkSync,
  lstatSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  writeFileSync
} from 'node:fs'
import t, { type Test } from 'tap'
import { createCommits } from '../../../src/engine/commit/commits.ts'
import { createFileStore } from '../../../src/engine/files/file-store.ts'
import type { Stages } from '../../../src/engine/commit/stages.ts'
import type { Step } from '../../../src/engine/commit/step.ts'
import type { FileVersion } from '../../../src/engine/files/read-file.ts'
import { nodeMark, type NotedStep } from '../../../src/engine/commit/note.ts'
import { servedDirectory } from '../../../src/tree/state/served-directory.ts'
import { hooksOf, stepTo } from '../../fixtures/steps.ts'
import { hashOf, makeTree, type Tree } from '../../fixtures/tree.ts'

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

/** Two files get other bytes, one is made, one goes. @param onCheck called right before the note, and right before the changes */
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

const notesOf = (tree: Tree) => tree.own().filter((name) => name.startsWith('change-'))

/** In the tests both hosts are of one process, whose own notes are not looked for: they get the name of another. */
function settleAsOther(tree: Tree, next: Host) {
  const own = tree.path('.async-crud-mcp')
  for (const note of notesOf(tree)) renameSync(`${own}/${note}`, `${own}/${note.replace(/-\d+-/, '-1-')}`)
  return next.settle(() => {})
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
      next.settle(() => {}),
      []
    )
  }
  await t.rejects(transact(late, tree, takeOver), { code: 'OVERLOADED', message: /Another host has taken over/ })
  t.strictSame(contentOf(tree), before)
})

t.test('a transaction whose note is in place is the next host to end, and the late one adds nothing', async (t) => {
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
  t.match(settleAsOther(tree, next), [{ made: { operation: 'test' } }])
  t.strictSame(contentOf(tree), after)
})

/** A file comes where a folder is, or the folder where the file is. @param onCheck as that of `transact` */
async function swap(host: Host, tree: Tree, onCheck: (time: number) => void): Promise<void> {
  const [top, below] = ['d', 'd/deep/x'].map((name) => host.open(tree.path(name), 'canonical')) as [
    Step['place'],
    Step['place']
  ]
  const isFolder = top.stat?.isDirectory() === true
  const whole = isFolder ? below : top
  const [other] = await versionOf(host, tree.path('other.txt'))
  const version = await host.read(whole, whole.path)
  const changes: Step[] = [
    stepTo(other, 'other.txt', await host.read(other, 'other.txt'), isFolder ? 'O\n' : 'o\n'),
    isFolder ? stepTo(below, 'd/deep/x', version, undefined) : stepTo(below, 'd/deep/x', undefined, 'x\n'),
    isFolder
      ? { ...stepTo(top, 'd', undefined, 'file\n'), before: { kind: 'folder' } }
      : stepTo(top, 'd', version, undefined)
  ]
  let time = 0
  await host.commit(
    changes,
    hooksOf(() => onCheck((time += 1)))
  )
}

const asFolder = { d: '', 'd/deep': '', 'd/deep/x': 'x\n', 'other.txt': 'o\n' }
const asFile = { d: 'file\n', 'other.txt': 'O\n' }
const lookAt = (tree: Tree) =>
  Object.fromEntries(tree.all().map((name) => [name, lstatSync(tree.path(name)).isFile() ? tree.read(name) : '']))

t.test('a folder and a file change places through the stage, and the next host ends it', async (t) => {
  const tree = makeTree(t, { 'd/deep/x': 'x\n', 'other.txt': 'o\n' })
  let host = hostOf(t, tree)
  let epoch = 1
  host.stages.take(epoch)
  for (const [here, there] of [
    [asFolder, asFile],
    [asFile, asFolder]
  ]) {
    await swap(host, tree, () => {})
    t.strictSame(lookAt(tree), there)
    assertSwept(t, host, tree)
    await swap(host, tree, () => {})
    t.strictSame(lookAt(tree), here)
    const next = hostOf(t, tree)
    const takeOver = (time: number) => {
      if (time === 2) next.stages.take((epoch += 1))
    }
    await t.rejects(swap(host, tree, takeOver), { code: 'AUTHORITY_LOST' })
    t.strictSame(lookAt(tree), here, 'until the next host ends it')
    t.match(settleAsOther(tree, next), [{ made: { operation: 'test' } }])
    t.strictSame(lookAt(tree), there)
    await next.stages.sweep()
    assertSwept(t, next, tree)
    host = next
  }
})

t.test('what has come to a folder right before it makes way stays, and nothing is changed', async (t) => {
  const tree = makeTree(t, { 'd/deep/x': 'x\n', 'other.txt': 'o\n' })
  const host = hostOf(t, tree)
  host.stages.take(1)
  const addOne = (time: number) => {
    if (time === 2) tree.write('d/deep/new', 'new\n')
  }
  await t.rejects(swap(host, tree, addOne), { message: /^created meanwhile: in / })
  t.strictSame(lookAt(tree), { ...asFolder, 'd/deep/new': 'new\n' })
  assertSwept(t, host, tree)
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

t.test('the next host knows what was made, by the disk', async (t) => {
  const tree = makeTree(t, before)
  const late = hostOf(t, tree)
  late.stages.take(1)
  const { stat } = late.open(tree.path('a.txt'), 'entry')
  if (stat === undefined) throw new Error('a.txt is missing')
  writeFileSync(late.stages.of(tree.root).at('left'), '')
  linkSync(tree.path('a.txt'), late.stages.of(tree.root).at('both'))
  const next = hostOf(t, tree)
  next.stages.take(2)
  next.settle(() => {})
  const [path, node, other] = [tree.path('a.txt'), nodeMark(stat), 'node:7:7']
  const write = { path, staged: 'other', backup: null, before: hashOf('old'), after: hashOf('a\n') }
  const judge = (...steps: NotedStep[]) => next.judge({ steps })
  t.equal(judge(write), 'made')
  t.equal(judge({ ...write, after: hashOf('new') }), 'made', 'and changed since by another program')
  t.equal(judge({ ...write, before: hashOf('a\n'), after: hashOf('new') }), 'not-made')
  t.equal(judge({ ...write, staged: 'left' }), 'not-made', 'though another program has written the same bytes')
  const changed = { ...write, staged: 'both', after: hashOf('new') }
  t.equal(judge(changed), 'made', 'a new file has both names for a moment')
  const remove = { path, staged: null, backup: null, before: node, after: null }
  t.equal(judge(remove), 'not-made')
  t.equal(judge({ ...remove, before: other }), 'unclear')
  t.equal(judge({ ...remove, path: tree.path('none') }), 'made')
  const rename = (from: string, to: string, moved: string) =>
    judge(
      { ...remove, path: tree.path(from), before: moved },
      { ...remove, path: tree.path(to), before: null, after: moved }
    )
  t.equal(rename('a.txt', 'none', node), 'not-made')
  t.equal(rename('a.txt', 'b.txt', node), 'not-made', 'though another program has made the target')
  t.equal(rename('none', 'a.txt', node), 'made')
  t.equal(rename('b.txt', 'a.txt', node), 'made', 'though another program has made the source anew')
  t.equal(rename('none', 'a.txt', other), 'made', 'and changed since')
  t.equal(rename('none', 'none-too', other), 'unclear')
  t.equal(rename('a.txt', 'b.txt', other), 'unclear')
  t.equal(next.judge({ note: 'change-1-a-0123456789abcdef.json' }), 'not-made', 'its note never came into its place')
})

/**
 * The host is lost between the two steps of a rename.
 * @param meanwhile called before the next host settles
 */
async function cutOff(t: Test, tree: Tree, [from, to]: readonly [string, string], meanwhile = () => {}) {
  const late = hostOf(t, tree)
  late.stages.take(1)
  const [place, version] = await versionOf(late, tree.path(from))
  const [, over] = existsSync(tree.path(to)) ? await versionOf(late, tree.path(to)) : []
  const steps: Step[] = [
    stepTo(place, from, version, undefined),
    {
      ...stepTo(late.open(tree.path(to), 'entry'), to, over, undefined),
      after: { kind: 'moved', from: place, version }
    }
  ]
  const cut = new Error('cut off')
  const checkOnce = hooksOf(() => {
    const [note] = notesOf(tree)
    if (note === undefined) return
    // Written by the late host, whose process the next one cannot tell from its own.
    const text = readFileSync(tree.path(`.async-crud-mcp/${note}`), 'utf8')
    writeFileSync(tree.path('.async-crud-mcp/change-1-a-0123456789abcdef.json'), text)
    const { steps: noted } = JSON.parse(text) as { steps: [NotedStep, NotedStep] }
    renameSync(tree.path(from), late.stages.of(tree.root).at(String(noted[1].staged)))
    throw cut
  })
  await t.rejects(late.commit(steps, checkOnce), cut)
  meanwhile()
  const next = hostOf(t, tree)
  next.stages.take(2)
  return { next, settle: () => next.settle(() => {}) }
}

t.test('the next host ends a rename that was cut off between its two steps', async (t) => {
  await t.test('forward, also over a file', async (t) => {
    for (const to of ['to.txt', 'b.txt']) {
      const tree = makeTree(t, before)
      const { next, settle } = await cutOff(t, tree, ['a.txt', to])
      t.match(settle(), [{ made: { steps: [{ renamedTo: tree.path(to) }, { renamedFrom: tree.path('a.txt') }] } }])
      await next.stages.sweep()
      t.equal(tree.read(to), 'a\n')
      t.notOk(existsSync(tree.path('a.txt')))
      t.strictSame(notesOf(tree), [])
      assertSwept(t, next, tree)
    }
  })
  await t.test('forward, though another program has made the source anew', async (t) => {
    const tree = makeTree(t, before)
    const { settle } = await cutOff(t, tree, ['a.txt', 'to.txt'], () => tree.write('a.txt', 'theirs'))
    t.match(settle(), [{ made: {} }])
    t.strictSame(contentOf(tree), { ...before, 'a.txt': 'theirs', 'to.txt': 'a\n' })
  })
  await t.test('back, if another program has made the target, or removed its folder', async (t) => {
    const tree = makeTree(t, before)
    const { settle } = await cutOff(t, tree, ['a.txt', 'to.txt'], () => tree.write('to.txt', 'theirs'))
    t.match(settle(), [{ made: undefined, message: /was taken back/ }])
    t.strictSame(contentOf(tree), { ...before, 'to.txt': 'theirs' })
    const other = makeTree(t, { ...before, 'deep/x.txt': 'x\n' })
    const late = await cutOff(t, other, ['a.txt', 'deep/a.txt'], () => rmSync(other.path('deep'), { recursive: true }))
    t.match(late.settle(), [{ made: undefined, message: /was taken back/ }])
    t.strictSame(contentOf(other), before)
  })
  await t.test('not yet, if another program has made both names: the file stays until one is free', async (t) => {
    const tree = makeTree(t, before)
    const { settle } = await cutOff(t, tree, ['a.txt', 'to.txt'], () => {
      for (const name of ['a.txt', 'to.txt']) tree.write(name, 'theirs')
    })
    for (const _ of [1, 2])
      t.match(settle(), [{ isLeft: true, message: /other files have taken its names: move .* to / }])
    rmSync(tree.path('to.txt'))
    t.match(settle(), [{ made: {} }])
    t.strictSame(contentOf(tree), { ...before, 'a.txt': 'theirs', 'to.txt': 'a\n' })
  })
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
  t.match(settleAsOther(elsewhere, next), [{ made: { operation: 'test' } }])
  await next.stages.sweep()
  t.strictSame(contentOf(elsewhere), after)
  assertSwept(t, next, elsewhere)
})
