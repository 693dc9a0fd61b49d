// What a watch over 10,000 files in use costs and sees, by the server and by chokidar: node bench/alternatives/watching.mjs [chokidar@<version>]
// Run npm run build first. Linux only: watches are counted in /proc.
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdirSync, readdirSync, readFileSync, renameSync, unlinkSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { monitorEventLoopDelay } from 'node:perf_hooks'
import { setTimeout as delay } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { install, makeFolder } from './install.mjs'

const self = fileURLToPath(import.meta.url)
const dist = new URL('../../dist/src/', import.meta.url)
const [fileCount, folderCount, replacedFolders] = [10_000, 1000, 100]
/** No report for so long is the end. */
const quietMs = 4000
const nameOf = (index) => `d${index % folderCount}/file-${index}.ts`
const names = Array.from({ length: fileCount }, (_, index) => nameOf(index))
const inReplaced = names.filter((name) => Number(/\d+/.exec(name)[0]) < replacedFolders)

/** What other programs do to files. */
const changes = {
  'by temporary file and rename': (path) => {
    writeFileSync(`${path}.tmp`, `renamed ${path}`)
    renameSync(`${path}.tmp`, path)
  },
  'in place': (path) => writeFileSync(path, `in place ${path}`),
  'by unlink and write': (path) => {
    unlinkSync(path)
    writeFileSync(path, `written ${path}`)
  }
}

const [role, subject, ...rest] = process.argv.slice(2)
if (role === 'child') process.stdout.write(JSON.stringify(await measure(subject, ...rest)))
else if (role === 'change') change(subject, rest[0])
else await compare(role ?? 'chokidar@5')

async function compare(wanted) {
  process.env.OTHER = install(makeFolder(), wanted)
  const outcomes = {}
  for (const watcher of ['chokidar', 'server']) {
    outcomes[watcher] = { cost: await run(watcher, 'cost') }
    for (const kind of [...Object.keys(changes), 'in new folders']) outcomes[watcher][kind] = await run(watcher, kind)
  }
  const { chokidar, server } = outcomes
  const rows = [
    { what: 'inotify watches', value: ({ cost }) => cost.watches },
    { what: 'until ready', value: ({ cost }) => `${cost.readyMs} ms` },
    { what: 'longest stall of the event loop meanwhile', value: ({ cost }) => `${cost.stallMs} ms` },
    { what: 'memory', value: ({ cost }) => `${cost.megabytes} MB` }
  ]
  for (const kind of Object.keys(chokidar).slice(1))
    rows.push(
      {
        what: `files changed ${kind}: reported of ${chokidar[kind].wanted}`,
        value: (outcome) => outcome[kind].reported
      },
      { what: 'calls of the listener', value: (outcome) => outcome[kind].calls },
      { what: 'longest stall', value: (outcome) => `${outcome[kind].stallMs} ms` }
    )
  console.log(`| 10,000 files in 1,000 folders | ${wanted} | the server |\n| --- | ---: | ---: |`)
  for (const { what, value } of rows) console.log(`| ${what} | ${value(chokidar)} | ${value(server)} |`)
}

async function run(watcher, kind) {
  const child = spawn(process.execPath, ['--expose-gc', self, 'child', watcher, kind], {
    stdio: ['ignore', 'pipe', 'inherit']
  })
  let printed = ''
  child.stdout.on('data', (bytes) => (printed += bytes))
  await once(child, 'close')
  return JSON.parse(printed)
}

async function measure(watcher, kind) {
  const root = makeFolder()
  for (const name of names) {
    mkdirSync(dirname(join(root, name)), { recursive: true })
    writeFileSync(join(root, name), `first ${name}`)
  }
  const outcome = kind === 'cost' ? await measureCost(watcher, root) : await measureChanges(watcher, root, kind)
  // What it has printed goes out first; a watcher would keep the process.
  setTimeout(() => process.exit(), 100)
  return outcome
}

