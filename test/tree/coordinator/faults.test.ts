// Hosts of one tree while nodes of etcd stop, come back and die.
import { once } from 'node:events'
import t from 'tap'
import { isFull, isLong } from '../../fixtures/length.ts'
import { cannotStop, healthOf, post } from '../../fixtures/processes.ts'
import { runProgram } from '../../fixtures/server.ts'
import { makeTree } from '../../fixtures/tree.ts'
import { until } from '../../fixtures/until.ts'
import { lacksEtcd, startEtcd, type Etcd } from './fixtures/etcd.ts'
import { startHost, ttlSeconds } from './fixtures/hosts.ts'
import { lacksVolume, makeVolume } from './fixtures/volumes.ts'

t.setTimeout(300_000)
/** From the end of a fault until changes are made again. */
const backMs = (ttlSeconds + 3) * 1000

/** The nodes may elect more than once after a stop. */
async function untilLeader({ endpoints }: Etcd): Promise<number> {
  let found = -1
  await until(async () => {
    const statuses = await Promise.all(
      endpoints.map(async (endpoint) => {
        const response = await fetch(`${endpoint}/v3/maintenance/status`, { method: 'POST', body: '{}' })
        return (await response.json()) as { header?: { member_id: string }; leader?: string }
      })
    )
    found = statuses.findIndex(({ header, leader }) => leader !== undefined && header?.member_id === leader)
    return found !== -1
  })
  return found
}

