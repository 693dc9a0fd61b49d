// What docs/observability.md promises, kept by the server's own log writer and by rotating-file-stream: node bench/alternatives/log-rotation.mjs
// Run npm run build first. Starts itself as the processes that write: <writer> <how it ends> <path> <lines> <limit in KB>.
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import {
  chmodSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  statSync,
  symlinkSync,
  writeFileSync
} from 'node:fs'
import { basename, dirname, join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { gunzipSync } from 'node:zlib'
import { install, makeFolder } from './install.mjs'

const self = fileURLToPath(import.meta.url)
const wanted = 'rotating-file-stream@3'
const lineOf = (index) => `${JSON.stringify({ level: 30, pid: process.pid, index, msg: 'x'.repeat(100) })}\n`

/** Each: opens a log of that path and limit, and gives how to write a line. */
const writers = {
  async ours(path, kilobytes) {
    const { createLogWriter } = await import('../../dist/src/program/logs/log-writer.js')
    return createLogWriter({ path, maxBytes: kilobytes * 1024, keepMs: 86_400_000, fallback: process.stderr })
  },
  async other(path, kilobytes) {
    const { createStream } = await import(process.env.OTHER)
    const options = { path: `${dirname(path)}/`, size: `${kilobytes}K`, interval: '1d', compress: 'gzip', mode: 0o600 }
    const stream = createStream(basename(path), { ...options, maxFiles: 1000 })
    await once(stream, 'open')
    return stream
  }
}

if (process.argv.length > 2) await writeLines(...process.argv.slice(2))
else await compare()

async function writeLines(writer, end, path, lines, kilobytes) {
  const log = await writers[writer](path, Number(kilobytes))
  const start = performance.now()
  for (let index = 0; index < Number(lines); index += 1) {
    log.write(lineOf(index))
    // As in a server, which does something else meanwhile.
    if (!end.startsWith('burst') && index % 10 === 0) await delay(5)
    if (end === 'moved' && index === 999) renameSync(path, `${path}.moved`)
  }
  if (end === 'SIGKILL') process.kill(process.pid, 'SIGKILL')
  if (end === 'throw') throw new Error('an unexpected failure')
  if (end.endsWith('exit')) process.exit(1)
  const writtenMs = performance.now() - start
  if (writer === 'other') await new Promise((resolve) => log.end(resolve))
  process.stdout.write(JSON.stringify({ writtenMs, doneMs: performance.now() - start }))
}

async function compare() {
  process.env.OTHER = install(makeFolder(), wanted)
  const kept = (end, lines, kilobytes) => async (writer) => `${(await run(writer, end, lines, kilobytes)).kept.size}`
  const rows = {
    'lines of 2,000 kept, ended by SIGKILL': kept('SIGKILL', 2000),
    'lines of 2,000 kept, ended by throw': kept('throw', 2000),
    'lines of 2,000 kept, ended by exit': kept('exit', 2000),
    'lines of 20,000 kept, of a burst ended by exit': kept('burst and exit', 20_000, 1000),
    'lines of 8,000 kept, 4 processes, set aside at 100 KB': together,
    'lines of 2,000 found under the path, moved away after 1,000': moved,
    'rights of the files': rights,
    'a link in the place of the file': linked,
    '20,000 lines, set aside at 1 MB: until write returned, until all were in files': time
  }
  console.log(`| | own writer | ${wanted} |\n| --- | --- | --- |`)
  for (const [what, measure] of Object.entries(rows))
    console.log(`| ${what} | ${await measure('ours')} | ${await measure('other')} |`)
}

/** @returns the lines that are in the files of the log then, and what the process printed */
async function run(writer, end, lines, kilobytes = 100, path = join(makeFolder(), 'server.log')) {
  const child = spawn(process.execPath, [self, writer, end, path, lines, kilobytes], {
    stdio: ['ignore', 'pipe', 'ignore']
  })
  let printed = ''
  child.stdout.on('data', (bytes) => (printed += bytes))
  await once(child, 'close')
  return { path, printed, ...readLog(path) }
}

async function together(writer) {
  const path = join(makeFolder(), 'server.log')
  await Promise.all(Array.from({ length: 4 }, () => run(writer, 'end', 2000, 100, path)))
  const { kept, torn } = readLog(path)
  return `${kept.size}, ${torn} torn`
}

async function moved(writer) {
  const { path } = await run(writer, 'moved', 2000, 10_000)
  const found = readdirSync(dirname(path)).includes('server.log')
    ? readFileSync(path, 'utf8').split('\n').length - 1
    : 0
  return `${found}`
}

async function rights(writer) {
  const { path } = await run(writer, 'end', 2000)
  const folder = dirname(path)
  const modes = readdirSync(folder).map((name) => (statSync(join(folder, name)).mode & 0o777).toString(8))
  return [...new Set(modes)].join(', ')
}

async function linked(writer) {
  const folder = makeFolder()
  chmodSync(folder, 0o755)
  mkdirSync(join(folder, 'logs'))
  const [path, target] = [join(folder, 'logs/server.log'), join(folder, 'of somebody else')]
  writeFileSync(target, '')
  symlinkSync(target, path)
  await run(writer, 'end', 10, 100, path)
  return lstatSync(target).size > 0 ? 'is followed' : 'is refused'
}

async function time(writer) {
  const { writtenMs, doneMs } = JSON.parse((await run(writer, 'burst', 20_000, 1000)).printed)
  return `${writtenMs.toFixed(0)} ms, ${doneMs.toFixed(0)} ms`
}

function readLog(path) {
  const kept = new Set()
  let torn = 0
  for (const name of readdirSync(dirname(path))) {
    if (name.endsWith('.txt')) continue
    const bytes = readFileSync(join(dirname(path), name))
    const text = (name.endsWith('.gz') ? unpack(bytes) : bytes).toString()
    for (const line of text.split('\n').filter((line) => line !== '')) {
      try {
        const { pid, index } = JSON.parse(line)
        kept.add(`${pid} ${index}`)
      } catch {
        torn += 1
      }
    }
  }
  return { kept, torn }
}

/** A file that its process did not live to finish has what can be read of it. */
function unpack(bytes) {
  try {
    return gunzipSync(bytes)
  } catch {
    return Buffer.alloc(0)
  }
}
