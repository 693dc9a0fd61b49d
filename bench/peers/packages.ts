// Installs what the server is compared with, and the tokenizer, into a folder of their own outside the repository.
import envPaths from 'env-paths'
import { spawnSync } from 'node:child_process'
import { existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { join } from 'node:path'

/** None of them is a dependency. Of one version each, so that two runs compare with the same. */
const versions = {
  '@modelcontextprotocol/server-filesystem': '2026.8.31',
  '@wonderwhy-er/desktop-commander': '0.2.52',
  'js-tiktoken': '1.0.21'
}

export type PackageName = keyof typeof versions

const folder = join(envPaths('async-crud-mcp', { suffix: '' }).cache, 'bench')
const stamp = join(folder, 'installed.json')

type Versions = Partial<Record<PackageName, string>>

/** Does nothing if they are there already. @returns why it has failed; undefined otherwise */
export function installPackages(
  names: readonly PackageName[] = Object.keys(versions) as PackageName[]
): string | undefined {
  const there: Versions = existsSync(stamp) ? (JSON.parse(readFileSync(stamp, 'utf8')) as Versions) : {}
  const missing = names.filter((name) => there[name] !== versions[name])
  if (missing.length === 0) return undefined
  const dependencies = { ...there, ...Object.fromEntries(missing.map((name) => [name, versions[name]])) }
  rmSync(stamp, { force: true })
  mkdirSync(folder, { recursive: true })
  writeFileSync(join(folder, 'package.json'), JSON.stringify({ private: true, dependencies }))
  console.log(`installing ${missing.join(', ')} into ${folder} ...`)
  const args = ['install', '--ignore-scripts', '--no-audit', '--no-fund', '--no-package-lock', '--loglevel=error']
  const isWindows = process.platform === 'win32'
  const { status, stderr, error } = spawnSync(isWindows ? 'npm.cmd' : 'npm', args, {
    cwd: folder,
    encoding: 'utf8',
    shell: isWindows
  })
  if (status !== 0) return `npm could not install them: ${error?.message ?? stderr.trim().split('\n').at(-1)}`
  writeFileSync(stamp, JSON.stringify(dependencies))
  return undefined
}

/** @param file within the package */
export function packageFile(name: PackageName, file: string): string {
  return join(folder, 'node_modules', name, file)
}

export function packageVersion(name: PackageName): string {
  return versions[name]
}

interface Tokenizer {
  encode(text: string, allowed: string[], disallowed: string[]): number[]
}

/** Of the o200k vocabulary; `installPackages` has succeeded. @returns the number of tokens of a text */
export function loadTokenCounter(): (text: string) => number {
  const load = createRequire(join(folder, 'package.json'))
  const { Tiktoken } = load('js-tiktoken/lite') as { Tiktoken: new (ranks: unknown) => Tokenizer }
  const tokenizer = new Tiktoken(load('js-tiktoken/ranks/o200k_base'))
  return (text) => tokenizer.encode(text, [], []).length
}
