// What JSON in pieces buys while four clients write and read files of 10 MB: how late a small read of another client is answered, and how
// long the event loop is held, with the program as it is and with JSON.parse or JSON.stringify of the whole in its place.
// usage: node bench/alternatives/large-json.mjs [rounds] (run npm run build first; a round takes about a minute and a half)
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { performance } from 'node:perf_hooks'
import { setTimeout as delay } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { freePorts } from '../../dist/test/fixtures/free-ports.js'
import { makeFolder } from './install.mjs'

const dist = new URL('../../dist/src/', import.meta.url)
const self = fileURLToPath(import.meta.url)
const [clients, measuredMs, betweenMs] = [4, 5000, 5]
const content = `${'The "quick" brown fox\tjumps over the lazy dog, and says: naïve.\n'.repeat(16)}\n`
  .repeat(9800)
  .slice(0, 10_000_000)

/** What stands in place of a module. */
const plainParse = `
  export const parseInPieces = async (bytes) => JSON.parse(bytes.toString())
  export async function inTurns(work) { while (work.next().done !== true); }
  export { endOfString } from '${new URL('support/parse-large.js', dist).href}?own'`
const plainEncode = `
  export const isLarge = () => false
  export const encodeInPieces = async (value) => [Buffer.from(JSON.stringify(value))]`
const ways = {
  'in pieces': {},
  'JSON.parse': { 'parse-large.js': plainParse },
  'JSON.stringify': { 'encode-large.js': plainEncode },
  'both whole': { 'parse-large.js': plainParse, 'encode-large.js': plainEncode }
}
const doors = { REST: overRest, 'standard input': overStdio, 'through a relay': overRelay }

const state = makeFolder()
const [first = '3', url] = process.argv.slice(2)
if (first === 'small') await readSmall(url)
else await compare(Number(first))

async function compare(rounds) {
  const found = new Map()
  for (let round = 0; round < rounds; round++)
    for (const [door, open] of Object.entries(doors))
      for (const [way, modules] of Object.entries(ways)) {
        const key = `${door}, ${way}`
        found.set(key, [...(found.get(key) ?? []), await open(modules)])
        console.error(`${round + 1} ${key} ${JSON.stringify(found.get(key).at(-1))}`)
      }
  const columns = ['p99', 'max', 'held', 'relay', 'calls']
  console.log('| large calls | small read, p99 ms | slowest ms | loop held ms | that of the relay | large calls |')
  console.log('| --- | --- | --- | --- | --- | --- |')
  for (const [key, figures] of found)
    console.log(`| ${key} | ${columns.map((name) => spread(figures.map((each) => each[name]))).join(' | ')} |`)
}

/** The median, and the least and the most. */
function spread(values) {
  if (values[0] === undefined) return ''
  const sorted = values.toSorted((a, b) => a - b)
  return `${sorted[Math.floor(sorted.length / 2)]} (${sorted[0]} to ${sorted.at(-1)})`
}

async function overRest(modules) {
  const server = await startServer(makeFolder(), ['http'], modules)
  return measure(server, undefined, (name, input) => callRest(server.url, name, input))
}

async function overStdio(modules) {
  const server = await startServer(makeFolder(), ['dual'], modules)
  return measure(server, undefined, callerOf(server.child))
}

async function overRelay(modules) {
  const root = makeFolder()
  const server = await startServer(root, ['http'], modules)
  const relay = await startServer(root, ['stdio'], modules)
  return measure(server, relay, callerOf(relay.child))
}

async function measure(server, relay, call) {
  await callRest(server.url, 'async_write', { path: 'small', content: 'one\n' })
  const over = new AbortController()
  let calls = 0
  const large = Array.from({ length: clients }, async (_, client) => {
    for (let turn = 0; !over.signal.aborted; turn++) {
      const path = `large-${client}-${turn}`
      await call('async_write', { path, content })
      await call('async_read', { path })
      await callRest(server.url, 'async_delete', { path, expected_hash: null })
      calls += 2
    }
  })
  await delay(1000)
  for (const { child } of [server, relay ?? server]) child.kill('SIGWINCH')
  const reader = spawn(process.execPath, [self, 'small', server.url], { stdio: ['ignore', 'pipe', 'inherit'] })
  const times = JSON.parse(await textOf(reader.stdout)).sort((a, b) => a - b)
  const held = [server, relay].map((each) => each?.held())
  over.abort()
  await Promise.all(large)
  for (const each of [relay, server]) await each?.stop()
  const [own, ofRelay] = await Promise.all(held)
  const at = (share) => Math.round(times[Math.min(times.length - 1, Math.floor(times.length * share))])
  return { p99: at(0.99), max: at(1), held: own, relay: ofRelay, calls }
}

