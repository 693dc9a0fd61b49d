// Undo: exactly the changes asked for are taken back, what others have built stays, and what collides is told.
import { execFileSync } from 'node:child_process'
import { chmodSync, mkdirSync, readlinkSync, renameSync, rmSync, statSync, symlinkSync } from 'node:fs'
import t, { type Test } from 'tap'
import { connect, type Answer, type TestClient } from '../../fixtures/clients.ts'
import { givenSeed, lengthOf } from '../../fixtures/length.ts'
import { createRandom } from '../../fixtures/random.ts'
import { startServer } from '../../fixtures/server.ts'
import { hashOf, makeTree, type Tree } from '../../fixtures/tree.ts'
import { until } from '../../fixtures/until.ts'
import type { PartialConfig } from '../../../src/config/config.ts'

t.setTimeout(3_600_000)
const seed = givenSeed ?? Math.floor(Math.random() * 2 ** 31)
const base = Array.from({ length: 20 }, (_, index) => `line ${index + 1}\n`).join('')

interface Scene {
  readonly tree: Tree
  readonly as: (agent: string) => TestClient
}

async function scene(
  t: Test,
  files: Record<string, string> = { f: base, g: 'g\n' },
  config: PartialConfig = {}
): Promise<Scene> {
  const tree = makeTree(t, files)
  const { url } = await startServer(t, tree.root, { ...config, crud: { durability: 'rename', ...config.crud } })
  const clients = new Map<string, TestClient>()
  for (const name of ['ann', 'bob', 'cid', 'dan', 'operator']) clients.set(name, await connect(t, 'rest', url, name))
  return { tree, as: (agent) => clients.get(agent) as TestClient }
}

async function edit(
  client: TestClient,
  path: string,
  old_string: string,
  new_string: string,
  more = {}
): Promise<void> {
  const { hash } = await client.call('async_read', { path, limit: 0 })
  const patches = [{ old_string, new_string }]
  const answer = await client.call('async_update', { path, expected_hash: hash, patches, ...more })
  if (answer['status'] !== 'ok') throw new Error(JSON.stringify(answer))
}

const undo = (client: TestClient, input: object): Promise<Answer> => client.call('async_undo', input)

t.test("the work of one agent is taken back, the others' stays, and the undo can be undone", async (t) => {
  const { tree, as } = await scene(t)
  const [ann, bob, operator] = [as('ann'), as('bob'), as('operator')]
  await edit(ann, 'f', 'line 3\n', 'ann 3\n')
  await edit(bob, 'f', 'line 9\n', 'bob 9\n')
  await edit(ann, 'f', 'line 15\n', 'ann 15\n')
  chmodSync(tree.path('g'), 0o751)
  await ann.call('async_read', { path: 'g' })
  await ann.call('async_delete', { path: 'g' })
  await ann.call('async_write', { path: 'new/n', content: 'n\n' })
  const now = tree.read('f')
  const dry = await undo(operator, { by_agent: 'ann', dry_run: true })
  t.match(dry, { status: 'ok', dry_run: true, undone: 4, conflicts: [] })
  t.match(JSON.stringify(dry['files']), /ann 15/, 'a dry run shows the diffs')
  t.equal(tree.read('f'), now)
  const answer = await undo(operator, { by_agent: 'ann' })
  t.match(answer, { status: 'ok', undone: 4, conflicts: [] })
  t.equal(tree.read('f'), base.replace('line 9\n', 'bob 9\n'))
  t.same(
    [tree.read('g'), statSync(tree.path('g')).mode & 0o777],
    ['g\n', 0o751],
    'a deleted file is back with its mode'
  )
  t.notOk(tree.all().includes('new/n'), 'a file that it created is gone')
  const redo = await undo(operator, { of_change_set: answer['change_set'] })
  t.match(redo, { status: 'ok', undone: 3 })
  t.equal(tree.read('f'), now, 'redo gives the first state back byte for byte')
  t.same([tree.all().includes('g'), tree.read('new/n')], [false, 'n\n'])
})

