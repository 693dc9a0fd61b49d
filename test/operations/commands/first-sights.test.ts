// What differs from HEAD is kept before anything can discard it: when a server starts, and when HEAD moves.
import { rmSync } from 'node:fs'
import t, { type Test } from 'tap'
import type { PartialConfig } from '../../../src/config/config.ts'
import { connect } from '../../fixtures/clients.ts'
import { makeCommitted } from '../../fixtures/repository.ts'
import { startServer } from '../../fixtures/server.ts'
import { hashOf } from '../../fixtures/tree.ts'
import { until } from '../../fixtures/until.ts'

async function start(t: Test, config: PartialConfig = {}) {
  const repository = makeCommitted(t, { 'a.txt': 'one\n', 'b.txt': 'two\n', '.gitignore': '*.log\n' })
  repository.tree.write('a.txt', 'changed by a person\n')
  repository.tree.write('new/untracked.txt', 'new\n')
  repository.tree.write('x.log', 'ignored\n')
  const { url } = await startServer(t, repository.root, config)
  const ann = await connect(t, 'rest', url, 'ann')
  const isKnown = async (path: string) => (await ann.call('async_history', { path }))['versions']?.length > 0
  return { ...repository, ann, isKnown }
}

t.test('what differs from HEAD at the start can be brought back though nobody has used it', async (t) => {
  const { tree, ann, isKnown } = await start(t)
  await until(() => isKnown('new/untracked.txt'))
  await until(() => isKnown('a.txt'))
  t.notOk(await isKnown('b.txt'), 'a clean file is in HEAD')
  t.notOk(await isKnown('x.log'), "an ignored file is nobody's work")
  rmSync(tree.path('new'), { recursive: true })
  const back = await ann.call('async_restore', { path: 'new/untracked.txt', hash: hashOf('new\n'), create_dirs: true })
  t.match(back, { status: 'ok' })
  t.equal(tree.read('new/untracked.txt'), 'new\n')
})

t.test('when HEAD moves, what differs from it then is kept', async (t) => {
  const { tree, git, isKnown } = await start(t)
  await until(() => isKnown('a.txt'))
  tree.write('later.txt', 'later\n')
  t.notOk(await isKnown('later.txt'))
  git('commit', '--quiet', '--allow-empty', '--message=moves')
  await until(() => isKnown('later.txt'))
})

t.test('no more is kept than the settings allow', async (t) => {
  const few = await start(t, { hooks: { keep_files: 1 } })
  await until(async () => (await few.isKnown('a.txt')) || (await few.isKnown('new/untracked.txt')))
  t.notOk((await few.isKnown('a.txt')) && (await few.isKnown('new/untracked.txt')))
})
