// Prepares the project, then runs all tests, or those whose path contains one of the parts given: npm test -- locks/lock-manager
// With --full, campaigns of random cases, kills and contending agents have their full lengths: npm run test:full
// With --changed, files whose imports reach what differs from main, or that name it.
// With --without=part, files whose path contains the part are left out.
// With --at-once=2, so many files run side by side; without it two more than there are processors.
// With --passing-on=windows, only files that test/platforms/windows.txt lists to pass there, with --others-on=windows all others.
import { availableParallelism } from 'node:os'
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { changedTests } from './changed-tests.mjs'
import { fail, prepare, projectRoot } from './prepare.mjs'
import { bundledTest, runTestFile } from './test-file.mjs'

const slowestCount = 10
/** They take longest, so they begin first: at the end of a run each would keep one processor, and leave the others idle. */
const longest = [
  'program/setup/real-clients',
  'tree/authority/moved-root',
  'program/run/isolated',
  'engine/files/letters',
  'board/attention',
  'tree/authority/health',
  'program/setup/set-ups',
  'board/lists'
]
const suites = join(projectRoot, 'dist', 'suites')

prepare()
const { values: options, positionals } = parseArgs({
  options: {
    full: { type: 'boolean' },
    changed: { type: 'boolean' },
    without: { type: 'string', multiple: true, default: [] },
    // Each waits for timers and other processes half of its time.
    'at-once': { type: 'string', default: String(availableParallelism() + 2) },
    'passing-on': { type: 'string' },
    'others-on': { type: 'string' }
  },
  allowPositionals: true
})
const atOnce = Number(options['at-once'])
if (!Number.isInteger(atOnce) || atOnce < 1) fail(`--at-once=${options['at-once']} is no number of files`)
const all = onSystem(options.changed ? changedTests(findTests()) : findTests())
if (all.length === 0 && options.changed) fail('no test file reaches what differs from main')
const leftOut = options.without.length === 0 ? [] : choose(all, options.without.map(withoutEnds))
const chosen = choose(all, positionals.map(withoutEnds)).filter((name) => !leftOut.includes(name))
const waiting = [
  ...longest.filter((name) => chosen.includes(name)),
  ...chosen.filter((name) => !longest.includes(name))
]
// Wine can break down behind the last file that `npm run test:wine` has left.
if (waiting.length === 0 && process.send === undefined) fail('all test files are left out')
const isOneFile = waiting.length === 1
const results = []
const start = performance.now()
const environment = { ...process.env, TEST_LENGTH: options.full ? 'full' : (process.env.TEST_LENGTH ?? 'short') }
await Promise.all(Array.from({ length: atOnce }, runWaiting))
report()

async function runWaiting() {
  for (let name = waiting.shift(); name !== undefined; name = waiting.shift()) {
    const result = await runTestFile(name, bundledTest(name), environment)
    results.push(result)
    // To `npm run test:wine`.
    process.send?.(result)
    const { passed, failed, seconds, comments, problems } = result
    const verdict = problems === '' ? 'ok    ' : 'FAILED'
    print(`${verdict} ${format(seconds)}  ${name}  ${passed} passed${failed > 0 ? `, ${failed} failed` : ''}`)
    if (problems !== '') print(problems)
    else if (isOneFile) for (const comment of comments) print(comment)
  }
}

function report() {
  const total = (count) => results.reduce((sum, result) => sum + result[count], 0)
  print(`\nThe slowest files, of ${format((performance.now() - start) / 1000).trim()} altogether:`)
  const bySeconds = results.toSorted((a, b) => b.seconds - a.seconds)
  for (const { name, seconds } of bySeconds.slice(0, slowestCount)) print(`${format(seconds)}  ${name}`)
  for (const { name, skipped } of results) for (const reason of skipped) print(`skipped in ${name}: ${reason}`)
  const failedFiles = results.filter(({ problems }) => problems !== '').map(({ name }) => name)
  if (failedFiles.length > 0) print(`\nnpm test -- ${failedFiles.join(' ')}   runs the files that failed once more.`)
  print(
    `\n${total('passed')} passed, ${total('failed')} failed, ${results.flatMap(({ skipped }) => skipped).length} skipped`
  )
  process.exitCode = failedFiles.length === 0 ? 0 : 1
}

/** Paths below `test`, without `.test.ts`. */
function findTests() {
  return readdirSync(suites, { recursive: true })
    .filter((path) => /\.test\.c?js$/.test(path))
    .map((path) => withoutEnds(path.replaceAll('\\', '/')))
    .sort()
}

/** Only those that are asked for by how they end on a system. */
function onSystem(names) {
  const { 'passing-on': passing, 'others-on': others } = options
  if (passing === undefined && others === undefined) return names
  const listed = readPassing(passing ?? others)
  for (const name of listed) if (!names.includes(name)) fail(`${name} is listed to pass there, and is no test file`)
  return names.filter((name) => listed.includes(name) === (passing !== undefined))
}

/** A line is the path of a file that must pass; one that need not has its reason behind a colon. */
function readPassing(system) {
  const lines = readFileSync(join(projectRoot, 'test', 'platforms', `${system}.txt`), 'utf8').split(/\r?\n/)
  return lines.filter((line) => line !== '' && !line.startsWith('#') && !line.includes(':'))
}

/** However a file is named: `locks/queue`, `test/locks/queue.test.ts`, `./dist/test/locks/queue.test.js`. */
function withoutEnds(path) {
  return path.replace(/^(\.\/)?(dist\/)?(test\/)?/, '').replace(/(\.test)?(\.c?[jt]s)?$/, '')
}

function choose(names, parts) {
  if (parts.length === 0) return names
  for (const part of parts) {
    if (!names.some((name) => name.includes(part)))
      fail(`no test file has "${part}" in its path; they are:\n${names.join('\n')}`)
  }
  // A part that is the whole path of a file means that file alone.
  return names.filter((name) => parts.some((part) => (names.includes(part) ? name === part : name.includes(part))))
}

function format(seconds) {
  return `${seconds.toFixed(1).padStart(6)} s`
}

function print(text) {
  process.stdout.write(`${text}\n`)
}