t.test('what is taken back already is in the way of nothing, until it is given back', async (t) => {
  const { tree, as } = await scene(t, undefined, { persistence: { enabled: true } })
  const [ann, bob, operator] = [as('ann'), as('bob'), as('operator')]
  await edit(ann, 'f', 'line 9\n', 'first 9\n', { change_set: 'first' })
  await edit(bob, 'f', 'line 2\n', 'bob 2\n')
  await edit(ann, 'f', 'first 9\n', 'second 9\n', { change_set: 'second' })
  const others = base.replace('line 2\n', 'bob 2\n')
  const first = others.replace('line 9\n', 'first 9\n')
  const second = others.replace('line 9\n', 'second 9\n')
  const taken = await undo(operator, { by_agent: 'ann' })
  t.match(taken, { status: 'ok', undone: 2 })
  t.equal(tree.read('f'), others)
  for (const again of [{ by_agent: 'ann' }, { of_change_set: 'second' }, { of_change_set: 'first' }])
    t.match(await undo(operator, again), { status: 'ok', undone: 0, conflicts: [], message: /taken back already/ })
  t.equal(tree.read('f'), others)
  const redone = await undo(operator, { of_change_set: taken['change_set'] })
  t.match(redone, { status: 'ok', undone: 1 })
  t.equal(tree.read('f'), second)
  t.match(await undo(operator, { of_change_set: 'first' }), {
    status: 'contention',
    conflicts: [{ reason: 'overlap' }]
  })
  t.match(await undo(operator, { of_change_set: 'second' }), { status: 'ok', undone: 1 })
  t.equal(tree.read('f'), first)
  t.match(await undo(operator, { by_agent: 'ann' }), { status: 'ok', undone: 1 }, 'the rest of them')
  t.equal(tree.read('f'), others)
  t.match(await undo(operator, { by_agent: 'ann' }), { status: 'ok', undone: 0, conflicts: [] })
  t.match(await undo(operator, { by_agent: 'an' }), { undone: 0, message: /Did you mean "ann"\?/ })
  await edit(ann, 'f', 'line 9\n', 'third 9\n')
  t.match(await undo(operator, { by_agent: 'ann' }), { status: 'ok', undone: 1 }, 'what was made since')
  t.equal(tree.read('f'), others)
  await edit(ann, 'f', 'line 9\n', 'fourth 9\n')
  await edit(bob, 'f', 'fourth 9\n', 'bob 9\n')
  t.match(await undo(operator, { by_agent: 'ann' }), { status: 'contention', conflicts: [{ reason: 'overlap' }] })
})

t.test('what another has made again is its own, once an undo has taken it back', async (t) => {
  const { tree, as } = await scene(t)
  const [ann, bob, operator] = [as('ann'), as('bob'), as('operator')]
  await edit(ann, 'f', 'line 9\n', 'ann 9\n')
  await ann.call('async_write', { path: 'n', content: 'n\n' })
  const taken = await undo(operator, { by_agent: 'ann' })
  t.match(taken, { status: 'ok', undone: 2 })
  await edit(bob, 'f', 'line 9\n', 'ann 9\n')
  await bob.call('async_write', { path: 'n', content: 'n\n' })
  t.match(await undo(operator, { by_agent: 'ann' }), { status: 'ok', undone: 0, conflicts: [] })
  await edit(ann, 'f', 'line 2\n', 'ann 2\n')
  t.match(await undo(operator, { by_agent: 'ann' }), { status: 'ok', undone: 1, conflicts: [] })
  t.same([tree.read('f'), tree.read('n')], [base.replace('line 9\n', 'ann 9\n'), 'n\n'])
  t.match(await undo(operator, { by_agent: 'bob' }), { status: 'ok', undone: 2, conflicts: [] })
  t.same([tree.read('f'), tree.all().includes('n')], [base, false])
})

