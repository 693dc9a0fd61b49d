// Runs suites of one host, unchanged, on three instances behind HAProxy that etcd elects; without names those that are known to run so.
// usage: npm run test:hosts -- [name ...]
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'

const suites = [
  'operations/concurrency',
  'operations/leases/',
  'operations/lease-group',
  'operations/merge',
  'harness/contenders/contenders',
  'harness/swarm/swarm',
  'tree/authority/authority',
  'tree/authority/clock',
  'tree/authority/hand-over',
  'tree/authority/health',
  'tree/authority/places',
  'tree/authority/take-over'
]

const [client, peer] = await freePorts(2)
const folder = mkdtempSync(join(tmpdir(), 'async-crud-mcp-etcd-'))
const urls = { client: `http://127.0.0.1:${client}`, peer: `http://127.0.0.1:${peer}` }
const listen = ['--listen-client-urls', urls.client, '--listen-peer-urls', urls.peer]
const advertise = ['--advertise-client-urls', urls.client, '--initial-advertise-peer-urls', urls.peer]
const etcd = spawn(
  'etcd',
  ['--data-dir', folder, ...listen, ...advertise, '--initial-cluster', `default=${urls.peer}`],
  { stdio: 'ignore' }
)
etcd.once('error', (error) => {
  console.error(`etcd cannot be started: ${error.message}. Install it: apt-get install etcd-server haproxy`)
  process.exit(1)
})
process.once('exit', () => {
  etcd.kill('SIGKILL')
  rmSync(folder, { recursive: true, force: true, maxRetries: 10 })
})
while (!(await isHealthy())) await delay(50)

Object.assign(process.env, {
  TEST_BEHIND: 'balancer',
  ASYNC_CRUD_MCP_TREE__COORDINATOR: 'etcd',
  ASYNC_CRUD_MCP_TREE__ETCD_ENDPOINTS: JSON.stringify([urls.client]),
  ASYNC_CRUD_MCP_TREE__ETCD_TTL_SECONDS: process.env.ASYNC_CRUD_MCP_TREE__ETCD_TTL_SECONDS ?? '5',
  ASYNC_CRUD_MCP_TREE__RELAY_SECRET: 'a secret of the tree',
  ASYNC_CRUD_MCP_TREE__ADVERTISE: '127.0.0.1:0'
})
const names = process.argv.slice(2)
process.argv.splice(2, names.length, ...(names.length === 0 ? suites : names))
await import('./test.mjs')
process.exit()

async function isHealthy() {
  try {
    return (await (await fetch(`${urls.client}/health`)).json()).health === 'true'
  } catch {
    return false
  }
}

async function freePorts(count) {
  const servers = Array.from({ length: count }, () => createServer().listen(0, '127.0.0.1'))
  await Promise.all(servers.map((server) => once(server, 'listening')))
  const ports = servers.map((server) => server.address().port)
  await Promise.all(servers.map((server) => new Promise((resolve) => server.close(resolve))))
  return ports
}
