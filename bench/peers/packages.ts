// Installs what the server is compared with, and the tokenizer, into a folder of their own outside the repository.
import envPaths from 'env-paths'
import { spawnSync } from 'node:child_process'
import { existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'

/** None of them is a dependency. Of one version each, so that two runs compare with the same. */
const versions = {
  '@modelcontextprotocol/server-filesystem': '2026.8.31',
  '@wonderwhy-er/desktop-commander': '0.2.52',
  'js-tiktoken': '1.0.21'
}

export type PackageName = keyof typeof versions

const folder = join(envPaths('async-crud-mcp', { suffix: '' }).cache, 'bench')
const stamp = join(folder, 'installed.json')

/** Does nothing if they are there already. @returns why it has failed; undefined otherwise */
export function installPackages(): string | undefined {
  const wanted = JSON.stringify(versions)
  if (existsSync(stamp) && readFileSync(stamp, 'utf8') === wanted) return undefined
  rmSync(folder, { recursive: true, force: true })
  mkdirSync(folder, { recursive: true })
  writeFileSync(join(folder, 'package.json'), JSON.stringify({ private: true, dependencies: versions }))
  console.log(`installing ${Object.keys(versions).join(', ')} into ${folder} ...`)
  const args = ['install', '--ignore-scripts', '--no-audit', '--no-fund', '--no-package-lock', '--loglevel=error']
  const isWindows = process.platform === 'win32'
  const { status, stderr, error } = spawnSync(isWindows ? 'npm.cmd' : 'npm', args, {
    cwd: folder,
    encoding: 'utf8',
    shell: isWindows
  })
  if (status !== 0) return `npm could not install them: ${error?.message ?? stderr.trim().split('\n').at(-1)}`
  writeFileSync(stamp, wanted)
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
export async function loadTokenCounter(): Promise<(text: string) => number> {
  const load = (file: string) => import(pathToFileURL(packageFile('js-tiktoken', file)).href) as Promise<unknown>
  const { Tiktoken } = (await load('dist/lite.js')) as { Tiktoken: new (ranks: unknown) => Tokenizer }
  const { default: ranks } = (await load('dist/ranks/o200k_base.js')) as { default: unknown }
  const tokenizer = new Tiktoken(ranks)
  return (text) => tokenizer.encode(text, [], []).length
}
