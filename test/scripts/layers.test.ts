// The linter refuses an import that runs up the layers of the house, a circle of files, and a text that Node decodes while it reads the file.
import { spawnSync } from 'node:child_process'
import { copyFileSync, mkdirSync } from 'node:fs'
import { dirname } from 'node:path'
import t from 'tap'
import { installed } from '../../src/support/installation.ts'
import { makeTree } from '../fixtures/tree.ts'

/** What the linter says of these files, by the rules of the project. */
function lint(files: Readonly<Record<string, string>>): string {
  const tree = makeTree(t, files)
  for (const path of ['.oxlintrc.json', 'scripts/lint/layers.mjs']) {
    mkdirSync(dirname(tree.path(path)), { recursive: true })
    copyFileSync(installed(path), tree.path(path))
  }
  const args = [installed('node_modules/oxlint/bin/oxlint'), '--format', 'unix', 'src', 'plugins', 'schemas']
  return spawnSync(process.execPath, args, { cwd: tree.root, encoding: 'utf8' }).stdout
}

const body = 'export const value = 1\n'
const uses = (path: string) => `import { value } from '${path}'\nexport const other = value\n`

t.test('an import that runs down passes, one that runs up is told with both layers', async (t) => {
  const found = lint({
    'plugins/down.ts': uses('../src/engine/below.ts'),
    'plugins/above.ts': body,
    'src/engine/below.ts': body,
    'src/engine/up.ts': uses('../../plugins/above.ts'),
    'src/engine/later.ts': "export const load = () => import('../../plugins/above.ts')\n",
    'src/engine/diff/neighbour.ts': uses('../below.ts'),
    'src/tree/http.ts': "import fastify from 'fastify'\nexport const app = fastify()\n",
    'src/engine/files/locking.ts': uses('../locks/lock.ts'),
    'src/engine/locks/lock.ts': body,
    'src/engine/locks/queue.ts': uses('./lock.ts'),
    'src/program/hook/guard/hook.ts': uses('../../../errors.ts'),
    'src/errors.ts': body,
    'src/client/client.ts': "import { value } from 'some-package'\nexport const other = value\n",
    'schemas/contract.ts': "import { sep } from 'node:path'\nexport const value = sep\n"
  })
  t.notMatch(found, /down\.ts/)
  t.match(found, /src\/engine\/up\.ts:1.*src\/engine\/ lies below plugins\//)
  t.match(found, /src\/engine\/later\.ts:1.*src\/engine\/ lies below plugins\//)
  t.match(found, /src\/engine\/diff\/neighbour\.ts:1.*know none of their neighbours/)
  t.match(found, /src\/tree\/http\.ts:1.*Only the service and its plugins import Fastify/)
  t.match(found, /src\/engine\/files\/locking\.ts:1.*Files know no lock/)
  t.notMatch(found, /queue\.ts/)
  t.match(found, /src\/program\/hook\/guard\/hook\.ts:1.*load nothing of the service/)
  t.match(found, /src\/client\/client\.ts:1.*depends on nothing at run time/)
  t.match(found, /schemas\/contract\.ts:1.*The contract imports TypeBox only/)
})

t.test('a circle of files is told, be it of types alone', async (t) => {
  const found = lint({
    'src/engine/one.ts': "import type { Two } from './two.ts'\nexport interface One {\n  two: Two\n}\n",
    'src/engine/two.ts': "import type { One } from './one.ts'\nexport interface Two {\n  one: One\n}\n",
    'plugins/none.ts': body,
    'schemas/none.ts': body
  })
  t.match(found, /src\/engine\/one\.ts:1.*cycle/)
})

t.test('a file that Node reads as text is told', async (t) => {
  const read = (call: string) => `import { readFileSync } from 'node:fs'\nexport const value = ${call}\n`
  const found = lint({
    'src/engine/bytes.ts': read("readFileSync('file')"),
    'src/engine/text.ts': read("readFileSync('file', 'utf8')"),
    'plugins/options.ts': read("readFileSync('file', { encoding: 'utf8' })"),
    'schemas/none.ts': body
  })
  t.notMatch(found, /bytes\.ts/)
  t.match(found, /src\/engine\/text\.ts:2.*Read text by readText/)
  t.match(found, /plugins\/options\.ts:2.*Read text by readText/)
})
