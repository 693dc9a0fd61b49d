// The package as its user installs it: its types compile in a program, its client runs in it, and every command runs.
import { execFile } from 'node:child_process'
import { cpSync, existsSync, readdirSync, readFileSync } from 'node:fs'
import { createRequire, isBuiltin } from 'node:module'
import { join } from 'node:path'
import { fileURLToPath, pathToFileURL } from 'node:url'
import { promisify } from 'node:util'
import type { Command } from 'commander'
import t from 'tap'
import { installed } from '../../src/support/installation.ts'
import { program as cli } from '../../src/program/cli/program.ts'
import { findServer } from '../../src/tree/state/state-file.ts'
import { isFull } from '../fixtures/length.ts'
import { makeHome } from '../fixtures/home.ts'
import { linkPackage, unpackPackage } from '../fixtures/installation.ts'
import { startProgram, startServer } from '../fixtures/server.ts'
import { makeTool } from '../fixtures/tools.ts'
import { makeTree } from '../fixtures/tree.ts'
import { expected, right, same, shapes, wrong, wrongLineNumber, wrongLines } from './fixtures/programs.ts'

const projectRoot = installed('')
// Not bin/tsc: the test runner loads a module into every Node, with which Node 20 refuses a program whose name has no extension.
const tsc = fileURLToPath(new URL('../../../node_modules/typescript/lib/tsc.js', import.meta.url))
const page = readFileSync(installed('docs/client.md'), 'utf8')
const example = /```ts\n([^]*?)```/.exec(page)?.[1] ?? ''

/** What a program prints; rejects with it where the program fails. */
async function run(command: string, args: readonly string[], cwd: string, environment = {}): Promise<string> {
  const env = { ...process.env, ...environment }
  return (await promisify(execFile)(command, args, { cwd, env })).stdout
}

// All declarations are checked but the compiler's own.
const strict = { strict: true, skipLibCheck: false, skipDefaultLibCheck: true, target: 'es2022', outDir: 'out' }
const inNode = { ...strict, module: 'nodenext', types: ['node'] }
const inBrowser = { ...strict, module: 'esnext', moduleResolution: 'bundler', lib: ['es2022', 'dom'], types: [] }
const stricter = {
  ...inNode,
  exactOptionalPropertyTypes: true,
  noUncheckedIndexedAccess: true,
  verbatimModuleSyntax: true
}

const consumer = makeTree(t, {
  'example.mts': example,
  'right.mts': right,
  'expected.mts': expected,
  'wrong.mts': wrong,
  'shapes.mts': shapes,
  'same.mts': same(installed('src/client/client.ts'))
})

/** @returns each error as `file(line): TScode`, and what else the compiler says as it says it */
async function compile(name: string, compilerOptions: object, files: readonly string[]): Promise<string[]> {
  consumer.write(`${name}.json`, JSON.stringify({ compilerOptions, files }))
  // Several checkers would each look into the same declarations.
  const args = [tsc, '--pretty', 'false', '--checkers', '1', '-p', `${name}.json`]
  // The compiler is written in Go; for so short a run its garbage is not worth a third of the time.
  const output = await run(process.execPath, args, consumer.root, { GOGC: 'off' }).catch(
    ({ stdout, stderr }: { stdout: string; stderr: string }) => stdout + stderr
  )
  const lines = output.split('\n').filter((line) => line !== '' && !line.startsWith(' '))
  return lines.map((line) => line.replace(/^(\S+?)\((\d+),\d+\): error (TS\d+): .*/, '$1($2): $3'))
}

// With the types of Node, which a program in Node has.
t.before(() => unpackPackage(consumer, ['@types/node']))

t.test(
  'a program compiles in Node and for a browser, the declarations of the package included, and each wrong line is refused, for its own reason',
  async (t) => {
    const files = ['example.mts', 'right.mts', 'expected.mts', 'shapes.mts']
    t.not(example, '', 'the page has an example')
    // In one program, since most of the work is on the declarations of the package.
    const inOne = compile('node', inNode, [...files, 'wrong.mts'])
    const others = (isFull ? [['stricter', stricter] as const, ['browser', inBrowser] as const] : []).map(
      ([name, options]) => compile(name, { ...options, noEmit: true }, files)
    )
    const refused = wrongLines.map(([, code], index) => `wrong.mts(${wrongLineNumber(index)}): TS${code}`)
    t.strictSame(await inOne, refused)
    for (const errors of await Promise.all(others)) t.strictSame(errors, [])
  }
)

