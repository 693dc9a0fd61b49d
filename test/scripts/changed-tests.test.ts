// npm test -- --changed: the tests that a change can reach.
import { execFileSync } from 'node:child_process'
import { cpSync } from 'node:fs'
import t from 'tap'
import { makeTree } from '../fixtures/tree.ts'
import { installed } from '../../src/support/installation.ts'

t.test('a test is chosen by what it imports over any number of steps, and by the pages that it names', (t) => {
  const tree = makeTree(t, {
    'src/deep.ts': 'export const deep = 1\n',
    'src/middle.ts': "export { deep } from './deep.ts'\n",
    'src/lazy.ts': "export const load = () => import('./other.ts')\n",
    'src/other.ts': 'export const other = 1\n',
    'docs/page.md': 'text\n',
    'test/by-import.test.ts': "import { deep } from '../src/middle.ts'\n",
    'test/later.test.ts': "import { load } from '../src/lazy.ts'\n",
    'test/fixtures/pages.ts': "export const page = read('docs/page.md')\n",
    'test/page.test.ts': "import { page } from './fixtures/pages.ts'\n"
  })
  for (const name of ['changed-tests', 'prepare', 'npm', 'turn'])
    cpSync(installed(`scripts/${name}.mjs`), tree.path(`scripts/${name}.mjs`))
  const git = (...args: string[]) =>
    execFileSync('git', ['-c', 'user.name=t', '-c', 'user.email=t@t', ...args], { cwd: tree.root, stdio: 'pipe' })
  const chosen = () => {
    const script = `import { changedTests } from './scripts/changed-tests.mjs'
      console.log(changedTests(['by-import', 'later', 'page']).join())`
    const args = ['--input-type=module', '--eval', script]
    return execFileSync(process.execPath, args, { cwd: tree.root, encoding: 'utf8' }).trim()
  }
  git('init', '--quiet', '--initial-branch=main')
  git('add', '--all')
  git('commit', '--quiet', '--message=first')
  t.equal(chosen(), '', 'nothing has changed')
  tree.write('src/deep.ts', 'export const deep = 2\n')
  t.equal(chosen(), 'by-import', 'not committed yet')
  git('switch', '--quiet', '--create', 'work')
  git('commit', '--quiet', '--all', '--message=second')
  tree.write('src/other.ts', 'export const other = 2\n')
  t.equal(chosen(), 'by-import,later', 'committed on a branch, and loaded late')
  tree.write('docs/page.md', 'other text\n')
  t.equal(chosen(), 'by-import,later,page')
  t.end()
})