t.test('an agent that has taken its own changes back has nothing left, whatever others have made since', async (t) => {
  const { tree, as } = await scene(t)
  const [ann, bob] = [as('ann'), as('bob')]
  const own = { by_agent: 'ann' }
  await edit(ann, 'f', 'line 9\n', 'ann 9\n')
  await edit(bob, 'f', 'line 2\n', 'bob 2\n')
  await edit(ann, 'f', 'line 15\n', 'ann 15\n')
  t.match(await undo(ann, own), { status: 'ok', undone: 2 })
  await edit(bob, 'f', 'line 9\n', 'bob 9\n')
  const others = base.replace('line 2\n', 'bob 2\n').replace('line 9\n', 'bob 9\n')
  t.match(await undo(ann, own), { status: 'ok', undone: 0, conflicts: [], message: /taken back already/ })
  t.equal(tree.read('f'), others)
  await edit(bob, 'f', 'bob 9\n', 'line 9\n')
  const all = await undo(bob, { by_agent: 'bob' })
  t.match(all, { status: 'ok', conflicts: [] })
  t.equal(tree.read('f'), base)
  t.match(await undo(ann, own), { status: 'ok', undone: 0, conflicts: [] })
  t.match(await undo(bob, { of_change_set: all['change_set'] }), { status: 'ok', undone: 1 }, 'a redo')
  t.equal(tree.read('f'), base.replace('line 2\n', 'bob 2\n'))
})

t.test('an undo that has taken back more than is chosen is taken back itself', async (t) => {
  const { tree, as } = await scene(t)
  const [ann, bob] = [as('ann'), as('bob')]
  const task = { change_set: 'task' }
  await edit(ann, 'f', 'line 9\n', 'ann 9\n', task)
  await edit(bob, 'f', 'line 2\n', 'bob 2\n', task)
  t.match(await undo(ann, { of_change_set: 'task' }), { status: 'ok', undone: 2 })
  t.equal(tree.read('f'), base)
  t.match(await undo(bob, { by_agent: 'ann' }), { status: 'ok', undone: 2 })
  t.equal(tree.read('f'), base.replace('line 2\n', 'bob 2\n'))
})

t.test('what a program outside has made of many files is taken back in one call, all or none', async (t) => {
  const names = Array.from({ length: 500 }, (_, index) => `dir${index % 7}/f${index}`)
  const { tree, as } = await scene(
    t,
    Object.fromEntries(names.map((name) => [name, base.replace('line 1\n', `${name}\n`)]))
  )
  const [ann, operator] = [as('ann'), as('operator')]
  const git = (...args: string[]) =>
    execFileSync('git', ['-C', tree.root, '-c', 'user.name=n', '-c', 'user.email=e', ...args])
  git('init', '-q')
  git('add', '.')
  git('commit', '-qm', 'all')
  for (const name of names.slice(0, 240)) await edit(ann, name, 'line 5\n', 'ann 5\n')
  for (const name of names.slice(240, 480)) await ann.call('async_read', { path: name })
  for (let index = 0; index < 20; index += 1)
    await ann.call('async_write', { path: `new/n${index}`, content: `new ${index}\n` })
  const before = new Map([...names, 'new/n0', 'new/n19'].map((path) => [path, tree.read(path)]))
  git('reset', '-q', '--hard')
  git('clean', '-qfd')
  for (const name of names.slice(300, 320)) rmSync(tree.path(name))
  for (const name of names.slice(320, 340)) renameSync(tree.path(name), tree.path(`${name}.moved`))
  chmodSync(tree.path(names[0]!), 0o600)
  t.notMatch(tree.read(names[0]!), /ann/)
  t.match(await undo(operator, { by_agent: 'ann', dry_run: true }), { status: 'ok' }, 'others are taken back as before')
  const dry = await undo(operator, { by_agent: 'external', dry_run: true })
  t.match(dry, { status: 'ok', conflicts: [], undone: 300 })
  await edit(operator, names[300 - 1]!, 'line 9\n', 'operator 9\n')
  const answer = await undo(operator, { by_agent: 'external' })
  t.match(answer, { status: 'ok', undone: 300, conflicts: [] })
  for (const [path, text] of before) if (path !== names[299]) t.equal(tree.read(path), text, path)
  t.equal(tree.read(names[299]!), before.get(names[299]!)!.replace('line 9\n', 'operator 9\n'), 'later work stays')
  t.match(await undo(operator, { of_change_set: answer['change_set'] }), { status: 'ok' })
  t.notOk(tree.all().includes('new/n0'), 'and it can be undone')
})

