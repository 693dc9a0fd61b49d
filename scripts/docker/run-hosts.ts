// Runs docker/compose.hosts.yaml without an engine: each service in a network of its own, under its name, by its own command and settings.
// Each host takes a change, and each is lost for a while: the balancer then has the change made by the other one.
// Runs in the namespaces of `intoNamespaces`. Argument: HostsRun, as JSON.
import { execFileSync, spawn, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { mkdirSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { request, type IncomingMessage } from 'node:http'
import { join } from 'node:path'
import { json } from 'node:stream/consumers'
import { untilWithin } from '../../test/fixtures/until.ts'
import { createNetworks, type Machine } from '../../test/tree/coordinator/fixtures/network.ts'
import { createContainer } from './container.ts'
import { readHostsCompose } from './hosts-compose.ts'

export interface HostsRun {
  /** docker/compose.hosts.yaml */
  readonly compose: string
  /** What docker/.env says. TREE is there, and empty. */
  readonly variables: Readonly<Record<string, string>>
  readonly uid: number
  /** The root of the image that the hosts run, and what the image says of how it is run. */
  readonly image: string
  readonly env: Readonly<Record<string, string>>
  readonly command: readonly string[]
  readonly healthcheck: readonly string[]
  /** For what the other services write. */
  readonly scratch: string
}

/** Where the name server of an engine answers in each container. */
const dnsAddress = '127.0.0.11'
/** By this name clients on the machine of the containers call the balancer. */
const published = '127.0.0.1:8720'
const limitSeconds = 60

const { compose, variables, uid, image, env, command, healthcheck, scratch } = JSON.parse(
  process.argv[2] ?? ''
) as HostsRun
const tree = variables['TREE'] ?? ''
const { services, configs } = readHostsCompose(compose, variables)
const machines = new Map<string, Machine>()
const running = new Map<string, ChildProcess>()
const logs = new Map<string, string>()
const ends: (() => void)[] = []
/** Hosts whose machine is gone for now. */
const lost = new Set<string>()
let isOver = false

try {
  await startAll()
  await tryThem()
} catch (error) {
  for (const [name, log] of logs) console.error(`${name}: ${log.slice(-2000)}`)
  throw error
} finally {
  isOver = true
  for (const child of running.values()) child.kill('SIGKILL')
  for (const end of ends) end()
}

async function startAll(): Promise<void> {
  const network = createNetworks()
  for (const name of Object.keys(services))
    machines.set(name, await network.addMachine({ teardown: (end) => ends.push(end) }))
  const hosts = join(scratch, 'hosts')
  const lines = Object.keys(services).map((name) => `${addressOf(name)} ${name}\n`)
  writeFileSync(hosts, `127.0.0.1 localhost\n${lines.join('')}`)
  execFileSync('mount', ['--bind', hosts, '/etc/hosts'])

  for (const [name, service] of Object.entries(services)) {
    if (name.startsWith('etcd-')) {
      const words = (service.command ?? '').split(' ')
      mkdirSync(join(scratch, name))
      keepRunning(name, () => runIn(name, ...words.map((word) => (word === '/data' ? join(scratch, name) : word))))
    }
    if (name.startsWith('host-')) startHost(name)
  }
  const settings = join(scratch, 'haproxy.cfg')
  writeFileSync(settings, configs.haproxy.content)
  const dns = ['--keep-in-foreground', '--no-resolv', '--no-hosts', `--addn-hosts=${hosts}`, '--user=root']
  keepRunning('dns', () => runIn('balancer', 'dnsmasq', ...dns, `--listen-address=${dnsAddress}`, '--bind-interfaces'))
  keepRunning('balancer', () => runIn('balancer', 'haproxy', '-db', '-f', settings))
}

function startHost(name: string): void {
  keepRunning(name, () => containerOf(name).start(command))
}

/** As `restart: unless-stopped` has it. */
function keepRunning(name: string, start: () => ChildProcess): void {
  const child = start()
  running.set(name, child)
  for (const stream of [child.stdout, child.stderr])
    stream?.on('data', (data: Buffer) => logs.set(name, (logs.get(name) ?? '') + data.toString()))
  child.once('exit', () => {
    if (!isOver && !lost.has(name)) keepRunning(name, start)
  })
}

function runIn(name: string, ...words: string[]): ChildProcess {
  const [program = '', ...args] = [...(machines.get(name)?.prefix ?? []), ...words]
  return spawn(program, args, { stdio: ['ignore', 'pipe', 'pipe'] })
}

function containerOf(name: string) {
  const { environment } = services[name]!
  return createContainer({ image, tree, env: { ...env, ...environment }, uid, prefix: machines.get(name)!.prefix })
}

async function tryThem(): Promise<void> {
  const names = Object.keys(services).filter((name) => name.startsWith('host-'))
  for (const name of names) await untilHealthy(name)
  for (const name of names) await untilMade(`by ${name}`, name)
  const { uid: owner } = statSync(join(tree, 'notes.txt'))
  if (owner !== uid) throw new Error(`what was written belongs to ${owner}, not to ${uid}`)
  for (const name of names) {
    const killed = running.get(name)!
    lost.add(name)
    killed.kill('SIGKILL')
    await once(killed, 'exit')
    await untilMade(`without ${name}`, 'balancer')
    lost.delete(name)
    startHost(name)
    await untilHealthy(name)
  }
  const made = readFileSync(join(tree, 'notes.txt'), 'utf8')
  const expected = [...names.map((name) => `by ${name}\n`), ...names.map((name) => `without ${name}\n`)].join('')
  if (made !== expected) throw new Error(`notes.txt has ${JSON.stringify(made)}`)
  console.log(`${Object.keys(services).join(', ')}: they serve the tree, also without one of the hosts`)
}

function untilHealthy(name: string): Promise<void> {
  return untilWithin(limitSeconds, `${name} is healthy`, () => isHealthy(name))
}

async function isHealthy(name: string): Promise<boolean> {
  const child = containerOf(name).start(healthcheck)
  const [code] = (await once(child, 'exit')) as [number | null]
  return code === 0
}

/** Once: the name of the request makes the repeats harmless. @param by the service that is asked */
function untilMade(line: string, by: string): Promise<void> {
  const input = {
    path: 'notes.txt',
    content: `${line}\n`,
    agent_id: 'check',
    create_if_missing: true,
    request_id: line
  }
  return untilWithin(limitSeconds, `the line "${line}"`, async () => {
    const answer = await ask(by, 'POST', '/async_append', input).catch(() => undefined)
    return answer?.['status'] === 'ok'
  })
}

function addressOf(name: string): string | undefined {
  return machines.get(name)?.addressOn('hosts')
}

async function ask(name: string, method: string, path: string, body?: object): Promise<Record<string, unknown>> {
  const headers = {
    host: published,
    authorization: `Bearer ${variables['ASYNC_CRUD_MCP_DAEMON__TOKEN']}`,
    'content-type': 'application/json'
  }
  const call = request({ host: addressOf(name), port: 8720, method, path, headers, agent: false })
  call.end(body === undefined ? undefined : JSON.stringify(body))
  const [answer] = (await once(call, 'response')) as [IncomingMessage]
  return (await json(answer)) as Record<string, unknown>
}