async function measureCost(watcher, root) {
  globalThis.gc()
  const before = process.memoryUsage.rss()
  const stall = watchStall()
  const start = performance.now()
  if (watcher === 'chokidar') await startChokidar(root, () => {})
  else await startFolders(root)
  const readyMs = Math.round(performance.now() - start)
  const stallMs = await stall()
  globalThis.gc()
  const megabytes = Math.round((process.memoryUsage.rss() - before) / 1_048_576)
  return { readyMs, stallMs, megabytes, watches: countWatches() }
}

async function measureChanges(watcher, root, kind) {
  const seen = new Set()
  let [calls, last] = [0, performance.now()]
  const report = (path, count = 1) => {
    calls += count
    last = performance.now()
    if (path !== undefined) seen.add(path)
  }
  await (watcher === 'chokidar' ? startChokidar(root, report) : startServer(root, report))
  const isNew = kind === 'in new folders'
  if (isNew) {
    await once(spawn(process.execPath, [self, 'change', 'folders', root]), 'exit')
    await untilQuiet(() => last)
    seen.clear()
    calls = 0
  }
  const stall = watchStall()
  await once(spawn(process.execPath, [self, 'change', kind, root]), 'exit')
  last = performance.now()
  await untilQuiet(() => last)
  const wanted = (isNew ? inReplaced : names).map((name) => join(root, name))
  return {
    wanted: wanted.length,
    reported: wanted.filter((path) => seen.has(path)).length,
    calls,
    stallMs: await stall()
  }
}

async function untilQuiet(last) {
  while (performance.now() - last() < quietMs) await delay(100)
}

async function startChokidar(root, report) {
  const { watch } = await import(process.env.OTHER)
  const watcher = watch(root, { ignoreInitial: true })
  watcher.on('all', (_event, path) => report(path))
  await once(watcher, 'ready')
}

/** What of the server asks the system for watches. */
async function startFolders(root) {
  const { createFolders } = await import(new URL('engine/watcher/folders.js', dist))
  const ignore = () => {}
  const folders = createFolders({ roots: [root], onFile: ignore, onFolder: ignore, onAsleep: ignore, onFlood: ignore })
  for (const name of names) folders.add(join(root, name))
}

/** The whole of it, told by its notices alone, without a look at all files now and then. */
async function startServer(root, report) {
  const { createApp } = await import(new URL('app.js', dist))
  const { loadConfig } = await import(new URL('config/config.js', dist))
  const settings = {
    crud: { base_directories: [root] },
    watcher: { rescan_seconds: 0 },
    daemon: { log_level: 'silent' }
  }
  const app = await createApp({ config: loadConfig(settings), version: 'bench' })
  await app.ready()
  const call = { caller: { transport: 'internal', agentId: 'bench' }, signal: new AbortController().signal }
  for (const name of names) await app.call('async_read', { path: name }, call)
  await delay(1000)
  // A change in bulk is known file by file, and reported once.
  app.history.onEntry(({ steps, isBulk }) => report(steps[0].path, isBulk ? 0 : 1))
  app.watcher.onBulk(() => report())
}

function watchStall() {
  const histogram = monitorEventLoopDelay({ resolution: 1 })
  histogram.enable()
  return async () => {
    await delay(10)
    histogram.disable()
    return Math.max(0, Math.round(histogram.max / 1e6) - 1)
  }
}

function countWatches() {
  const fds = readdirSync('/proc/self/fdinfo').flatMap((fd) => {
    try {
      return [readFileSync(`/proc/self/fdinfo/${fd}`, 'utf8')]
    } catch {
      // The descriptor of the listing itself.
      return []
    }
  })
  return fds
    .join('\n')
    .split('\n')
    .filter((line) => line.startsWith('inotify ')).length
}

function change(kind, root) {
  if (kind === 'folders') return replaceFolders(root)
  const [act, chosen] = kind === 'in new folders' ? [changes['in place'], inReplaced] : [changes[kind], names]
  for (const name of chosen) act(join(root, name))
}

/** Another folder of the same name, with files of the same names. */
function replaceFolders(root) {
  for (let index = 0; index < replacedFolders; index += 1) {
    renameSync(join(root, `d${index}`), join(root, `old-${index}`))
    mkdirSync(join(root, `d${index}`))
  }
  for (const name of inReplaced) writeFileSync(join(root, name), `again ${name}`)
}