t.test('an undo of a time takes back changes from outside, too, that nobody has noticed yet', async (t) => {
  const { tree, as } = await scene(t, { f: base, g: 'g\n' }, { watcher: { enabled: false } })
  const [ann, operator] = [as('ann'), as('operator')]
  for (const path of ['f', 'g']) await ann.call('async_read', { path })
  await edit(ann, 'f', 'line 3\n', 'ann 3\n')
  const { timestamp } = await operator.call('async_status', {})
  // The clock of a file system may be some milliseconds late.
  await until(() => {
    tree.write('f', tree.read('f').replace(/(outside|line) 9\n/, 'outside 9\n'))
    return statSync(tree.path('f')).mtimeMs > Date.parse(String(timestamp))
  })
  rmSync(tree.path('g'))
  await edit(ann, 'f', 'line 15\n', 'ann 15\n')
  t.match(await undo(operator, { paths: ['*'], dry_run: true }), { undone: 2 }, 'they stay unless they are meant')
  t.match(await undo(operator, { since: timestamp, dry_run: true }), { status: 'ok', undone: 3 })
  t.match(await undo(operator, { by_agent: 'external', since: timestamp }), { status: 'ok', undone: 2 })
  t.equal(tree.read('f'), base.replace('line 3\n', 'ann 3\n').replace('line 15\n', 'ann 15\n'))
  t.equal(tree.read('g'), 'g\n')
})

t.test('an undo follows a rename, and takes one back', async (t) => {
  const { tree, as } = await scene(t)
  const [ann, bob, operator] = [as('ann'), as('bob'), as('operator')]
  await edit(ann, 'f', 'line 3\n', 'ann 3\n')
  await bob.call('async_rename', { old_path: 'f', new_path: 'moved/f' })
  await edit(bob, 'moved/f', 'line 9\n', 'bob 9\n')
  t.match(await undo(operator, { by_agent: 'ann' }), { status: 'ok', undone: 1, files: [{ path: 'moved/f' }] })
  t.equal(tree.read('moved/f'), base.replace('line 9\n', 'bob 9\n'))
  t.match(await undo(operator, { by_agent: 'bob' }), { status: 'ok', files: [{ path: 'moved/f', new_path: 'f' }] })
  t.equal(tree.read('f'), base)
  const swap = [
    { operation: 'rename', path: 'f', new_path: 'g' },
    { operation: 'rename', path: 'g', new_path: 'f' }
  ]
  t.match(await ann.call('async_transaction', { changes: swap, change_set: 'swap' }), { status: 'ok' })
  await edit(bob, 'g', 'line 1\n', 'bob 1\n')
  const back = await undo(operator, { of_change_set: 'swap' })
  t.match(back, { status: 'ok', undone: 2 })
  t.same([tree.read('g'), tree.read('f')], ['g\n', base.replace('line 1\n', 'bob 1\n')])
})

t.test('conflicts are told with all three sides, and nothing is written unless partial', async (t) => {
  const { tree, as } = await scene(t)
  const [ann, bob, operator] = [as('ann'), as('bob'), as('operator')]
  await edit(ann, 'f', 'line 3\n', 'ann 3\n')
  await edit(ann, 'g', 'g\n', 'ann g\n')
  await edit(bob, 'f', 'ann 3\n', 'bob on ann 3\n')
  await ann.call('async_write', { path: 'h', content: 'h\n' })
  await edit(bob, 'h', 'h\n', 'h\nbob\n')
  const before = tree.read('f')
  const answer = await undo(operator, { by_agent: 'ann' })
  t.match(answer, { status: 'contention', undone: 0, files: [] })
  t.match(
    answer['conflicts'].find(({ path }: { path: string }) => path === 'f'),
    {
      reason: 'overlap',
      hash: hashOf(base.replace('line 3\n', 'ann 3\n')),
      merge_conflicts: [
        { base: { content: 'ann 3' }, current: { content: 'bob on ann 3' }, incoming: { content: 'line 3' } }
      ]
    }
  )
  t.match(
    answer['conflicts'].find(({ path }: { path: string }) => path === 'h'),
    { reason: 'built_upon' }
  )
  t.same([tree.read('f'), tree.read('g')], [before, 'ann g\n'])
  t.match(await undo(operator, { by_agent: 'ann', partial: true }), { status: 'ok', undone: 1, files: [{ path: 'g' }] })
  t.same([tree.read('f'), tree.read('g')], [before, 'g\n'])
})

