// Builds the image without an engine and tries what it makes: health check, one MCP call, owner of what is written, nothing else writable.
// usage: npm run docker:check
import { spawn, spawnSync, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { chownSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync } from 'node:fs'
import { createServer, type AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { setTimeout as delay } from 'node:timers/promises'
import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client'
import { build } from './build.ts'
import { readCompose } from './compose.ts'
import { checkHostsCompose } from './hosts-compose.ts'
import { createContainer, type Container } from './container.ts'
import { parseDockerfile } from './dockerfile.ts'
import type { HostsRun } from './run-hosts.ts'
import { intoNamespaces, lacksNamespaces } from '../../test/tree/coordinator/fixtures/network.ts'
import { installed } from '../../src/support/installation.ts'

const context = installed('./')
const uid = 54_321
const token = 'the token of this check'
/** Debian has some servers where only root looks. */
const pathWithAdmin = { ...process.env, PATH: `${process.env['PATH']}:/usr/sbin` }

const scratch = mkdtempSync(join(tmpdir(), 'async-crud-mcp-image-'))
try {
  await check()
  console.log('the image builds and serves')
} finally {
  rmSync(scratch, { recursive: true, force: true })
}

async function check(): Promise<void> {
  const stages = parseDockerfile(readFileSync(join(context, 'docker/Dockerfile'), 'utf8'))
  const image = stages.at(-1)
  if (image === undefined) throw new Error('the Dockerfile has no stage')
  if (image.user === undefined || image.user === 'root') throw new Error('the image runs as root')
  const variables = { UID: String(uid), GID: String(uid), TREE: '/tree', ASYNC_CRUD_MCP_DAEMON__TOKEN: token }
  const compose = readCompose(join(context, 'docker/compose.yaml'), variables)
  if (!compose.volumes.some(({ target }) => target === '/state')) throw new Error('the state has no volume')
  const ofHosts = { ...variables, RELAY_SECRET: 'the secret of this check' }
  const composeOfHosts = join(context, 'docker/compose.hosts.yaml')
  checkHostsCompose(composeOfHosts, ofHosts, scratch)
  const root = build(stages, { context, scratch })
  const tree = makeTree('tree')
  // The port of the image may be taken here.
  const port = await freePort()
  const env = { ...image.env, ...compose.environment, ASYNC_CRUD_MCP_DAEMON__PORT: String(port) }
  const setup = { image: root, tree, state: join(root, 'state'), uid }
  const container = createContainer({ ...setup, env })
  console.log(`started: ${container.kind}`)
  await refuseWithoutToken(createContainer({ ...setup, env: { ...env, ASYNC_CRUD_MCP_DAEMON__TOKEN: '' } }), image)
  const server = container.start([...image.entrypoint, ...image.command])
  const log = text(server.stderr as NodeJS.ReadableStream)
  try {
    await untilHealthy(container, image.healthcheck, server)
    await write(port)
    const { uid: owner } = statSync(join(tree, 'written.txt'))
    if (container.uid !== undefined && owner !== container.uid)
      throw new Error(`what was written belongs to ${owner}, not to ${container.uid}`)
    if (container.isReadOnly) await nothingElseIsWritable(container)
  } catch (error) {
    server.kill('SIGKILL')
    console.error(await log)
    throw error
  }
  server.kill('SIGTERM')
  const [code] = (await once(server, 'exit')) as [number | null]
  if (code !== 0) throw new Error(`SIGTERM ended it with ${code}`)
  const kept = readdirSync(join(root, 'state'), { recursive: true, encoding: 'utf8' })
  if (!kept.some((name) => /trees\/\w+\/state$/.test(name)))
    throw new Error('no state was kept in the volume at /state')
  await runHosts({
    compose: composeOfHosts,
    variables: { ...ofHosts, TREE: makeTree('tree-of-hosts') },
    uid,
    image: root,
    env: image.env,
    command: [...image.entrypoint, ...image.command],
    healthcheck: image.healthcheck,
    scratch
  })
  checkWithDocker(ofHosts)
}

function makeTree(name: string): string {
  const tree = join(scratch, name)
  mkdirSync(tree)
  if (process.getuid?.() === 0) chownSync(tree, uid, uid)
  return tree
}

/** The services of the other file, all of them. */
async function runHosts(run: HostsRun): Promise<void> {
  const lacks = whyNotRun()
  if (lacks !== undefined) return console.log(`not done: docker/compose.hosts.yaml is not run, since ${lacks}`)
  const [unshare = '', ...options] = intoNamespaces
  const script = installed('dist/scripts/docker/run-hosts.js')
  const child = spawn(unshare, [...options, process.execPath, script, JSON.stringify(run)], {
    stdio: 'inherit',
    env: pathWithAdmin
  })
  const [code] = (await once(child, 'exit')) as [number | null]
  if (code !== 0) throw new Error(`docker/compose.hosts.yaml does not serve its tree: ${code}`)
}

function whyNotRun(): string | undefined {
  if (process.getuid?.() !== 0) return 'that needs root'
  if (lacksNamespaces !== false) return `it ${lacksNamespaces}`
  const missing = ['etcd', 'haproxy', 'dnsmasq'].filter(
    (program) => spawnSync(program, ['--version'], { env: pathWithAdmin }).error !== undefined
  )
  return missing.length === 0
    ? undefined
    : `${missing.join(', ')} is missing: apt-get install etcd-server haproxy dnsmasq-base`
}

/** It can be reached from elsewhere: without a token it must not run. */
async function refuseWithoutToken(
  container: Container,
  { entrypoint, command }: { entrypoint: readonly string[]; command: readonly string[] }
): Promise<void> {
  const { code, output } = await finish(container.start([...entrypoint, ...command]))
  if (code !== 1 || !output.includes('--token')) throw new Error(`without a token it ended with ${code}: ${output}`)
}

/** By the very command of the image, as often as an engine would call it while the container starts. */
async function untilHealthy(container: Container, healthcheck: readonly string[], server: ChildProcess): Promise<void> {
  for (let attempt = 0; attempt < 40; attempt += 1) {
    const { code, output } = await finish(container.start(healthcheck))
    if (code === 0) return
    if (server.exitCode !== null) throw new Error(`the server ended with ${server.exitCode}`)
    if (attempt === 39) throw new Error(`not healthy: ${output}`)
    await delay(250)
  }
}

async function write(port: number): Promise<void> {
  const client = new Client({ name: 'check', version: '1' }, { versionNegotiation: { mode: 'auto' } })
  const headers = { authorization: `Bearer ${token}` }
  await client.connect(
    new StreamableHTTPClientTransport(new URL(`http://127.0.0.1:${port}/mcp`), { requestInit: { headers } })
  )
  const { structuredContent } = await client.callTool({
    name: 'async_write',
    arguments: { path: 'written.txt', content: 'from a container\n' }
  })
  await client.close()
  const { status } = structuredContent as { status?: string }
  if (status !== 'ok') throw new Error(`async_write answered ${JSON.stringify(structuredContent)}`)
}

async function nothingElseIsWritable(container: Container): Promise<void> {
  const attempt =
    'for f in /app/x /x /usr/x /etc/x; do touch $f 2>&1; done; touch /tmp/x /tree/x /state/x && rm /tree/x && echo done'
  const { output } = await finish(container.start(['sh', '-c', attempt]))
  const refusals = output.match(/Read-only file system/g) ?? []
  if (refusals.length !== 4 || !output.endsWith('done\n'))
    throw new Error(`more, or less, can be written than should be: ${output}`)
}

async function finish(child: ChildProcess): Promise<{ code: number | null; output: string }> {
  const streams = [child.stdout, child.stderr] as NodeJS.ReadableStream[]
  const [outputs, [code]] = await Promise.all([
    Promise.all(streams.map((stream) => text(stream))),
    once(child, 'exit') as Promise<[number | null]>
  ])
  return { code, output: outputs.join('') }
}

async function freePort(): Promise<number> {
  const server = createServer().listen(0, '0.0.0.0')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  server.close()
  await once(server, 'close')
  return port
}

/** Where Docker Compose is, its own reader of the two files has a look; it needs no engine. */
function checkWithDocker(variables: Readonly<Record<string, string>>): void {
  const options = { encoding: 'utf8', env: { ...process.env, ...variables } } as const
  if (spawnSync('docker', ['compose', 'version'], options).status !== 0) {
    console.log('not done: docker compose config, since Docker Compose is not here')
    return
  }
  for (const name of ['compose.yaml', 'compose.hosts.yaml']) {
    const args = ['compose', '-f', join(context, 'docker', name), 'config', '-q']
    const { status, stderr } = spawnSync('docker', args, options)
    if (status !== 0) throw new Error(`docker compose config, ${name}: ${stderr}`)
  }
}
