// Runs the tests that show what the server promises, and for each its control: the same check where it must fail. Then prints one table.
// usage: npm run prove [-- --short] [-- --histories=<folder>] [-- name ...]    docs/proof.md says what each line means
import { mkdirSync, mkdtempSync, readdirSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { parseArgs } from 'node:util'
import { fail, prepare, projectRoot } from './prepare.mjs'
import { claims } from './prove/claims.mjs'
import { makeFaultyCopy } from './prove/faulty-copy.mjs'
import { checkByPorcupine } from './prove/porcupine.mjs'
import { isShown, isSkipped, judgeCheck, judgeControl } from './prove/judge.mjs'
import { bundledTest, runTestFile } from './test-file.mjs'

/** A fault shows in nearly every run; on a busy machine it may need another one. */
const maxTries = 3

prepare()
const { values: options, positionals } = parseArgs({
  options: { short: { type: 'boolean' }, histories: { type: 'string' } },
  allowPositionals: true
})
const chosen = claims.filter(
  ({ claim, file }) =>
    positionals.length === 0 || positionals.some((part) => claim.includes(part) || file.includes(part))
)
if (chosen.length === 0)
  fail(`no claim has that in its name; they are:\n${claims.map(({ claim }) => claim).join('\n')}`)
const histories = chosen.some(({ writesHistories }) => writesHistories) ? makeFolder(options.histories) : undefined
const length = options.short ? 'short' : 'full'

const rows = []
for (const claim of chosen) {
  print(`\n${claim.claim}: ${claim.shows} (test/${claim.file}.test.ts)`)
  const start = performance.now()
  const result = await run(claim.file, length, claim.writesHistories && { TEST_HISTORIES: histories })
  if (result.problems !== '') print(result.problems)
  const check = judgeCheck(claim, result)
  print(`  check: ${check}`)
  const control = await runControl(claim, check, result)
  print(`  control: ${control}`)
  rows.push({ claim: claim.claim, check, control, seconds: secondsSince(start) })
}
if (histories !== undefined && readdirSync(histories).length > 0) {
  print('\nthe same by another checker: Porcupine judges the history of each file')
  const start = performance.now()
  const { said, ...verdicts } = checkByPorcupine(histories)
  print(said)
  rows.push({ claim: 'the same by another checker', ...verdicts, seconds: secondsSince(start) })
}
printTable(rows)
if (histories !== undefined) print(`\nThe history of each file, for other checkers: ${histories}`)
const isAllShown = rows.every(isShown)
const skipped = rows.filter(({ check, control }) => isSkipped(check) || isSkipped(control)).length
print(
  isAllShown ? '\nEach check that was run held, and each control that was run failed.' : '\nNOT SHOWN: see the table.'
)
if (skipped > 0)
  print(`${skipped} of ${rows.length} claims were not run, or without their control: the table says why.`)
process.exitCode = isAllShown ? 0 : 1

function makeFolder(given) {
  if (given === undefined) return mkdtempSync(join(tmpdir(), 'async-crud-mcp-histories-'))
  mkdirSync(given, { recursive: true })
  return resolve(given)
}

function run(file, testLength, environment, root = projectRoot) {
  return runTestFile(file, bundledTest(file, root), { ...process.env, TEST_LENGTH: testLength, ...environment })
}

async function runControl(claim, check, result) {
  const { file, control } = claim
  if (isSkipped(check)) return check
  if (control.edits !== undefined) return check === 'held' ? runFaulty(file, control) : 'not run'
  return judgeControl(claim, control.in === undefined ? result : await run(control.in, length))
}

async function runFaulty(file, { fault, edits, found }) {
  print(`  with the fault that ${fault} ...`)
  const folder = makeFaultyCopy(edits)
  try {
    for (let tries = 1; tries <= maxTries; tries += 1) {
      const { problems } = await run(file, 'short', {}, folder)
      if (found.test(problems)) return 'failed'
      if (problems !== '') print(problems)
    }
    return 'PASSED'
  } finally {
    rmSync(folder, { recursive: true, force: true, maxRetries: 10 })
  }
}

function secondsSince(start) {
  return ((performance.now() - start) / 1000).toFixed(0)
}

function printTable(all) {
  const lines = [{ claim: 'claim', check: 'check', control: 'control', seconds: 's' }, ...all]
  const width = (name) => Math.max(...lines.map((line) => line[name].length))
  const [claimWidth, checkWidth, controlWidth, secondsWidth] = ['claim', 'check', 'control', 'seconds'].map(width)
  print('')
  for (const { claim, check, control, seconds } of lines) {
    const words = [claim.padEnd(claimWidth), check.padEnd(checkWidth), control.padEnd(controlWidth)]
    print([...words, seconds.padStart(secondsWidth)].join('  '))
  }
}

function print(text) {
  process.stdout.write(`${text}\n`)
}
