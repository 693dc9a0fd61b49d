// Runs suites of one host, unchanged, on three instances behind HAProxy that etcd elects; without names those that are known to run so.
// usage: npm run test:hosts -- [name ...]
// With --volume gluster, tests of several hosts on a volume that each host mounts for itself; with nfs or sshfs, that it is refused.
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, mkdtempSync, rmSync } from 'node:fs'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { parseArgs } from 'node:util'

const suites = [
  'operations/concurrency',
  'operations/gone-files',
  'operations/leases/',
  'operations/lease-group',
  'operations/listing',
  'operations/merge',
  'operations/parity',
  'operations/parts',
  'operations/readers/notices',
  'operations/readers/properties',
  'operations/readers/seen',
  'operations/readers/versions',
  'operations/receipts',
  'operations/spellings',
  'operations/transactions/changes',
  'operations/transactions/snapshots',
  'operations/transactions/undo',
  'operations/transactions/undo-names',
  'transports/mcp/direct-http',
  'transports/mcp/mcp',
  'harness/contenders/contenders',
  'harness/swarm/swarm',
  'tree/authority/authority',
  'tree/authority/clock',
  'tree/authority/hand-over',
  'tree/authority/health',
  'tree/authority/places'
]

const onGluster = ['bricks', 'clocks', 'cut-host', 'faults', 'fencing', 'linear', 'network', 'unreachable']
const suitesOn = { gluster: onGluster, nfs: ['renames'], sshfs: ['renames'] }

const { values: given, positionals: names } = parseArgs({
  options: { volume: { type: 'string' } },
  allowPositionals: true
})
if (given.volume === undefined) await startEtcd()
else useVolume(given.volume)
const usual = given.volume === undefined ? suites : suitesOn[given.volume].map((name) => `coordinator/${name}`)
process.argv.splice(2, process.argv.length, ...(names.length === 0 ? usual : names))
// Each has a volume of a dozen processes, which do not wait, and hosts whose lease lasts two seconds.
if (given.volume === 'gluster') process.argv.push('--at-once=1')
await import('./test.mjs')
process.exit()

function useVolume(kind) {
  if (!Object.hasOwn(suitesOn, kind)) {
    console.error(`--volume ${kind} is none: ${Object.keys(suitesOn).join(', ')}`)
    process.exit(1)
  }
  process.env.TEST_LENGTH ??= 'full'
  if (kind === 'gluster') process.env.TEST_VOLUME = kind
}

/** One node, to which the instances that the suites start are told to go. */
async function startEtcd() {
  const [client, peer] = await freePorts(2)
  // In memory, if there is such a folder: etcd waits for each of its writes, and the suites keep the disk busy.
  const folder = mkdtempSync(join(existsSync('/dev/shm') ? '/dev/shm' : tmpdir(), 'async-crud-mcp-etcd-'))
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
  while (!(await isHealthy(urls.client))) await delay(50)

  Object.assign(process.env, {
    TEST_BEHIND: 'balancer',
    ASYNC_CRUD_MCP_TREE__COORDINATOR: 'etcd',
    ASYNC_CRUD_MCP_TREE__ETCD_ENDPOINTS: JSON.stringify([urls.client]),
    ASYNC_CRUD_MCP_TREE__ETCD_TTL_SECONDS: process.env.ASYNC_CRUD_MCP_TREE__ETCD_TTL_SECONDS ?? '5',
    ASYNC_CRUD_MCP_TREE__RELAY_SECRET: 'a secret of the tree',
    ASYNC_CRUD_MCP_TREE__ADVERTISE: '127.0.0.1:0'
  })
}

async function isHealthy(url) {
  try {
    return (await (await fetch(`${url}/health`)).json()).health === 'true'
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