t.test('partial takes back each change that can be, also of several in a row', async (t) => {
  const { tree, as } = await scene(t)
  const [ann, bob, operator] = [as('ann'), as('bob'), as('operator')]
  await edit(ann, 'f', 'line 3\n', 'ann 3\n')
  await edit(ann, 'f', 'line 9\n', 'ann 9\n')
  await edit(bob, 'f', 'ann 3\n', 'bob on ann 3\n')
  t.match(await undo(operator, { by_agent: 'ann' }), { status: 'contention', undone: 0 })
  const asked = { by_agent: 'ann', partial: true }
  t.match(await undo(operator, asked), { status: 'ok', undone: 1, conflicts: [{ path: 'f', reason: 'overlap' }] })
  t.equal(tree.read('f'), base.replace('line 3\n', 'bob on ann 3\n'))
  t.match(await undo(operator, asked), { status: 'ok', undone: 0, message: /none of the changes can be taken back/ })
  await edit(bob, 'f', 'bob on ann 3\n', 'ann 3\n')
  t.match(await undo(operator, { by_agent: 'ann' }), { status: 'ok', undone: 1 }, 'the rest of them')
  t.equal(tree.read('f'), base)
})

t.test(
  'changes are chosen by task, time, path and version, and those from outside by name, time and version',
  async (t) => {
    const { tree, as } = await scene(t)
    const [ann, operator] = [as('ann'), as('operator')]
    await edit(ann, 'f', 'line 3\n', 'one\n', { change_set: 'task 1' })
    await edit(ann, 'f', 'line 9\n', 'two\n', { change_set: 'task 2' })
    await edit(ann, 'g', 'g\n', 'two g\n', { change_set: 'task 2' })
    t.match(await undo(operator, { of_change_set: 'task 2', paths: ['f'] }), { undone: 1, files: [{ path: 'f' }] })
    t.equal(tree.read('f'), base.replace('line 3\n', 'one\n'))
    t.match(await undo(operator, { by_agent: 'ann', until: '2020-01-01T00:00:00Z' }), { undone: 0, files: [] })
    tree.write('g', 'from outside\n')
    await ann.call('async_read', { path: 'g' })
    t.match(await undo(operator, { by_agent: 'external', dry_run: true }), { undone: 1 })
    t.match(await undo(operator, { paths: ['g'], dry_run: true }), { undone: 0 })
    const versions = [{ path: 'g', hash: hashOf('from outside\n') }]
    t.match(await undo(operator, { versions }), { undone: 1 })
    t.equal(tree.read('g'), 'two g\n')
    t.match(await undo(operator, {}), { error_code: 'INVALID_REQUEST' })
    const unknown = [{ path: 'g', hash: hashOf('never') }]
    t.match(await undo(operator, { versions: unknown }), { error_code: 'VERSION_NOT_KEPT' })
  }
)

t.test('what is in the way, or no longer kept, is told', async (t) => {
  const { tree, as } = await scene(t, { f: base, g: 'g\n' }, { crud: { max_file_versions: 2 } })
  const [ann, operator] = [as('ann'), as('operator')]
  await ann.call('async_read', { path: 'g' })
  await ann.call('async_delete', { path: 'g' })
  mkdirSync(tree.path('g'))
  t.match(await undo(operator, { by_agent: 'ann' }), {
    status: 'contention',
    conflicts: [{ path: 'g', reason: 'in_the_way' }]
  })
  rmSync(tree.path('g'), { recursive: true })
  t.match(await undo(operator, { by_agent: 'ann' }), { status: 'ok', undone: 1 })
  t.equal(tree.read('g'), 'g\n')
  for (const line of [1, 3, 5, 7]) await edit(ann, 'f', `line ${line}\n`, `ann ${line}\n`)
  const answer = await undo(operator, { by_agent: 'ann', paths: ['f'] })
  t.match(answer, { status: 'contention', conflicts: [{ reason: 'not_kept' }] })
  t.ok(answer['forgotten_before'], 'from when on all is known')
  t.ok((await operator.call('async_history', { path: 'f' }))['forgotten_before'])
})

