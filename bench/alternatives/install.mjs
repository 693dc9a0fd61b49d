// Installs a package that the project does not use into a folder of its own, to measure it.
import { execFileSync } from 'node:child_process'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { npmCommand } from '../../scripts/npm.mjs'

const folders = []
process.on('exit', () => folders.forEach((folder) => rmSync(folder, { recursive: true, force: true })))

/** @returns a folder that is removed at the end of the process */
export function makeFolder() {
  const folder = mkdtempSync(join(tmpdir(), 'alternative-'))
  folders.push(folder)
  return folder
}

/** @param wanted such as `chokidar@6` @returns the address of its main module */
export function install(folder, wanted) {
  writeFileSync(join(folder, 'package.json'), '{}')
  const [program, ...first] = npmCommand()
  const args = [...first, 'install', '--silent', '--no-audit', '--no-fund', wanted]
  execFileSync(program, args, { cwd: folder, stdio: 'inherit' })
  const name = wanted.replace(/@[^@]*$/, '')
  return pathToFileURL(createRequire(join(folder, 'package.json')).resolve(name)).href
}
