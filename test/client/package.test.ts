// The package as somebody gets it who installs it: its types compile in his program, and its client runs in his process.
import { execFile } from 'node:child_process'
import { cpSync, mkdirSync, readFileSync, renameSync, symlinkSync } from 'node:fs'
import { createRequire } from 'node:module'
import { fileURLToPath, pathToFileURL } from 'node:url'
import { promisify } from 'node:util'
import t from 'tap'
import { startServer } from '../fixtures/server.ts'
import { makeTree, type Tree } from '../fixtures/tree.ts'
import { expected, right, shapes, wrong, wrongLineNumber, wrongLines } from './fixtures/programs.ts'

const projectRoot = fileURLToPath(new URL('../../..', import.meta.url))
// Not bin/tsc: the test runner loads a module into every Node, with which Node 20 refuses a program whose name has no extension.
const tsc = fileURLToPath(new URL('../../../node_modules/typescript/lib/tsc.js', import.meta.url))
const page = readFileSync(new URL('../../../docs/client.md', import.meta.url), 'utf8')
const example = /```ts\n([^]*?)```/.exec(page)?.[1] ?? ''

/** What a program prints; rejects with it where the program fails. */
async function run(command: string, args: readonly string[], cwd: string): Promise<string> {
  return (await promisify(execFile)(command, args, { cwd, shell: process.platform === 'win32' })).stdout
}

/** Packs the package and unpacks it where an install would put it, with the one dependency that its types need. */
async function install(consumer: Tree): Promise<void> {
  const args = ['pack', '--silent', '--ignore-scripts', '--offline', '--pack-destination', consumer.root]
  const tarball = (await run('npm', args, projectRoot)).trim()
  await run('tar', ['-xzf', tarball], consumer.root)
  mkdirSync(consumer.path('node_modules/@sinclair'), { recursive: true })
  mkdirSync(consumer.path('node_modules/@types'))
  renameSync(consumer.path('package'), consumer.path('node_modules/async-crud-mcp'))
  for (const name of ['@sinclair/typebox', '@types/node'])
    symlinkSync(`${projectRoot}/node_modules/${name}`, consumer.path(`node_modules/${name}`), 'junction')
}

const strict = { strict: true, skipLibCheck: false, target: 'es2022', outDir: 'out' }
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
  'shapes.mts': shapes
})

/** @returns each error as `file(line): TScode`, and what else the compiler says as it says it */
async function compile(name: string, compilerOptions: object, files: readonly string[]): Promise<string[]> {
  consumer.write(`${name}.json`, JSON.stringify({ compilerOptions, files }))
  const args = [tsc, '--pretty', 'false', '-p', `${name}.json`]
  const output = await run(process.execPath, args, consumer.root).catch(
    ({ stdout, stderr }: { stdout: string; stderr: string }) => stdout + stderr
  )
  const lines = output.split('\n').filter((line) => line !== '' && !line.startsWith(' '))
  return lines.map((line) => line.replace(/^(\S+?)\((\d+),\d+\): error (TS\d+): .*/, '$1($2): $3'))
}

t.before(() => install(consumer))

t.test('a program compiles in Node and for a browser, the declarations of the package included', async (t) => {
  const files = ['example.mts', 'right.mts', 'expected.mts', 'shapes.mts']
  t.not(example, '', 'the page has an example')
  const errors = await Promise.all([
    compile('node', inNode, files),
    compile('stricter', { ...stricter, noEmit: true }, files),
    compile('browser', { ...inBrowser, noEmit: true }, files)
  ])
  t.strictSame(errors, [[], [], []])
})

t.test('each wrong line is refused, for its own reason', async (t) => {
  const errors = await compile('wrong', { ...inNode, noEmit: true }, ['wrong.mts'])
  t.strictSame(
    errors,
    wrongLines.map(([, code], index) => `wrong.mts(${wrongLineNumber(index)}): TS${code}`)
  )
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