/** In a process of its own, whose event loop no large call holds. */
async function readSmall(url) {
  const times = []
  const end = performance.now() + measuredMs
  while (performance.now() < end) {
    const began = performance.now()
    await callRest(url, 'async_read', { path: 'small' })
    times.push(performance.now() - began)
    await delay(betweenMs)
  }
  process.stdout.write(JSON.stringify(times))
}

async function callRest(url, name, input) {
  const headers = { 'content-type': 'application/json', 'x-agent-id': 'ann' }
  const answer = await fetch(`${url}/${name}`, { method: 'POST', headers, body: JSON.stringify(input) })
  const bytes = Buffer.from(await answer.arrayBuffer())
  if (!answer.ok) throw new Error(`${name}: ${bytes.toString()}`)
}

function callerOf(child) {
  const waiting = new Map()
  let parts = []
  child.stdout.on('data', (chunk) => {
    for (let from = 0; ;) {
      const end = chunk.indexOf(0x0a, from)
      parts.push(chunk.subarray(from, end === -1 ? undefined : end))
      if (end === -1) return
      const head = Buffer.concat(parts.map((part) => part.subarray(0, 200))).toString()
      parts = []
      from = end + 1
      const id = Number(/"id":(\d+)/.exec(head)[1])
      if (!head.includes('"result"')) throw new Error(head)
      waiting.get(id)()
    }
  })
  let lastId = 0
  return (method, params) => {
    const id = ++lastId
    child.stdin.write(`${JSON.stringify({ jsonrpc: '2.0', id, method, params })}\n`)
    return new Promise((resolve) => waiting.set(id, resolve))
  }
}

async function startServer(root, [transport], modules) {
  const folder = makeFolder()
  const [port] = await freePorts(1)
  const preload = join(folder, 'preload.mjs')
  const heldFile = join(folder, 'held')
  writeFileSync(join(folder, 'hooks.mjs'), hooksFor(modules))
  writeFileSync(
    preload,
    `import { register } from 'node:module'
     import { isMainThread } from 'node:worker_threads'
     import { writeFileSync } from 'node:fs'
     import { monitorEventLoopDelay } from 'node:perf_hooks'
     register('./hooks.mjs', import.meta.url)
     const delay = monitorEventLoopDelay({ resolution: 1 })
     if (isMainThread) process.on('SIGWINCH', () => {
       writeFileSync(${JSON.stringify(heldFile)}, String(Math.round(delay.max / 1e6)))
       delay.reset()
       delay.enable()
     })`
  )
  const main = fileURLToPath(new URL('main.js', dist))
  const args = ['--import', preload, main, '--dir', root, '--transport', transport]
  const child = spawn(process.execPath, [...args, ...(transport === 'stdio' ? [] : ['--port', String(port)])], {
    stdio: ['pipe', 'pipe', 'pipe'],
    env: { ...process.env, XDG_STATE_HOME: state }
  })
  if (transport === 'http') child.stdout.resume()
  let log = ''
  const ready = new Promise((resolve, reject) => {
    child.stderr.on('data', (chunk) => {
      log += chunk
      if (log.includes(transport === 'stdio' ? 'starting' : 'authority of the tree')) resolve()
    })
    child.once('exit', () => reject(new Error(log)))
  })
  await ready
  return {
    child,
    url: `http://127.0.0.1:${port}`,
    /** The longest since the signal before, in milliseconds. */
    async held() {
      rmSync(heldFile, { force: true })
      child.kill('SIGWINCH')
      for (;;) {
        await delay(20)
        try {
          const text = readFileSync(heldFile, 'utf8')
          if (text !== '') return Number(text)
        } catch {}
      }
    },
    async stop() {
      const exited = once(child, 'exit')
      child.kill('SIGTERM')
      await exited
    }
  }
}

function hooksFor(modules) {
  return `const modules = ${JSON.stringify(modules)}
    export async function load(url, context, next) {
      const source = modules[/\\/support\\/([^/]+)$/.exec(url)?.[1]]
      return source === undefined ? next(url, context) : { format: 'module', source, shortCircuit: true }
    }`
}

async function textOf(stream) {
  const chunks = []
  for await (const chunk of stream) chunks.push(chunk)
  return Buffer.concat(chunks).toString()
}
