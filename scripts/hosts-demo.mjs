// Several hosts on this machine: three nodes of etcd, two hosts of one tree, and HAProxy in front of them (docs/hosts.md).
// usage: npm run hosts:demo                 until Ctrl+C
//        npm run hosts:demo -- --check      kills the authority, shows that the next one goes on, and ends
import { spawn, spawnSync } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { mkdirSync, mkdtempSync, openSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { fail, prepare, projectRoot } from './prepare.mjs'

const first = Number(process.env.HOSTS_DEMO_PORT ?? 8830)
const balancer = `127.0.0.1:${first}`
const ports = [first + 1, first + 2]
const endpoints = [0, 1, 2].map((n) => `http://127.0.0.1:${first + 10 + 2 * n}`)
const peers = [0, 1, 2].map((n) => `http://127.0.0.1:${first + 11 + 2 * n}`)

// Debian puts it where only root looks.
const path = `${process.env.PATH}:/usr/sbin`
requireProgram('etcd', '--version', 'etcd-server')
requireProgram('haproxy', '-v', 'haproxy')
prepare()
const folder = mkdtempSync(join(tmpdir(), 'async-crud-mcp-hosts-'))
const tree = join(folder, 'tree')
mkdirSync(tree)
const children = new Map()
let isStopping = false
process.once('SIGINT', () => stop(0))
process.once('SIGTERM', () => stop(0))

for (const n of [0, 1, 2]) {
  const listen = ['--listen-client-urls', endpoints[n], '--listen-peer-urls', peers[n]]
  const advertise = ['--advertise-client-urls', endpoints[n], '--initial-advertise-peer-urls', peers[n]]
  const cluster = ['--initial-cluster', peers.map((peer, index) => `n${index}=${peer}`).join(',')]
  const place = ['--name', `n${n}`, '--data-dir', join(folder, `etcd-${n}`)]
  start(`etcd-${n}`, 'etcd', [...place, ...listen, ...advertise, ...cluster])
}

const secret = randomBytes(24).toString('hex')
for (const [index, port] of ports.entries()) startHost(index, port)

writeFileSync(
  join(folder, 'haproxy.cfg'),
  `defaults
  mode http
  timeout connect 2s
  timeout client 2m
  timeout server 2m
  option redispatch
  option abortonclose
  retries 3
  retry-on conn-failure
frontend tree
  bind ${balancer}
  default_backend hosts
backend hosts
  balance roundrobin
  option httpchk
  http-check send meth GET uri /health ver HTTP/1.1 hdr Host ${balancer}
  default-server check inter 500ms fall 2 rise 1 on-marked-down shutdown-sessions
${ports.map((port, index) => `  server host-${index} 127.0.0.1:${port}`).join('\n')}
`
)
start('haproxy', 'haproxy', ['-db', '-f', join(folder, 'haproxy.cfg')])

await untilMade('the first line')
console.log(`The tree ${tree} is served at http://${balancer} by two hosts. Their logs are in ${folder}. Try:

curl -s http://${balancer}/async_append -H 'content-type: application/json' \\
  -d '{"path": "notes.txt", "content": "a line\\n", "agent_id": "me", "create_if_missing": true}'
curl -s http://127.0.0.1:${ports[0]}/health
kill -9 ${[...children].flatMap(([name, { pid }]) => (name.startsWith('host-') ? pid : [])).join(' or ')}

A host that ends is started again. Ctrl+C ends all, and removes them.`)
if (process.argv.includes('--check')) await check()

async function check() {
  const pid = await authorityPid()
  process.kill(pid, 'SIGKILL')
  const since = performance.now()
  await untilMade('the second line')
  console.log(
    `\nThe authority, process ${pid}, was killed: changes again after ${Math.round(performance.now() - since)} ms.`
  )
  const lines = readFileSync(join(tree, 'notes.txt'), 'utf8')
  await stop(lines === 'the first line\nthe second line\n' ? 0 : 1)
}

/** The other host may still be starting, or not know yet who leads. */
async function authorityPid() {
  for (;;) {
    for (const port of ports)
      try {
        const { authority_pid: pid } = await (await fetch(`http://127.0.0.1:${port}/health`)).json()
        if (pid !== undefined) return pid
      } catch {
        // Nothing listens yet.
      }
    await delay(50)
  }
}

function requireProgram(program, question, debianPackage) {
  const { status } = spawnSync(program, [question], { env: { ...process.env, PATH: path } })
  if (status !== 0) fail(`${program} is missing: apt-get install ${debianPackage}`)
}

function start(name, program, args, environment = {}) {
  const log = openSync(join(folder, `${name}.log`), 'a')
  const child = spawn(program, args, {
    stdio: ['ignore', log, log],
    env: { ...process.env, PATH: path, ...environment }
  })
  child.once('error', (error) => fail(`${program} cannot be started: ${error.message}`))
  children.set(name, child)
  return child
}

function startHost(index, port) {
  const name = `host-${index}`
  const home = join(folder, `home-${index}`)
  mkdirSync(home, { recursive: true })
  const args = [
    join(projectRoot, 'dist/main.cjs'),
    '--dir',
    tree,
    '--port',
    String(port),
    '--etcd',
    endpoints.join(',')
  ]
  const child = start(name, process.execPath, args, {
    HOME: home,
    XDG_DATA_HOME: home,
    ASYNC_CRUD_MCP_CONFIG: '',
    ASYNC_CRUD_MCP_TREE__RELAY_SECRET: secret,
    ASYNC_CRUD_MCP_TREE__ADVERTISE: `127.0.0.1:${port + 4}`,
    ASYNC_CRUD_MCP_DAEMON__ALLOWED_HOSTS: JSON.stringify([balancer])
  })
  child.once('exit', async () => {
    await delay(500)
    if (!isStopping) startHost(index, port)
  })
}

/** One line, once: the name of the request makes the repeats harmless. */
async function untilMade(line) {
  for (;;) {
    try {
      const response = await fetch(`http://${balancer}/async_append`, {
        method: 'POST',
        headers: { 'content-type': 'application/json', connection: 'close' },
        body: JSON.stringify({
          path: 'notes.txt',
          content: `${line}\n`,
          agent_id: 'demo',
          request_id: line,
          create_if_missing: true
        })
      })
      if ((await response.json()).status === 'ok') return
    } catch {
      // Nothing listens yet.
    }
    await delay(50)
  }
}

async function stop(code) {
  if (isStopping) return
  isStopping = true
  const running = [...children.values()].filter(({ exitCode, signalCode }) => exitCode === null && signalCode === null)
  const ended = running.map((child) => new Promise((resolve) => child.once('exit', resolve)))
  for (const child of running) child.kill('SIGTERM')
  const limit = setTimeout(() => running.forEach((child) => child.kill('SIGKILL')), 5000)
  await Promise.all(ended)
  clearTimeout(limit)
  rmSync(folder, { recursive: true, force: true })
  process.exit(code)
}
