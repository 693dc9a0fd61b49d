// The server's own folder: made when needed, small files in it, and what stands in its place.
import { execFileSync } from 'node:child_process'
import { chownSync, lstatSync, mkdirSync, readdirSync, statSync, symlinkSync, writeFileSync } from 'node:fs'
import { pathToFileURL } from 'node:url'
import t from 'tap'
import { installed } from '../../../src/support/installation.ts'
import { createStateDirectory } from '../../../src/tree/state/state-directory.ts'
import { makeTree } from '../../fixtures/tree.ts'

const kept = { isDurable: true }
const folder = '.async-crud-mcp'

t.test('looking at the folder does not make it', (t) => {
  const tree = makeTree(t)
  const state = createStateDirectory(tree.root)
  t.equal(state.read('f.json'), undefined)
  t.throws(() => state.remove('f.json'), /f\.json.*ENOENT/)
  t.strictSame(tree.all(), [])
  t.end()
})

t.test('the first write makes the folder for this user alone, hidden from git', (t) => {
  const tree = makeTree(t)
  const state = createStateDirectory(tree.root)
  state.write('f.json', 'one', kept)
  state.write('f.json', 'two', { isDurable: false })
  t.equal(state.read('f.json'), 'two')
  t.equal(tree.read(`${folder}/.gitignore`), '*\n')
  t.strictSame(readdirSync(tree.path(folder)).sort(), ['.gitignore', 'f.json'], 'no temporary file stays')
  if (process.platform !== 'win32') {
    t.equal(statSync(tree.path(folder)).mode & 0o777, 0o700)
    t.equal(statSync(tree.path(`${folder}/f.json`)).mode & 0o777, 0o600)
  }
  execFileSync('git', ['init', '-q', tree.root])
  t.equal(execFileSync('git', ['-C', tree.root, 'status', '--porcelain', '-uall']).toString(), '')
  t.end()
})

t.test('a .gitignore that a killed process did not get to is written by the next write', (t) => {
  const tree = makeTree(t)
  mkdirSync(tree.path(folder))
  createStateDirectory(tree.root).write('f.json', 'x', kept)
  t.equal(tree.read(`${folder}/.gitignore`), '*\n')
  t.end()
})

t.test('a link or a file in place of the folder is refused, and nothing is written through it', (t) => {
  const elsewhere = makeTree(t)
  const linked = makeTree(t)
  symlinkSync(elsewhere.root, linked.path(folder), 'junction')
  const occupied = makeTree(t, { [folder]: 'a file' })
  for (const [tree, reason] of [
    [linked, /\.async-crud-mcp must be a directory of the server's own, but is a symbolic link: remove it/],
    [occupied, /\.async-crud-mcp must be a directory of the server's own, but is something else: remove it/]
  ] as const) {
    const state = createStateDirectory(tree.root)
    t.throws(() => state.write('f.json', 'x', kept), reason)
    t.throws(() => state.read('f.json'), reason)
    t.throws(() => state.rename('f.json', 'g.json'), reason)
    t.throws(() => state.remove('f.json'), reason)
  }
  t.strictSame(elsewhere.all(), [])
  t.equal(occupied.read(folder), 'a file')
  t.end()
})

t.test('a link in place of a file is neither read nor written through', (t) => {
  const elsewhere = makeTree(t, { secret: 'secret' })
  const tree = makeTree(t)
  const state = createStateDirectory(tree.root)
  mkdirSync(tree.path(folder))
  for (const name of ['f.json', '.gitignore']) symlinkSync(elsewhere.path('secret'), tree.path(`${folder}/${name}`))
  t.throws(() => state.read('f.json'), /f\.json must be a file of the server's own, but is a symbolic link/)
  state.write('f.json', 'new', kept)
  t.equal(state.read('f.json'), 'new')
  t.equal(lstatSync(tree.path(`${folder}/f.json`)).isFile(), true)
  t.equal(elsewhere.read('secret'), 'secret')
  t.end()
})

t.test('a pipe, a directory or a huge file in place of a file is an error, at once', (t) => {
  const tree = makeTree(t)
  const state = createStateDirectory(tree.root)
  mkdirSync(tree.path(`${folder}/directory`), { recursive: true })
  t.throws(() => state.read('directory'), /directory must be a file.*but is a directory/)
  t.throws(() => state.write('directory', 'x', kept), /directory: the system answered/)
  writeFileSync(tree.path(`${folder}/huge`), 'x'.repeat(65_537))
  t.throws(() => state.read('huge'), /huge is larger than 65536 bytes/)
  writeFileSync(tree.path(`${folder}/largest`), 'x'.repeat(65_536))
  t.equal(state.read('largest')?.length, 65_536)
  if (process.platform !== 'win32') {
    execFileSync('mkfifo', [tree.path(`${folder}/pipe`)])
    t.throws(() => state.read('pipe'), /pipe must be a file.*but is something else/)
  }
  t.notOk(
    readdirSync(tree.path(folder)).some((name) => name.endsWith('.tmp')),
    'no temporary file stays'
  )
  t.end()
})

t.test(
  'a folder of another user that cannot be entered is named with its owner and what to do',
  { skip: process.getuid?.() !== 0 && 'making a folder of another user needs root' },
  async (t) => {
    const tree = makeTree(t)
    mkdirSync(tree.path(folder), { mode: 0o700 })
    chownSync(tree.root, 65_534, 65_534)
    const module = pathToFileURL(installed('dist/src/tree/state/state-directory.js')).href
    const script = `const { createStateDirectory } = await import(${JSON.stringify(module)})
      process.setgroups([65534]); process.setgid(65534); process.setuid(65534)
      try { createStateDirectory(${JSON.stringify(tree.root)}).write('f', '', { isDurable: false }) }
      catch (error) { console.log(error.message) }`
    const said = execFileSync(process.execPath, ['--input-type=module', '-e', script], { encoding: 'utf8' })
    t.match(said, /belongs to root\. Remove that folder as root, or run the server as root/)
  }
)
