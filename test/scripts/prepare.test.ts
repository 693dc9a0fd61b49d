// What comes before each start in a clone: installing and compiling, beside the servers that run from the same folder.
import { spawn, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { cpSync, existsSync, readdirSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import t from 'tap'
import { makeTool } from '../fixtures/tools.ts'
import { makeTree, type Tree } from '../fixtures/tree.ts'
import { until } from '../fixtures/until.ts'
import { installed } from '../../src/support/installation.ts'

interface Owner {
  teardown(fn: () => void): void
}

const scripts = installed('scripts/')

/** One entry a line, so that the npm of these tests can leave one out. */
const lockOf = (version: string) => `{ "lockfileVersion": 3, "packages": {
"": {},
"node_modules/late": { "version": "${version}" },
"node_modules/other-platform": { "version": "1.0.0", "optional": true },
"node_modules/typescript": { "version": "1.0.0" }
} }`

/** Says that it runs; then loads, for each line that it reads, a file of its own and one of a package, as if for the first time. */
const program = `process.stdout.write('runs\\n')
let loaded = 0
process.stdin.on('data', async () => {
  loaded += 1
  try {
    await import('./later.js?' + loaded)
    await import('late/index.js?' + loaded)
    process.stdout.write('loaded\\n')
  } catch (error) {
    process.stdout.write(error.message + '\\n')
  }
})
process.stdin.on('end', () => process.exit())
`

/** As the real one, it works on the folder that it is called for, from nothing. */
const compiler = (tree: Tree) => `const fs = require('node:fs')
const at = process.argv.indexOf('--outDir')
const out = at < 0 ? 'dist' : process.argv[at + 1]
fs.appendFileSync('${tree.path('tsc.calls')}', 'tsc\\n')
while (fs.existsSync('${tree.path('hold-tsc')}')) Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 10)
if (fs.readFileSync('src/later.ts', 'utf8').includes('broken')) process.exit(2)
fs.mkdirSync(out + '/src', { recursive: true })
for (const name of ['main', 'later']) fs.copyFileSync('src/' + name + '.ts', out + '/src/' + name + '.js')
`

const installer = (tree: Tree) => `rm -rf node_modules
while [ -e '${tree.path('hold-npm')}' ]; do sleep 0.01; done
mkdir -p node_modules/typescript/bin node_modules/late
cp '${tree.path('compiler')}' node_modules/typescript/bin/tsc
echo 'export {}' > node_modules/late/index.js
echo '{ "type": "module" }' > node_modules/late/package.json
grep -v other-platform package-lock.json > node_modules/.package-lock.json`

interface Project extends Tree {
  /** @param root another folder with the same files @param node the Node that runs it */
  start(nodeFlags?: readonly string[], root?: string, node?: string): Start
  /** How often each has been called so far. */
  calls(): { npm: number; tsc: number }
}

interface Start {
  readonly child: ChildProcess
  /** Lines on stdout so far. */
  readonly lines: readonly string[]
  /** The code, and what stands on stderr. */
  readonly ended: Promise<{ code: number | null; stderr: string }>
  /** Lets the program load something more, and waits for what it says. */
  load(): Promise<string | undefined>
}

/** A clone with the real scripts, and an npm and a compiler that wait where a test wants to look. */
function makeProject(t: Owner): Project {
  const tree = makeTree(t, {
    'package.json': '{ "type": "module" }',
    'package-lock.json': lockOf('1.0.0'),
    'tsconfig.json': '{}',
    'src/main.ts': program,
    'src/later.ts': 'export {}'
  })
  for (const name of readdirSync(scripts).filter((name) => name.endsWith('.mjs')))
    cpSync(`${scripts}${name}`, tree.path(`scripts/${name}`))
  tree.write('scripts/bundle.mjs', '')
  tree.write('compiler', compiler(tree))
  const outside = makeTree(t)
  const npm = makeTool(outside, 'npm', installer(tree))

  function start(nodeFlags: readonly string[] = [], root = tree.root, node = process.execPath): Start {
    const args = [...nodeFlags, join(root, 'scripts/run.mjs'), 'src/main.js']
    // Windows runs commands in the shell of this name.
    const child = spawn(node, args, { env: { PATH: npm.path, comspec: '/bin/sh' }, stdio: 'pipe' })
    t.teardown(() => child.kill('SIGKILL'))
    child.stdin.on('error', () => {})
    const lines: string[] = []
    createInterface({ input: child.stdout }).on('line', (line) => lines.push(line))
    let stderr = ''
    child.stderr.on('data', (chunk: Buffer) => (stderr += chunk.toString()))
    // Not "close": what the killed one has started keeps its standard error.
    const ended = once(child, 'exit').then(([code]) => ({ code: code as number | null, stderr }))
    const load = async () => {
      const count = lines.length
      child.stdin.write('\n')
      await Promise.race([until(() => lines.length > count), ended])
      return lines.at(-1)
    }
    return { child, lines, ended, load }
  }

  const calls = () => ({
    npm: npm.calls().length,
    tsc: existsSync(tree.path('tsc.calls')) ? tree.read('tsc.calls').trim().split('\n').length : 0
  })
  return { ...tree, start, calls }
}

/** Starts it, until it runs or has ended. */
async function run(
  project: Project,
  flags: readonly string[] = [],
  root = project.root,
  node?: string
): Promise<Start> {
  const started = project.start(flags, root, node)
  await Promise.race([until(() => started.lines.length > 0), started.ended])
  return started
}

const workshop = (project: Project) => readdirSync(project.path('.prepare'))

t.test('two clients with two versions of Node share what is installed and compiled', async (t) => {
  const project = makeProject(t)
  const another = `data:text/javascript,Object.defineProperty(process, 'version', { value: 'v99.0.0' })`
  for (const flags of [[], ['--import', another], []]) t.strictSame((await run(project, flags)).lines, ['runs'])
  t.strictSame(project.calls(), { npm: 1, tsc: 1 })
})

t.test(
  'a server that runs finds what it loads, while its successors are installed and compiled and after',
  async (t) => {
    const project = makeProject(t)
    const server = await run(project)
    project.write('package-lock.json', lockOf('2.0.0'))
    project.write('src/later.ts', 'export const more = true')
    for (const name of ['hold-npm', 'hold-tsc']) project.write(name, '')
    const next = project.start()
    await until(() => project.calls().npm === 2)
    t.equal(await server.load(), 'loaded', 'while npm is at work')
    rmSync(project.path('hold-npm'))
    await until(() => project.calls().tsc === 2)
    t.equal(await server.load(), 'loaded', 'while the compiler is at work')
    rmSync(project.path('hold-tsc'))
    await until(() => next.lines.length > 0)
    t.equal(await server.load(), 'loaded', 'afterwards')
    t.match(project.read('dist/src/later.js'), 'more')
    t.strictSame(workshop(project), [])
  }
)

/** Only that which Node asks for at each start of a program. */
const windows = `data:text/javascript,Object.defineProperty(process, 'platform', { value: 'win32' })`

t.test('on Windows a Node whose path has a blank installs, compiles and runs, by the npm beside it', async (t) => {
  const project = makeProject(t)
  const place = makeTree(t, {
    // What npm.cmd runs. The project has its script for sh.
    'Program Files/nodejs/node_modules/npm/bin/npm-cli.js': `const { spawnSync } = require('node:child_process')
process.exit(spawnSync('npm', process.argv.slice(2), { stdio: 'inherit' }).status)`
  })
  const node = place.path('Program Files/nodejs/node')
  cpSync(process.execPath, node)
  t.strictSame((await run(project, ['--import', windows], project.root, node)).lines, ['runs'])
  t.strictSame(project.calls(), { npm: 1, tsc: 1 })
  rmSync(place.path('Program Files/nodejs/node_modules'), { recursive: true })
  project.write('package-lock.json', lockOf('2.0.0'))
  const { code, stderr } = await project.start(['--import', windows], project.root, node).ended
  t.equal(code, 1)
  t.match(stderr, /no npm was found beside .*Program Files.*: install Node together with npm/)
})

t.test('of several starts at once one installs and compiles, and all run', async (t) => {
  const project = makeProject(t)
  project.write('hold-npm', '')
  const starts = [1, 2, 3].map(() => project.start())
  await until(() => project.calls().npm > 0)
  rmSync(project.path('hold-npm'))
  await until(() => starts.every(({ lines }) => lines.length > 0))
  t.strictSame(project.calls(), { npm: 1, tsc: 1 })
})

for (const tool of ['npm', 'tsc'] as const) {
  t.test(`a start that is killed while ${tool} is at work leaves nothing to the next one`, async (t) => {
    const project = makeProject(t)
    project.write(`hold-${tool}`, '')
    const killed = project.start()
    await until(() => project.calls()[tool] === 1)
    killed.child.kill('SIGKILL')
    await killed.ended
    t.notSame(workshop(project), [])
    rmSync(project.path(`hold-${tool}`))
    t.equal(await (await run(project)).load(), 'loaded')
    t.strictSame((await run(project)).lines, ['runs'])
    t.equal(project.calls()[tool], 2)
  })
}

t.test('where compiling fails, it is said, and what was there before is kept', async (t) => {
  const project = makeProject(t)
  const server = await run(project)
  project.write('src/later.ts', 'broken')
  const { code, stderr } = await project.start().ended
  t.equal(code, 1)
  t.match(stderr, /compiling failed; the lines above say why\. What was there before is untouched\./)
  t.equal(await server.load(), 'loaded')
  t.strictSame(workshop(project), [])
  project.write('src/later.ts', 'export {}')
  t.strictSame((await run(project)).lines, ['runs'])
})

t.test('where nothing is to be done nothing is written; where something is and cannot be, it is said', async (t) => {
  const project = makeProject(t)
  await run(project)
  // A folder of this name cannot be made any more, not even by root.
  rmSync(project.path('.prepare'), { recursive: true })
  project.write('.prepare', '')
  t.strictSame((await run(project)).lines, ['runs'])
  const copy = makeTree(t)
  cpSync(project.root, copy.root, { recursive: true })
  t.strictSame((await run(project, [], copy.root)).lines, ['runs'], 'in a copy, whose files are all newer')
  project.write('src/later.ts', 'export const more = true')
  const { code, stderr } = await project.start().ended
  t.equal(code, 1)
  t.match(stderr, /^async-crud-mcp: .* must be installed and compiled, and cannot be changed: .*\. Run npm run build/)
  t.equal(stderr.trimEnd().split('\n').length, 1, 'one line')
})

/** Says with what it was started and what it was made of, and ends with the one that started it. */
const bundler = `import { writeFileSync } from 'node:fs'
writeFileSync(process.argv[2] + '/main.cjs', \`
const parent = process.ppid
process.on('SIGTERM', () => { console.log('ended'); process.exit() })
console.log(process.argv[2], require('node:fs').readFileSync(__dirname + '/src/later.js', 'utf8'))
setInterval(() => process.ppid === parent || process.exit(), 50)
\`)`

t.test('npm run dev starts the program anew for each change, and a build that fails ends nothing', async (t) => {
  const project = makeProject(t)
  for (const folder of ['schemas', 'plugins', 'board']) project.write(`${folder}/none.ts`, '')
  project.write('scripts/bundle.mjs', bundler)
  project.write('scripts/warm.mjs', '')
  project.write('src/later.ts', 'one')
  // Installs, so that the npm of this test is not needed any more.
  await run(project)
  const child = spawn(process.execPath, [project.path('scripts/dev.mjs'), 'first'], {
    stdio: ['ignore', 'pipe', 'pipe']
  })
  t.teardown(() => child.kill('SIGKILL'))
  const lines: string[] = []
  createInterface({ input: child.stdout }).on('line', (line) => lines.push(line))
  let stderr = ''
  child.stderr.on('data', (chunk: Buffer) => (stderr += chunk.toString()))
  await until(() => lines.includes('first one'))
  project.write('src/later.ts', 'two')
  await until(() => lines.includes('first two'))
  project.write('src/later.ts', 'broken')
  await until(() => stderr.includes('compiling failed'))
  project.write('src/later.ts', 'three')
  await until(() => lines.includes('first three'))
  // Not "exit": what the program has said comes later.
  const ended = once(child, 'close')
  child.kill('SIGINT')
  t.strictSame(await ended, [0, null])
  t.strictSame(lines, ['first one', 'ended', 'first two', 'ended', 'first three', 'ended'])
})
