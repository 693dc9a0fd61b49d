// What differs from HEAD, in real repositories: everything, or a word that it is not everything.
import { execFileSync } from 'node:child_process'
import { chmodSync, existsSync, mkdirSync, renameSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { toName } from '../../../src/support/raw-name.ts'
import { listUnsaved } from '../../../src/support/project/unsaved.ts'
import { makeCommitted, makeRepository } from '../../fixtures/repository.ts'
import { makeTree } from '../../fixtures/tree.ts'

const signal = AbortSignal.timeout(60_000)

async function unsavedIn(folder: string, maxFiles?: number) {
  const unsaved = await listUnsaved(folder, { signal, ...(maxFiles !== undefined && { maxFiles }) })
  if (unsaved === undefined) throw new Error('Git could not tell')
  return unsaved
}

t.test('each way in which a path can differ from HEAD is named, with its blobs', async (t) => {
  const { tree, root, git } = makeCommitted(t, {
    'clean.txt': 'clean\n',
    'edited.txt': 'one\n',
    'staged.txt': 'one\n',
    'both.txt': 'one\n',
    'gone.txt': 'one\n',
    'removed.txt': 'removed\n',
    'kept.txt': 'kept beside the index\n',
    'old name.txt': 'a file\nthat is\nmoved\n',
    'mode.sh': 'echo\n',
    'link.txt': 'no link yet\n',
    '.gitignore': 'ignored/\n'
  })
  const blob = (name: string) => git('hash-object', '--', name)
  const first = (name: string) => git('rev-parse', `HEAD:${name}`)
  tree.write('edited.txt', 'two\n')
  tree.write('staged.txt', 'staged\n')
  tree.write('both.txt', 'staged\n')
  git('add', 'staged.txt', 'both.txt')
  const staged = { 'staged.txt': blob('staged.txt'), 'both.txt': blob('both.txt') }
  tree.write('both.txt', 'and edited\n')
  rmSync(tree.path('gone.txt'))
  git('rm', '--quiet', 'removed.txt')
  git('rm', '--quiet', '--cached', 'kept.txt')
  git('mv', 'old name.txt', 'new name.txt')
  chmodSync(tree.path('mode.sh'), 0o755)
  rmSync(tree.path('link.txt'))
  symlinkSync('clean.txt', tree.path('link.txt'))
  tree.write('new.txt', 'new\n')
  git('add', 'new.txt')
  tree.write('deep/er/untracked.txt', 'mine\n')
  tree.write('ignored/no.txt', 'no\n')
  execFileSync('git', ['init', '--quiet', tree.path('nested')])
  tree.write('nested/inside.txt', 'of another repository\n')

  const { files, isComplete } = await unsavedIn(root)
  t.ok(isComplete)
  const at = (name: string) => files.get(join(root, name))
  const inHead = (name: string) => ({ head: first(name), headMode: '100644' })
  const unstaged = { isUnstaged: true, isStaged: false }
  const isStaged = { isUnstaged: false, isStaged: true }
  const modified = (name: string) => ({ what: 'modified', ...inHead(name), index: first(name), ...unstaged })
  for (const name of ['edited.txt', 'mode.sh', 'link.txt']) t.strictSame(at(name), modified(name), name)
  t.strictSame(at('staged.txt'), { ...modified('staged.txt'), index: staged['staged.txt'], ...isStaged })
  t.strictSame(at('both.txt'), { ...modified('both.txt'), index: staged['both.txt'], isStaged: true })
  t.strictSame(at('gone.txt'), { ...modified('gone.txt'), what: 'deleted' })
  t.strictSame(at('removed.txt'), { what: 'deleted', ...inHead('removed.txt'), ...isStaged })
  t.strictSame(at('kept.txt'), { what: 'untracked', ...inHead('kept.txt'), isUnstaged: true, isStaged: true })
  const moved = first('old name.txt')
  const renamedFrom = join(root, 'old name.txt')
  t.strictSame(at('new name.txt'), { what: 'renamed', index: moved, ...isStaged, renamedFrom })
  t.strictSame(at('old name.txt'), { what: 'deleted', ...inHead('old name.txt'), ...isStaged })
  t.strictSame(at('new.txt'), { what: 'added', index: blob('new.txt'), ...isStaged })
  t.strictSame(at('deep/er/untracked.txt'), { what: 'untracked', ...unstaged })
  t.equal(files.size, 12)
  t.strictSame([...(await unsavedIn(tree.path('deep'))).files.keys()], [join(root, 'deep/er/untracked.txt')])
})

t.test('in a repository without commits every file differs', async (t) => {
  const { tree, root, git } = makeRepository(t, { 'a.txt': 'a\n', 'b.txt': 'b\n' })
  git('add', 'a.txt')
  const { files } = await unsavedIn(root)
  t.strictSame(files.get(tree.path('a.txt')), {
    what: 'added',
    index: git('hash-object', 'a.txt'),
    isUnstaged: false,
    isStaged: true
  })
  t.strictSame(files.get(tree.path('b.txt')), { what: 'untracked', isUnstaged: true, isStaged: false })
})

t.test('a linked worktree has its own differences, a conflict is one', async (t) => {
  const { tree, root, git } = makeCommitted(t, { 'a.txt': 'one\n' })
  const linked = makeTree(t)
  git('worktree', 'add', '--quiet', '-b', 'other', linked.path('files'))
  linked.write('files/b.txt', 'only there\n')
  t.strictSame([...(await unsavedIn(linked.path('files'))).files.keys()], [linked.path('files/b.txt')])
  t.equal((await unsavedIn(root)).files.size, 0)
  tree.write('a.txt', 'two\n')
  git('commit', '--quiet', '--all', '--message=two')
  const ours = git('rev-parse', 'HEAD:a.txt')
  git('checkout', '--quiet', '-b', 'third', 'HEAD~')
  tree.write('a.txt', 'three\n')
  git('commit', '--quiet', '--all', '--message=three')
  t.throws(() => git('merge', '--quiet', 'main'))
  const conflict = (await unsavedIn(root)).files.get(join(root, 'a.txt'))
  t.strictSame(conflict, {
    what: 'modified',
    head: git('rev-parse', 'HEAD:a.txt'),
    isUnstaged: true,
    isStaged: true,
    isUnmerged: true
  })
  t.not(conflict?.head, ours)
})

t.test('names of any bytes are found, and a limit is said', { skip: process.platform !== 'linux' }, async (t) => {
  const { tree, root } = makeCommitted(t, { 'a.txt': 'one\n' })
  const names = [' a\n"b"\\c ', 'ä ö', Buffer.from([0x61, 0xff, 0x62])]
  for (const name of names) writeFileSync(Buffer.concat([Buffer.from(`${root}/`), Buffer.from(name)]), 'x\n')
  tree.write('more/1', '1')
  const found = [...(await unsavedIn(root)).files.keys()]
  t.strictSame(
    found.sort(),
    [...names.map((name) => join(root, toName(Buffer.from(name)))), join(root, 'more/1')].sort()
  )
  const some = await unsavedIn(root, 2)
  t.notOk(some.isComplete)
  t.ok(some.files.size >= 2)
  t.equal(await listUnsaved(makeTree(t).root, { signal }), undefined)
})

t.test('nothing that the repository names is run', async (t) => {
  const { tree, root, git } = makeCommitted(t, { 'a.txt': 'one\n' })
  const mark = join(makeTree(t).root, 'mark')
  tree.write('.gitattributes', '* filter=trap\n')
  for (const key of ['filter.trap.clean', 'filter.trap.process', 'core.fsmonitor'])
    git('config', key, `touch ${mark} #`)
  mkdirSync(tree.path('sub'))
  renameSync(tree.path('a.txt'), tree.path('sub/a.txt'))
  tree.write('a.txt', 'two\n')
  t.equal((await unsavedIn(root)).files.size, 3)
  t.notOk(existsSync(mark))
  t.throws(() => git('status', '--porcelain'), 'the trap breaks a status')
  t.ok(existsSync(mark), 'the trap works')
})
