// Installs the dependencies and compiles the sources when they changed; both are skipped when nothing did.
// Uses Node's own modules only, since it runs before anything is installed.
// Servers may run from this folder: what they use is never removed while its successor is made, but exchanged by a rename.
import { spawnSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import {
  copyFileSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  renameSync,
  writeFileSync
} from 'node:fs'
import { join, relative } from 'node:path'
import { fileURLToPath } from 'node:url'
import { npmCommand } from './npm.mjs'
import { takeTurn } from './turn.mjs'

export const projectRoot = fileURLToPath(new URL('..', import.meta.url))

const sourceFolders = ['schemas', 'src', 'plugins', 'board', 'test', 'bench', 'scripts']
const modules = join(projectRoot, 'node_modules')
const output = join(projectRoot, 'dist')
const stamp = join(output, '.sources')
/** Everything is made in here first. What a process that was killed has left is removed by the next one. */
const workshop = join(projectRoot, '.prepare')

/** Makes `node_modules` and `dist` match the sources. Everything it prints goes to stderr, so that stdout stays free for JSON-RPC. */
export function prepare() {
  requireNode(20, 19)
  const sources = fingerprintSources()
  const isReady = () => isInstalled() && isBuilt(sources)
  if (isReady()) return
  try {
    mkdirSync(workshop, { recursive: true })
    const endTurn = takeTurn(workshop, () => say('waiting for another start that installs or compiles ...'))
    if (!isInstalled()) install()
    if (!isBuilt(sources)) build(sources)
    endTurn()
  } catch (error) {
    fail(
      `${projectRoot} must be installed and compiled, and cannot be changed: ${error.message}. Run npm run build there once as a user who may write to it, with no server running from it.`
    )
  }
}

function requireNode(major, minor) {
  const [haveMajor, haveMinor] = process.versions.node.split('.').map(Number)
  if (haveMajor > major || (haveMajor === major && haveMinor >= minor)) return
  fail(
    `Node >= ${major}.${minor} is needed, this is ${process.versions.node}. Install a newer Node and run the command again.`
  )
}

/**
 * Whether npm has put there what package-lock.json asks for, by the list that npm writes last. The version of Node is no part
 * of it: no dependency is compiled at its installation, and two clients with two versions of Node share one clone.
 */
function isInstalled() {
  const installed = readPackages(join(modules, '.package-lock.json'))
  const asked = readPackages(join(projectRoot, 'package-lock.json'))
  if (installed === undefined || asked === undefined) return false
  return Object.entries(asked).every(([path, { version, integrity, optional, devOptional }]) => {
    const found = installed[path]
    if (path === '') return true
    // Such as the binaries for other platforms.
    if (found === undefined) return optional === true || devOptional === true
    return found.version === version && found.integrity === integrity
  })
}

function readPackages(path) {
  return existsSync(path) ? JSON.parse(readFileSync(path, 'utf8')).packages : undefined
}

function install() {
  const folder = mkdtempSync(join(workshop, 'install-'))
  for (const name of ['package.json', 'package-lock.json', '.npmrc'])
    if (existsSync(join(projectRoot, name))) copyFileSync(join(projectRoot, name), join(folder, name))
  const [npm, ...first] = npmCommand()
  const args = [...first, 'ci', '--include=dev', '--no-audit', '--no-fund', '--loglevel=error']
  step('installing dependencies', npm, args, folder)
  exchange(modules, join(folder, 'node_modules'))
}

function isBuilt(sources) {
  return existsSync(stamp) && readFileSync(stamp, 'utf8') === sources
}

function build(sources) {
  const folder = mkdtempSync(join(workshop, 'build-'))
  const fresh = join(folder, 'dist')
  const tsc = join(modules, 'typescript', 'bin', 'tsc')
  const target = ['--outDir', fresh, '--tsBuildInfoFile', join(folder, 'tsbuildinfo')]
  step('compiling', process.execPath, [tsc, '--project', projectRoot, ...target], projectRoot)
  step('bundling', process.execPath, [join(projectRoot, 'scripts', 'bundle.mjs'), fresh], projectRoot)
  writeFileSync(join(fresh, relative(output, stamp)), sources)
  exchange(output, fresh)
  // Where it stays: Node 22 and later keep what they compile by the path of the file.
  spawnSync(process.execPath, [join(projectRoot, 'scripts', 'warm.mjs'), join(output, 'main.cjs')], { stdio: 'ignore' })
}

/** Puts the fresh folder in the place of the old one. Only for the moment between two renames there is neither. */
function exchange(target, fresh) {
  const old = join(mkdtempSync(join(workshop, 'old-')), 'old')
  const isReplaced = existsSync(target)
  if (isReplaced) renameSync(target, old)
  try {
    renameSync(fresh, target)
  } catch (error) {
    if (isReplaced) renameSync(old, target)
    throw error
  }
}

function step(what, command, args, cwd) {
  say(`${what} ...`)
  const result = spawnSync(command, args, { cwd, stdio: ['ignore', 2, 2] })
  if (result.status === 0) return
  if (result.error !== undefined) fail(`${what} failed: ${result.error.message}`)
  fail(`${what} failed; the lines above say why. What was there before is untouched.`)
}

function say(message) {
  process.stderr.write(`async-crud-mcp: ${message}\n`)
}

export function fail(message) {
  say(message)
  process.exit(1)
}

/** Names and contents of all sources, which a copy of the folder shares: a copy that may not be written to is started as it is. */
function fingerprintSources() {
  const hash = createHash('sha256')
  const add = (path) => {
    hash.update(`${relative(projectRoot, path)}\0`)
    hash.update(createHash('sha256').update(readFileSync(path)).digest())
  }
  const visit = (folder) => {
    for (const entry of readdirSync(folder, { withFileTypes: true }).sort((a, b) => (a.name < b.name ? -1 : 1))) {
      const path = join(folder, entry.name)
      if (entry.isDirectory()) visit(path)
      else if (/\.(ts|html|css|svg)$/.test(entry.name)) add(path)
    }
  }
  for (const folder of sourceFolders) if (existsSync(join(projectRoot, folder))) visit(join(projectRoot, folder))
  for (const name of ['tsconfig.json', 'package-lock.json', 'scripts/bundle.mjs', 'scripts/compile-validators.mjs'])
    add(join(projectRoot, name))
  return hash.digest('hex')
}