const skip = lacksEtcd || lacksVolume || cannotStop
t.test('two of three nodes stop and come back, then the leader dies', { skip }, async (t) => {
  const etcd = await startEtcd(t, 3)
  const { tree, mounts } = await makeVolume(t, { files: { 'a.txt': '' }, clients: [{}, {}] })
  const [own, others] = [mounts[0]!, mounts[1]!]
  const hosts = [await startHost(t, { etcd, ...own }), await startHost(t, { etcd, ...others })]
  const made: string[] = []
  let count = 0

  /** Asks one host, then the other: of two one may have ended. @returns the answer, if one came */
  async function append(): Promise<Record<string, unknown> | undefined> {
    const line = `line ${(count += 1)}`
    const { url } = hosts[count % hosts.length] as { url: string }
    try {
      const answer = await post(url, 'async_append', {
        path: tree.path('a.txt'),
        content: `${line}\n`,
        agent_id: 'one'
      })
      if (answer['status'] === 'ok') made.push(line)
      return answer
    } catch {
      return undefined
    }
  }

  const isMade = async () => (await append())?.['status'] === 'ok'
  const authorities = async () => {
    const roles = await Promise.all(
      hosts.map(({ url }) =>
        healthOf(url).then(
          ({ role }) => role,
          () => 'none'
        )
      )
    )
    return roles.filter((role) => role === 'authority').length
  }
  await until(isMade)
  t.equal(await authorities(), 1)
  t.match(await Promise.all(hosts.map(async ({ url }) => (await healthOf(url))['hosts'])), [
    { authority: /^127\.0\.0\.1:\d+$/, etcd: { length: 3 } },
    { authority: /^127\.0\.0\.1:\d+$/, etcd: { length: 3 } }
  ])
  const doctor = await runProgram(['doctor', '--dir', own.tree.root, '--json'], {
    HOME: makeTree(t).root,
    ASYNC_CRUD_MCP_TREE__COORDINATOR: 'etcd',
    ASYNC_CRUD_MCP_TREE__ETCD_ENDPOINTS: JSON.stringify(etcd.endpoints),
    ASYNC_CRUD_MCP_TREE__RELAY_SECRET: 'a secret of the tree'
  })
  const { findings } = JSON.parse(doctor.stdout) as { findings: { check: string; verdict: string; message: string }[] }
  const found = findings.filter(({ check }) => check === 'hosts')
  t.match(found.map(({ verdict }) => verdict).join(), /^(?:ok,?){5}$/)
  t.match(found[0]?.message, /answers in \d+ ms: epoch \d+, served at 127\.0\.0\.1:\d+/)

  const stopped = etcd.nodes.slice(0, 2)
  for (const node of stopped) node.kill('SIGSTOP')
  const stoppedAt = performance.now()
  t.ok(await isMade(), 'the authority goes on without etcd')
  let lastMade = performance.now()
  let refusal: Record<string, unknown> | undefined
  while (refusal === undefined) {
    const answer = await append()
    if (answer?.['status'] === 'ok') lastMade = performance.now()
    else refusal = answer
  }
  t.comment(`changes went on for ${Math.round(lastMade - stoppedAt)} ms without etcd`)
  if (isLong) t.ok(lastMade - stoppedAt < ttlSeconds * 1000, 'until its lease ends')
  t.match(refusal, { error_code: /OVERLOADED|AUTHORITY_LOST/ })
  const readAll = hosts.map(async ({ url }) => {
    const ask = { path: tree.path('a.txt'), agent_id: 'two' }
    const [read, bare] = await Promise.all([post(url, 'async_read', ask), post(url, 'read_file', { name: 'a.txt' })])
    t.match(read, { status: 'ok', notices: [{ type: 'no_authority', path: tree.path('a.txt') }] })
    t.match(bare, { error: {} }, 'no room for the notice')
  })
  await Promise.all(readAll)
  for (const node of stopped) node.kill('SIGCONT')
  const continuedAt = performance.now()
  await until(isMade)
  const back = performance.now() - continuedAt
  t.comment(`changes again ${Math.round(back)} ms after two of three nodes go on`)
  if (isLong) t.ok(back < backMs)

  // The host that made the last change: the other may have ended, as one does that lost the tree.
  const read = await post(hosts[count % hosts.length]?.url ?? '', 'async_read', { path: 'a.txt', agent_id: 'two' })
  t.notMatch(read, { notices: [{ type: 'no_authority' }] })
  etcd.nodes[await untilLeader(etcd)]?.kill('SIGKILL')
  const killedAt = performance.now()
  let last = killedAt
  let gap = 0
  while (performance.now() - killedAt < (isFull ? 2 : 1) * ttlSeconds * 1000) {
    if (!(await isMade())) continue
    gap = Math.max(gap, performance.now() - last)
    last = performance.now()
  }
  t.comment(`longest pause after the death of the leader: ${Math.round(gap)} ms`)
  t.ok(last > killedAt)
  if (isLong) t.ok(gap < backMs)
  // One that was stopped by a busy machine says so until it looks.
  await until(async () => (await authorities()) === 1)
  const lines = tree.read('a.txt').split('\n')
  t.strictSame(
    made.filter((line) => lines.filter((other) => other === line).length !== 1),
    [],
    `of ${made.length} lines`
  )
})

t.test('a host that starts while etcd is silent waits for it, and ends if it stays so', { skip }, async (t) => {
  const etcd = await startEtcd(t)
  const [node] = etcd.nodes
  const { mounts } = await makeVolume(t, { files: { 'a.txt': '' }, clients: [{}, {}] })
  const append = { path: 'a.txt', content: '.', agent_id: 'one' }
  node?.kill('SIGSTOP')
  const patient = await startHost(t, {
    etcd,
    ...mounts[0]!,
    environment: { ASYNC_CRUD_MCP_DAEMON__AUTHORITY_TIMEOUT_SECONDS: '250' }
  })
  await until(() => patient.stderr.some((line) => /etcd does not answer.*asks again for 250 s/.test(line)))
  t.match(await post(patient.url, 'async_append', append), { error_code: 'OVERLOADED' })
  const impatient = await startHost(t, {
    etcd,
    ...mounts[1]!,
    environment: { ASYNC_CRUD_MCP_DAEMON__AUTHORITY_TIMEOUT_SECONDS: '0.1' }
  })
  const [code] =
    impatient.process.exitCode === null ? await once(impatient.process, 'exit') : [impatient.process.exitCode]
  t.equal(code, 1)
  node?.kill('SIGCONT')
  await until(async () => (await post(patient.url, 'async_append', append))['status'] === 'ok')
})
