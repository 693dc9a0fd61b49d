// Builds, starts the demo's agents on a server of their own, and does both anew whenever a source changes: npm run dev
// With arguments the server starts alone, with these: npm run dev -- --dir ~/app
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { readdirSync, readFileSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { projectRoot } from './prepare.mjs'

/** What runs. Tests and benchmarks change nothing of it. */
const watched = ['schemas', 'src', 'plugins', 'board', 'scripts']
/** The files are looked at, which is the same on all systems. */
const lookMs = 300

const args = process.argv.slice(2)
const parent = process.ppid
const ending = new AbortController()
let program

for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP']) process.on(signal, end)
await follow()

/** Builds what has stayed the same between two looks: an editor saves in several steps, and several files at once. */
async function follow() {
  let seen = look()
  let tried
  while (!ending.signal.aborted) {
    const isSettled = look() === seen
    if (isSettled && seen !== tried) {
      tried = seen
      await refresh()
    }
    seen = look()
    await delay(lookMs)
    // npm passes a signal to its shell only, which dies of it.
    if (process.platform !== 'win32' && process.ppid !== parent) await end()
  }
}

function look() {
  const files = watched.flatMap((folder) =>
    readdirSync(join(projectRoot, folder), { recursive: true }).map((name) => join(projectRoot, folder, name))
  )
  return files.map((path) => `${path} ${stampOf(path)}`).join('\n')
}

function stampOf(path) {
  const { mtimeMs, size } = statSync(path, { throwIfNoEntry: false }) ?? {}
  return `${mtimeMs} ${size}`
}

async function refresh() {
  const before = builtSources()
  const isBuilt = await build()
  if (isBuilt && !ending.signal.aborted && (program === undefined || builtSources() !== before)) await restart()
}

/** What the last build was made of. */
function builtSources() {
  try {
    return readFileSync(join(projectRoot, 'dist', '.sources'), 'utf8')
  } catch {
    return undefined
  }
}

/** False if it fails: the compiler has said why, and what runs goes on. */
async function build() {
  const child = run(['scripts/run.mjs', '--build-only'])
  const [code] = await once(child, 'exit')
  return code === 0
}

async function restart() {
  const isFirst = program === undefined
  await stop()
  const demo = ['dist/scripts/demo.js', ...(isFirst ? [] : ['--no-open'])]
  const started = run(args.length === 0 ? demo : ['dist/main.cjs', ...args])
  program = started
  started.once('exit', (code, signal) => {
    if (started === program && !ending.signal.aborted)
      say(`the program ended (${signal ?? code}); it starts again with the next change`)
  })
}

async function stop() {
  const stopped = program
  if (!stopped || stopped.exitCode !== null || stopped.signalCode !== null) return
  program = null
  const ended = once(stopped, 'exit')
  stopped.kill('SIGTERM')
  await ended
}

async function end() {
  if (ending.signal.aborted) return
  ending.abort()
  await stop()
  process.exit()
}

function run(command) {
  const [file, ...rest] = command
  return spawn(process.execPath, [join(projectRoot, file), ...rest], { stdio: 'inherit' })
}

function say(message) {
  process.stderr.write(`dev: ${message}\n`)
}
