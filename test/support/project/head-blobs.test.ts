// The bytes that files of HEAD have in the working tree, in a real repository.
import { chmodSync, existsSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { headBlobs, readBlobs } from '../../../src/support/project/head-blobs.ts'
import { openWorkTree } from '../../../src/support/project/work-tree.ts'
import { makeCommitted } from '../../fixtures/repository.ts'
import { makeTree } from '../../fixtures/tree.ts'

const signal = AbortSignal.timeout(60_000)

t.test(
  'of a file to which a filter applies nothing is read, also if the settings of the user name its program',
  async (t) => {
    const { root } = makeCommitted(t, {
      '.gitattributes': '*.lfs filter=mine\n*.crlf text eol=crlf\n',
      'a.lfs': 'pointer\n',
      'b.crlf': 'one\ntwo\n',
      c: 'c\n'
    })
    const home = makeTree(t, {})
    const mark = home.path('ran')
    home.write('program', `#!/bin/sh\ntouch ${mark}\ncat\n`)
    chmodSync(home.path('program'), 0o755)
    home.write('.gitconfig', `[filter "mine"]\nsmudge = ${home.path('program')}\n`)
    const before = process.env['HOME']
    process.env['HOME'] = home.root
    t.teardown(() => {
      process.env['HOME'] = before
    })
    const tree = (await openWorkTree(root, signal))!
    const paths = ['a.lfs', 'b.crlf', 'c'].map((name) => join(root, name))
    const heads = await headBlobs(tree, paths, signal)
    const wanted = paths.map((path) => ({ path, blob: heads.get(path)!.blob }))
    const found = await readBlobs(tree, wanted, signal)
    t.same(
      wanted.map((one) => found.get(one)?.toString()),
      [undefined, 'one\r\ntwo\r\n', 'c\n']
    )
    t.notOk(existsSync(mark), 'the program of the user did not run for nothing')
  }
)

t.test('only the files that were asked for are found, and none at the name of a folder', async (t) => {
  const { root } = makeCommitted(t, { 'd/deep/x': 'x\n', 'd/y': 'y\n', z: 'z\n' })
  const tree = (await openWorkTree(root, signal))!
  const paths = ['d', 'd/deep', 'd/deep/x', 'd/none', 'z'].map((name) => join(root, name))
  const found = await headBlobs(tree, paths, signal)
  t.same([...found.keys()].sort(), [join(root, 'd/deep/x'), join(root, 'z')])
})
