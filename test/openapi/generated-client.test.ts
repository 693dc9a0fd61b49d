// A client made from openapi.json by a public generator fits the running server, in its types and in its answers.
import { execFile } from 'node:child_process'
import { copyFileSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import t from 'tap'
import { documentPath } from '../fixtures/document.ts'
import { startServer } from '../fixtures/server.ts'
import { makeTree } from '../fixtures/tree.ts'
import { installed } from '../../src/support/installation.ts'

const project = installed('./')
const generator = join(project, 'node_modules', 'oazapfts', 'dist', 'cli.js')
/** What bin/tsc loads; a module without the extension cannot be run below a test runner's hooks. */
const compiler = join(project, 'node_modules', 'typescript', 'lib', 'tsc.js')
const consumer = join(project, 'test', 'openapi', 'consumer.ts.txt')

/** Runs a program to its end; what it printed is the message of its failure. */
async function run(folder: string, ...args: string[]): Promise<void> {
  try {
    await promisify(execFile)(process.execPath, args, { cwd: folder })
  } catch (error) {
    const { stdout, stderr } = error as { stdout: string; stderr: string }
    throw new Error(`${args.join(' ')}\n${stdout}${stderr}`, { cause: error })
  }
}

t.test('a generated client compiles under strict rules and works against a running server', async (t) => {
  const folder = mkdtempSync(join(tmpdir(), 'async-crud-mcp-client-'))
  t.teardown(() => rmSync(folder, { recursive: true, force: true }))
  symlinkSync(join(project, 'node_modules'), join(folder, 'node_modules'), 'junction')
  writeFileSync(join(folder, 'package.json'), '{ "type": "module" }\n')
  copyFileSync(consumer, join(folder, 'consumer.ts'))
  const tree = makeTree(t, { 'list.txt': 'one\ntwo\nthree\n' })
  const { url } = await startServer(t, tree.root)

  await run(folder, generator, documentPath, 'client.ts')
  const options = ['--strict', '--module', 'nodenext', '--target', 'es2023', '--types', 'node', '--skipLibCheck']
  // Ends with a failure for a fault in the types, too.
  await run(folder, compiler, ...options, '--checkers', '1', '--outDir', 'compiled', 'consumer.ts')
  await run(folder, join('compiled', 'consumer.js'), url)

  t.equal(tree.read('list.txt'), '1\n2\nthree\n', 'what the client did is in the file')
})