t.test('the types of the package are those that the sources derive from the schemas', async (t) => {
  const options = { ...inNode, skipLibCheck: true, noEmit: true, allowImportingTsExtensions: true, rootDir: '/' }
  t.strictSame(await compile('same', options, ['same.mts']), [])
})

t.test('the example of the page does what it says', async (t) => {
  const tree = makeTree(t)
  const { url } = await startServer(t, tree.root)
  const program = readFileSync(consumer.path('out/example.mjs'), 'utf8').replaceAll('http://127.0.0.1:8720', url)
  consumer.write('example.mjs', program)
  const [change, by, ...rest] = (await run(process.execPath, ['example.mjs'], consumer.root)).split('\n')
  t.strictSame([change, by], ['six became 6', 'by bob'])
  t.match(rest.join('\n'), /^1\ntwo\nthree\nfour\nfive\n6\n\n.*missing\.txt.*\n$/)
  t.equal(tree.read('client-demo.txt'), '1\ntwo\nthree\nfour\nfive\n6\n')
})

t.test('the client runs from its own files alone', async (t) => {
  const alone = makeTree(t)
  cpSync(consumer.path('node_modules/async-crud-mcp/dist/src/client'), alone.root, { recursive: true })
  const { url } = await startServer(t, makeTree(t, { 'a.txt': 'a' }).root)
  const program = `import { createClient } from './client.js'
    const { content } = await createClient({ url: '${url}' }).call('async_read', { path: 'a.txt' })
    console.log(content)`
  alone.write('package.json', '{ "type": "module" }')
  alone.write('program.js', program)
  t.equal(await run(process.execPath, ['program.js'], alone.root), 'a\n')
  for (const name of alone.all().filter((name) => name.endsWith('.js'))) {
    for (const [, from] of alone.read(name).matchAll(/(?:from|import)\s*\(?['"]([^'"]+)/g)) t.match(from, /^\.\/[^/]+$/)
  }
})

t.test('the package gives out its API description and its manifest, and no other file', async (t) => {
  const { resolve } = createRequire(pathToFileURL(consumer.path('program.js')))
  t.match(JSON.parse(readFileSync(resolve('async-crud-mcp/openapi.json'), 'utf8')), { openapi: /^3\.1/ })
  t.match(JSON.parse(readFileSync(resolve('async-crud-mcp/package.json'), 'utf8')), { name: 'async-crud-mcp' })
  t.throws(() => resolve('async-crud-mcp'), { code: 'ERR_PACKAGE_PATH_NOT_EXPORTED' })
  t.throws(() => resolve('async-crud-mcp/dist/src/app.js'), { code: 'ERR_PACKAGE_PATH_NOT_EXPORTED' })
})

const { dependencies, peerDependencies } = JSON.parse(readFileSync(`${projectRoot}/package.json`, 'utf8')) as {
  dependencies: Record<string, string>
  /** Each optional: the program runs without (below). */
  peerDependencies: Record<string, string>
}

t.test('the package imports nothing but what an install brings, or what its user may add', async (t) => {
  const installed = consumer.path('node_modules/async-crud-mcp')
  const names = (readdirSync(installed, { recursive: true }) as string[]).filter((name) =>
    /\.(?:c?js|d\.ts)$/.test(name)
  )
  const missing = names.flatMap((name) => {
    const text = readFileSync(join(installed, name), 'utf8')
    const pattern = name.endsWith('.cjs')
      ? /^(?:let|const|var) .* = (?:\w+\()?require\("([^"]+)|=> (?:\/\* @__PURE__ \*\/ )?(?:[\w.]+\()*require\("([^"]+)/gm
      : /^\s*(?:import|export)\b[^'"]*?from\s*['"]([^'"]+)|\bimport\(\s*['"]([^'"]+)/gm
    const packages = [...text.matchAll(pattern)]
      .map(([, from, lazily]) => from ?? lazily ?? '')
      .filter((from) => /^[@a-z]/.test(from) && !isBuiltin(from))
      .map((from) => from.split('/', from.startsWith('@') ? 2 : 1).join('/'))
    return packages
      .filter((each) => !(each in dependencies) && !(each in peerDependencies))
      .map((each) => `${name}: ${each}`)
  })
  t.ok(names.length > 50)
  t.strictSame(missing, [])
})

t.test('the package has the licence of each package that is part of its program', async (t) => {
  const bundled = readFileSync(consumer.path('node_modules/async-crud-mcp/dist/licenses.txt'), 'utf8')
  for (const name of ['fastify', '@modelcontextprotocol/server', 'pino', 'piscina', 'iconv-lite', 'ajv'])
    t.match(bundled, new RegExp(`^${name} \\d+\\.\\d+\\.\\d+: \\S+\\n\\n.*(Copyright|License)`, 'ms'))
})

t.test('an installation has at most 200 files and 12 MB', async (t) => {
  const { measureInstallation } = (await import(installed('scripts/size.mjs'))) as SizeModule
  const { packages, files, bytes } = measureInstallation()
  const names = packages.map(({ name }) => name)
  for (const name of ['async-crud-mcp', ...Object.keys(dependencies)]) t.ok(names.includes(name), name)
  t.ok(files <= 200, `${files} files, as npm run size lists them`)
  t.ok(bytes <= 12_000_000, `${bytes} bytes, as npm run size lists them`)
})

interface SizeModule {
  measureInstallation: () => {
    readonly packages: readonly { readonly name: string }[]
    readonly files: number
    readonly bytes: number
  }
}

/** Every command with the arguments of an ordinary user, in an order in which each finds what it needs. */
const commands: readonly (readonly [command: string, ...args: string[]])[] = [
  ['config init', '--dir', 'tree'],
  ['config path'],
  ['config show'],
  ['config validate'],
  ['config schema'],
  ['config edit'],
  ['setup', 'cursor', '--dry-run'],
  ['setup', 'codex'],
  ['setup', 'cursor', '--print'],
  ['setup', 'codex', '--remove'],
  ['daemon start'],
  ['daemon status'],
  ['daemon restart'],
  ['daemon logs'],
  ['discover', '--dir', 'tree'],
  ['guard'],
  ['run', '--', 'true'],
  ['land', '--help'],
  ['doctor'],
  ['daemon stop'],
  ['bootstrap install'],
  ['bootstrap start'],
  ['bootstrap status'],
  ['bootstrap list'],
  ['bootstrap stop'],
  ['bootstrap uninstall'],
  ['quick-install', '--no-service'],
  ['uninstall', '--purge']
]

t.test('every command runs where the package is installed with its own dependencies alone', async (t) => {
  for (const name of Object.keys(dependencies))
    if (!existsSync(consumer.path(`node_modules/${name}`))) linkPackage(consumer, name)
  const installed = consumer.path('node_modules/async-crud-mcp/dist/main.cjs')
  const home = makeHome(t, { 'tree/f': 'one', '.cursor/mcp.json': '{}' }, installed)
  t.teardown(() => {
    const { pid } = findServer(home.path('tree')) ?? {}
    if (pid !== undefined) process.kill(pid, 'SIGKILL')
  })
  const active = `case "$2" in show) printf 'ActiveState=active\\nSubState=running\\nMainPID=1\\n';; esac; exit 0`
  const environment = { PATH: makeTool(makeTree(t), 'systemctl', active).path, VISUAL: 'true' }
  for (const [command, ...args] of commands) {
    const { code, stderr } = await home.run([...command.split(' '), ...args], environment)
    t.equal(code, 0, `${command} ${args.join(' ')}: ${stderr}`)
    t.notMatch(stderr, /Cannot find|ERR_MODULE_NOT_FOUND/)
  }
  const run = new Set(commands.map(([command]) => command))
  t.strictSame(
    namesOf(cli).filter((name) => !run.has(name) && name !== 'serve'),
    [],
    'no command is left out'
  )
  const { url } = await startProgram(t, ['serve', '--dir', home.path('tree')], {}, [installed])
  for (const page of ['health', 'openapi.json', 'docs', 'docs/', 'locks'])
    t.equal((await fetch(`${url}/${page}`)).status, 200, page)
})

/** Such as `daemon start`. */
function namesOf({ commands }: Command): string[] {
  return commands.flatMap((command) => {
    const below = namesOf(command).map((name) => `${command.name()} ${name}`)
    return below.length > 0 ? below : [command.name()]
  })
}