t.test('an undo that would cross a file that is now a folder, or a folder that is now a file, is told', async (t) => {
  const { tree, as } = await scene(t, { f: base, g: 'g\n', 'deep/h': 'h\n', i: 'i\n' })
  const [ann, operator] = [as('ann'), as('operator')]
  await edit(ann, 'g', 'g\n', 'ann g\n')
  await ann.call('async_delete', { path: 'deep/h' })
  await ann.call('async_rename', { old_path: 'i', new_path: 'j' })
  await edit(ann, 'f', 'line 3\n', 'ann 3\n')
  rmSync(tree.path('g'))
  rmSync(tree.path('deep'), { recursive: true })
  tree.write('g/inside', 'x\n')
  tree.write('deep', 'a file\n')
  tree.write('i/inside', 'x\n')
  const answer = await undo(operator, { by_agent: 'ann' })
  t.match(answer, { status: 'contention', undone: 0 })
  const reasons = answer['conflicts'].map(({ path, reason }: Answer) => `${path} ${reason}`)
  t.same(
    reasons.sort(),
    ['deep/h in_the_way', 'i in_the_way'],
    'of g, which others have removed, there is nothing left'
  )
  t.match(tree.read('f'), 'ann 3')
  t.match(await undo(operator, { by_agent: 'ann', partial: true }), { status: 'ok', undone: 1, files: [{ path: 'f' }] })
  t.same([tree.read('f'), tree.read('deep'), tree.read('j'), tree.read('g/inside')], [base, 'a file\n', 'i\n', 'x\n'])
})

t.test('versions that are too old are not kept, and the answers say so', async (t) => {
  const { as } = await scene(t, { f: base }, { crud: { max_history_age_days: 0.3 / 86_400 } })
  const [ann, operator] = [as('ann'), as('operator')]
  for (const line of [3, 5]) await edit(ann, 'f', `line ${line}\n`, `ann ${line}\n`)
  const history = () => operator.call('async_history', { path: 'f' })
  await until(async () => (await history())['versions'].length === 1)
  const { forgotten_before, versions } = await history()
  t.ok(Date.parse(forgotten_before) <= Date.parse(versions[0].at))
  t.match(await operator.call('async_blame', { path: 'f' }), { forgotten_before })
  const answer = await undo(operator, { by_agent: 'ann' })
  t.match(answer, { status: 'contention', forgotten_before, conflicts: [{ path: 'f', reason: 'not_kept' }] })
})

t.test('a deleted link comes back as a link', async (t) => {
  const { tree, as } = await scene(t)
  symlinkSync('g', tree.path('link'))
  await as('ann').call('async_delete', { path: 'link' })
  t.match(await undo(as('operator'), { by_agent: 'ann' }), { status: 'ok', undone: 1 })
  t.equal(readlinkSync(tree.path('link')), 'g')
})

/** One edit of a generated history: replaces, removes or adds lines, each with a name of its own. */
interface Edit {
  readonly agent: string
  readonly file: string
  readonly kind: 'replace' | 'remove' | 'insert'
  /** A line that names its place. */
  readonly line: string
  readonly text: string
}

/** A line of the reference: what it is now, and what it were without the victim; null is gone, undefined a change of what the victim wrote. */
interface Line {
  now: string | null
  without: string | null | undefined
}

