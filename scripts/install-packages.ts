// Packages of npm that are too large to be dependencies: installed when they are needed, outside of any project.
import { execFileSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import { existsSync, mkdirSync, mkdtempSync, readdirSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { homedir } from 'node:os'
import { dirname, join } from 'node:path'
import { installed } from '../src/support/installation.ts'

/** Where these packages, with their versions, are or will be: `~/.cache/async-crud-mcp-<name>/<their hash>`. */
export function packagesFolder(name: string, packages: readonly string[]): string {
  const cache = process.env['XDG_CACHE_HOME'] || join(homedir(), '.cache')
  const versions = createHash('sha256').update(packages.join()).digest('hex')
  return join(cache, `async-crud-mcp-${name}`, versions.slice(0, 12))
}

/** Installs them unless they are there; what npm says goes to stderr. A folder that is there is whole. Those of other versions go. */
export async function installPackages(folder: string, packages: readonly string[]): Promise<void> {
  if (existsSync(folder)) return
  const { npmCommand } = (await import(installed('scripts/npm.mjs'))) as { npmCommand: () => [string, ...string[]] }
  const parent = dirname(folder)
  mkdirSync(parent, { recursive: true })
  for (const name of readdirSync(parent)) rmSync(join(parent, name), { recursive: true, force: true })
  const work = mkdtempSync(join(parent, 'work-'))
  writeFileSync(join(work, 'package.json'), '{"private":true}\n')
  const [npm, ...first] = npmCommand()
  const args = [...first, 'install', '--save-exact', '--no-audit', '--no-fund', ...packages]
  execFileSync(npm, args, { cwd: work, stdio: ['ignore', 2, 2] })
  renameSync(work, folder)
}
