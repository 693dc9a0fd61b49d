// Runs the program once after a build, so that what Node compiles of it is kept for the next start (src/program/cli/compile-cache.ts). What the first
// run has used is what is kept: it serves a read over HTTP and over MCP.
// usage: node scripts/warm.mjs <main file of the program>
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'

const limitMs = 20_000

const [program] = process.argv.slice(2)

await run()

/** Never fails: a program that has not been warmed is slower at its first starts, and no worse. */
async function run() {
  const folder = mkdtempSync(join(tmpdir(), 'async-crud-mcp-warm-'))
  const signal = AbortSignal.timeout(limitMs)
  let server
  try {
    const port = await findPort()
    const env = { ...process.env, ASYNC_CRUD_MCP_CONFIG: '' }
    const args = [program, '--transport', 'dual', '--dir', folder, '--port', String(port)]
    server = spawn(process.execPath, args, { env, stdio: ['pipe', 'pipe', 'ignore'] })
    const ended = once(server, 'exit', { signal })
    const lines = createInterface({ input: server.stdout })
    await ask('initialize', {
      protocolVersion: '2025-11-25',
      capabilities: {},
      clientInfo: { name: 'warm', version: '1' }
    })
    await ask('tools/list', {})
    await ask('tools/call', { name: 'async_write', arguments: { path: 'f', content: 'one\n' } })
    await ask('read_file', { name: 'f' })
    const body = JSON.stringify({ path: 'f' })
    const headers = { 'content-type': 'application/json' }
    await (await fetch(`http://127.0.0.1:${port}/async_read`, { method: 'POST', headers, body, signal })).text()
    server.stdin.end()
    await ended

    async function ask(method, params) {
      server.stdin.write(`${JSON.stringify({ jsonrpc: '2.0', id: method, method, params })}\n`)
      await once(lines, 'line', { signal })
    }
  } catch {
    if (server?.pid !== undefined && server.exitCode === null && server.signalCode === null) {
      server.kill('SIGKILL')
      await once(server, 'exit')
    }
  } finally {
    rmSync(folder, { recursive: true, force: true, maxRetries: 5 })
  }
}

async function findPort() {
  const server = createServer().listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address()
  server.close()
  await once(server, 'close')
  return port
}
