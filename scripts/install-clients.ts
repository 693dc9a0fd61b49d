// npm run clients: installs the real clients of the tests and of a benchmark from npm, outside of the project, and prints where they are.
import { execFileSync } from 'node:child_process'
import { mkdirSync, mkdtempSync, readdirSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { clientsFolder, findProgram, realClients } from '../test/fixtures/real-clients.ts'
import { installed } from '../src/support/installation.ts'

const folder = clientsFolder()
const isInstalled = () => realClients.every(({ command }) => findProgram(command) !== undefined)
if (!isInstalled()) await install()
console.log(join(folder, 'node_modules', '.bin'))

/** A folder that is there is whole. Those of other versions go. */
async function install(): Promise<void> {
  const { npmCommand } = (await import(installed('scripts/npm.mjs'))) as { npmCommand: () => [string, ...string[]] }
  const parent = dirname(folder)
  mkdirSync(parent, { recursive: true })
  for (const name of readdirSync(parent)) rmSync(join(parent, name), { recursive: true, force: true })
  const work = mkdtempSync(join(parent, 'work-'))
  writeFileSync(join(work, 'package.json'), '{"private":true}\n')
  const [npm, ...first] = npmCommand()
  const packages = realClients.map((each) => each.package)
  const args = [...first, 'install', '--save-exact', '--no-audit', '--no-fund', ...packages]
  execFileSync(npm, args, { cwd: work, stdio: ['ignore', 2, 2] })
  renameSync(work, folder)
  if (!isInstalled())
    throw new Error(`npm has installed ${packages.join(', ')}, and not all of their programs are there`)
}