/** What the files were if the victim had done nothing. Undefined if another agent changed a line of the victim, and that line still stands. */
function replay(
  start: Record<string, string>,
  edits: readonly Edit[],
  victim: string
): Record<string, string> | undefined {
  const files = new Map(
    Object.entries(start).map(([name, text]) => {
      const lines: Line[] = text
        .split('\n')
        .slice(0, -1)
        .map((line) => ({ now: line, without: line }))
      return [name, lines]
    })
  )
  for (const { agent, file, kind, line, text } of edits) {
    const lines = files.get(file)!
    const at = lines.findIndex(({ now }) => now === line)
    const found = lines[at]!
    const isVictim = agent === victim
    if (kind === 'insert') lines.splice(at + 1, 0, { now: text, without: isVictim ? null : text })
    else {
      const next = kind === 'replace' ? text : null
      if (!isVictim) found.without = next === null || found.now === found.without ? next : undefined
      found.now = next
    }
  }
  if ([...files.values()].flat().some(({ without }) => without === undefined)) return undefined
  const left = (lines: readonly Line[]) =>
    lines.flatMap(({ without }) => (typeof without === 'string' ? [`${without}\n`] : []))
  return Object.fromEntries([...files].map(([name, lines]) => [name, left(lines).join('')]))
}

const histories = lengthOf({ long: 1000, full: 250, short: 4 })

t.test(
  `${histories} histories: undo of one agent is a replay of the others, or a told conflict (TEST_SEED=${seed})`,
  async (t) => {
    const random = createRandom(seed)
    const pick = <Item>(items: readonly Item[]): Item => items[Math.floor(random() * items.length)]!
    const { tree, as } = await scene(t, {}, { crud: { max_history_files: 100_000 } })
    const counts = { same: 0, told: 0 }
    for (let number = 0; number < histories; number += 1) {
      const folder = `h${number}`
      // Half of the histories have a part of each file for each agent, so that nothing overlaps.
      const isApart = random() < 0.5
      const names = ['ann', 'bob', 'cid', 'dan']
      const start: Record<string, string> = {}
      for (const file of ['one', 'two'])
        start[`${folder}/${file}`] = names
          .map((name) => Array.from({ length: 8 }, (_, at) => `${file} ${name} ${at}\n`).join(''))
          .join('')
      for (const [path, content] of Object.entries(start)) await as('operator').call('async_write', { path, content })
      const edits: Edit[] = []
      for (let step = 0; step < 12; step += 1) {
        const agent = pick(names)
        const file = `${folder}/${pick(['one', 'two'])}`
        const now = tree.read(file).split('\n').slice(0, -1)
        const own = isApart
          ? now.filter(
              (line, at) =>
                line.includes(` ${agent} `) &&
                now[at - 1]?.includes(` ${agent} `) &&
                now[at + 1]?.includes(` ${agent} `)
            )
          : now
        if (own.length === 0) continue
        const line = pick(own)
        const kind = pick(['replace', 'replace', 'insert', 'remove'] as const)
        const text = `new ${agent} ${number}.${step}`
        const edit: Edit = { agent, file, kind, line, text }
        const found = `${line}\n`
        const put = kind === 'replace' ? `${text}\n` : kind === 'remove' ? '' : `${found}${text}\n`
        const { hash } = await as(agent).call('async_read', { path: file, limit: 0 })
        const patches = [{ old_string: found, new_string: put }]
        const answer = await as(agent).call('async_update', {
          path: file,
          expected_hash: hash,
          patches,
          change_set: `${folder} ${agent}`
        })
        if (answer['status'] !== 'ok') throw new Error(JSON.stringify(answer))
        edits.push(edit)
      }
      const victim = pick(names)
      const files = Object.keys(start)
      const readAll = () => Object.fromEntries(files.map((name) => [name, tree.read(name)]))
      const before = readAll()
      const expected = replay(start, edits, victim)
      const answer = await undo(as('operator'), { by_agent: victim, paths: [`${folder}/**`] })
      if (answer['status'] === 'contention') {
        counts.told += 1
        t.notOk(isApart, `no conflict where nothing overlaps: ${JSON.stringify(answer['conflicts'])}`)
        t.same(readAll(), before)
        continue
      }
      counts.same += 1
      t.same(readAll(), expected, 'as if that agent had done nothing')
      if (answer['undone'] === 0) continue
      t.match(await undo(as('operator'), { of_change_set: answer['change_set'] }), { status: 'ok' })
      t.same(readAll(), before, 'redo gives the first state back')
    }
    t.comment(JSON.stringify(counts))
    t.ok(counts.same > 0)
  }
)
