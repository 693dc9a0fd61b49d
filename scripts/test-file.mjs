// Runs one test file in a process of its own. tap's own runner is left out: it loads a tracer into every program that a test starts, half a second each.
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { randomUUID } from 'node:crypto'
import { closeSync, existsSync, mkdtempSync, openSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { projectRoot } from './prepare.mjs'
import { endMarked } from './wine.mjs'

/**
 * Bounds on hanging alone. Within the first, tap says which test hangs; a file that does not even answer tap is ended by the second.
 * The first counts from the start of the file, or from its last `t.setTimeout`, and ends a test whatever time that was
 * given: the long form takes a night.
 */
const limits = { maxTestSeconds: 900, maxFileSeconds: 1200 }
const limitsOfNight = { maxTestSeconds: 43_200, maxFileSeconds: 50_000 }
/** What hangs under Wine is a program that Wine has lost; nothing there has a long form. */
const limitsOfWine = { maxTestSeconds: 300, maxFileSeconds: 360 }

const preload = join(projectRoot, 'scripts', 'test-preload.cjs')
/** Of `npm run test:wine`. */
const windowsNode = process.env.TEST_WINDOWS_NODE
const runner = windowsNode === undefined ? [process.execPath] : ['wine', windowsNode]
const ofWine = windowsNode !== undefined && {
  NODE_OPTIONS: `--require "Z:${join(projectRoot, 'scripts', 'under-wine.cjs')}"`
}
/** Programs under Wine leave the group of the one that starts them; those of one test file are known by this variable. */
const markName = 'ASYNC_CRUD_MCP_TEST_FILE'
const canEndGroup = process.platform !== 'win32'
const running = new Set()
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP']) {
  process.once(signal, () => {
    for (const child of running) end(child)
    process.kill(process.pid, signal)
  })
}

/** Where the bundle of a test file is. @param name such as `engine/locks/queue` */
export function bundledTest(name, root = projectRoot) {
  const paths = ['cjs', 'js'].map((extension) => join(root, 'dist', 'suites', `${name}.test.${extension}`))
  return paths.find((path) => existsSync(path))
}

/**
 * @returns assertions that passed and failed, `skipped` (one line for each test that was skipped), `tests` (verdict and title of each at
 * the top), `comments`, and `problems`:
 * what went wrong, as TAP with all that passed left out; empty where nothing did
 */
export async function runTestFile(name, path, environment) {
  const start = performance.now()
  const { maxTestSeconds, maxFileSeconds } = limitsFor(environment)
  const mark = windowsNode === undefined ? undefined : randomUUID()
  const output = openOutput()
  const [command, ...words] = runner
  const child = spawn(command, [...words, '--no-warnings', '--require', preload, path], {
    cwd: projectRoot,
    env: { ...environment, ...ofWine, ...(mark && { [markName]: mark }), TAP_TIMEOUT: String(maxTestSeconds) },
    stdio: ['ignore', output.fd, output.fd],
    // A group of its own, so that programs which the test has started end with it.
    detached: canEndGroup
  })
  running.add(child)
  let isTooLate = false
  const limit = setTimeout(() => {
    isTooLate = true
    end(child)
  }, maxFileSeconds * 1000)
  const [code, signal] = await once(child, 'close')
  clearTimeout(limit)
  if (mark !== undefined) endMarked(markName, mark)
  running.delete(child)
  const lines = output.take().split('\n')
  const counts = lines.findLast((line) => line.startsWith('# { total:')) ?? ''
  const count = (key) => Number(new RegExp(`\\b${key}: (\\d+)`).exec(counts)?.[1] ?? 0)
  const isWell = code === 0 && counts !== '' && count('fail') === 0
  return {
    name,
    seconds: (performance.now() - start) / 1000,
    passed: count('pass'),
    failed: isWell ? 0 : Math.max(count('fail'), 1),
    tests: lines.flatMap(
      (line) => /^(?<verdict>(?:not )?ok) \d+ - (?<title>.*?)(?: # time=.*)?$/.exec(line)?.groups ?? []
    ),
    skipped: lines.filter((line) => /^\s*ok .*# SKIP/.test(line)).map((line) => line.trim().replace(/^ok \d+ - /, '')),
    comments: lines
      .filter((line) => /^ +# (?!Subtest:|test count)/.test(line))
      .map((line) => line.replace(/^ +# /, '')),
    problems: isWell ? '' : describe()
  }

  function describe() {
    const shown = withoutEmptySubtests(
      lines.filter((line) => line.trim() !== '' && !/^\s*(ok \d|TAP version|\d+\.\.\d+)/.test(line))
    )
    if (isTooLate) shown.push(`${name} was ended after ${maxFileSeconds} s.`)
    else if (counts === '' || signal !== null)
      shown.push(`${name} ended with ${signal ?? `exit code ${code}`} before all tests were done.`)
    return shown.join('\n')
  }
}

function limitsFor({ TEST_LENGTH }) {
  if (windowsNode !== undefined) return limitsOfWine
  return TEST_LENGTH === 'long' ? limitsOfNight : limits
}

/** A file: Node for Windows writes to no pipe of another system. */
function openOutput() {
  const folder = mkdtempSync(join(tmpdir(), 'async-crud-mcp-output-'))
  const path = join(folder, 'tap')
  const fd = openSync(path, 'a')
  return {
    fd,
    take() {
      closeSync(fd)
      const text = readFileSync(path, 'utf8')
      rmSync(folder, { recursive: true, force: true })
      return text
    }
  }
}

/** Leaves out the headings of subtests of which nothing is shown. */
function withoutEmptySubtests(lines) {
  const depth = (line) => line.search(/\S/)
  return lines.filter((line, index) => {
    if (!/^\s*# Subtest:/.test(line)) return true
    // The first line that is no deeper ends the subtest.
    const rest = lines.slice(index + 1)
    const end = rest.findIndex((other) => depth(other) <= depth(line))
    return rest.slice(0, end === -1 ? rest.length : end).some((other) => !/^\s*# Subtest:/.test(other))
  })
}

function end({ pid }) {
  try {
    process.kill(canEndGroup ? -pid : pid, 'SIGKILL')
  } catch (error) {
    if (error.code !== 'ESRCH') throw error
  }
}
