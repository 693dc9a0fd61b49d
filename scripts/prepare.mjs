// Installs the dependencies and compiles the sources when they changed; both are skipped when nothing did.
// Uses Node's own modules only, since it runs before anything is installed.
import { spawnSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'

export const projectRoot = dirname(dirname(fileURLToPath(import.meta.url)))

const sourceFolders = ['schemas', 'src', 'plugins', 'test', 'bench', 'scripts']
const stampFolder = join(projectRoot, 'node_modules', '.cache')
const installStamp = join(stampFolder, 'async-crud-mcp-install')
const buildStamp = join(stampFolder, 'async-crud-mcp-build')

/** Makes `node_modules` and `dist` match the sources. Everything it prints goes to stderr, so that stdout stays free for JSON-RPC. */
export function prepare() {
  requireNode(20, 19)
  const lock = createHash('sha256')
    .update(readFileSync(join(projectRoot, 'package-lock.json')))
    .update(process.version)
    .digest('hex')
  if (readStamp(installStamp) !== lock) {
    const install = ['ci', '--include=dev', '--no-audit', '--no-fund', '--loglevel=error']
    // An earlier one that was broken off may still be at work in the same folder.
    step('installing dependencies', npm(), install, 2)
    writeStamp(installStamp, lock)
    rmSync(buildStamp, { force: true })
  }
  const sources = fingerprintSources()
  if (readStamp(buildStamp) !== sources || !existsSync(join(projectRoot, 'dist'))) {
    rmSync(join(projectRoot, 'dist'), { recursive: true, force: true })
    rmSync(join(stampFolder, 'tsc.tsbuildinfo'), { force: true })
    step('compiling', process.execPath, [join(projectRoot, 'node_modules', 'typescript', 'bin', 'tsc')])
    writeStamp(buildStamp, sources)
  }
}

function requireNode(major, minor) {
  const [haveMajor, haveMinor] = process.versions.node.split('.').map(Number)
  if (haveMajor > major || (haveMajor === major && haveMinor >= minor)) return
  fail(
    `Node >= ${major}.${minor} is needed, this is ${process.versions.node}. Install a newer Node and run the command again.`
  )
}

function npm() {
  return process.platform === 'win32' ? 'npm.cmd' : 'npm'
}

function step(what, command, args, attempts = 1) {
  process.stderr.write(`async-crud-mcp: ${what} ...\n`)
  const result = spawnSync(command, args, {
    cwd: projectRoot,
    stdio: ['ignore', 2, 2],
    shell: process.platform === 'win32'
  })
  if (result.status === 0) return
  if (result.error !== undefined) fail(`${what} failed: ${result.error.message}`)
  if (attempts > 1 && result.signal === null) return step(what, command, args, attempts - 1)
  fail(`${what} failed; the lines above say why.`)
}

export function fail(message) {
  process.stderr.write(`async-crud-mcp: ${message}\n`)
  process.exit(1)
}

/** Names, sizes and times of all sources: cheap to take at every start, and different after any edit or checkout. */
function fingerprintSources() {
  const hash = createHash('sha256')
  const visit = (folder) => {
    for (const entry of readdirSync(folder, { withFileTypes: true }).sort((a, b) => (a.name < b.name ? -1 : 1))) {
      const path = join(folder, entry.name)
      if (entry.isDirectory()) visit(path)
      else if (entry.name.endsWith('.ts')) {
        const { size, mtimeMs } = statSync(path)
        hash.update(`${path} ${size} ${mtimeMs}\n`)
      }
    }
  }
  for (const folder of sourceFolders) if (existsSync(join(projectRoot, folder))) visit(join(projectRoot, folder))
  hash.update(readFileSync(join(projectRoot, 'tsconfig.json')))
  return hash.digest('hex')
}

function readStamp(path) {
  return existsSync(path) ? readFileSync(path, 'utf8') : ''
}

function writeStamp(path, value) {
  mkdirSync(dirname(path), { recursive: true })
  writeFileSync(path, value)
}
