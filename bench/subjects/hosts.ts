// What several hosts cost: reads and durable appends at the authority and at a relay, on one host and on two; the rate behind a balancer.
import { holdPlace, lacksBalancer, startBalancer } from '../../test/tree/coordinator/fixtures/balancer.ts'
import { lacksEtcd, startEtcd, type Etcd } from '../../test/tree/coordinator/fixtures/etcd.ts'
import { startHost } from '../../test/tree/coordinator/fixtures/hosts.ts'
import { renewals as renewalsOfLease } from '../../src/tree/coordinator/etcd.ts'
import { createEtcdClient } from '../../src/tree/coordinator/etcd-client.ts'
import { postHead } from '../../test/fixtures/raw-http.ts'
import { startProgram } from '../../test/fixtures/server.ts'
import { makeTree, type Tree } from '../../test/fixtures/tree.ts'
import { withOwner, type Owner } from '../owner.ts'
import { RawConnection } from '../load/raw-connection.ts'
import { median } from '../statistics.ts'
import { figure, printTable, whole, type Row } from '../table.ts'

const rounds = 7
const calls = 60
const connections = 16
const maxHosts = 3
const leaseSeconds = 5

type Call = () => Promise<void>

export async function hosts(): Promise<void> {
  console.log('\n## hosts: one tree on several hosts')
  const lacks = lacksEtcd || lacksBalancer
  if (lacks !== false) return console.log(`skipped: ${lacks}`)
  await withOwner(measureCalls)
  await withOwner(measureRates)
  await withOwner(measureLeases)
}

async function measureCalls(owner: Owner): Promise<void> {
  const etcd = await startEtcd(owner)
  const [one, several] = [makeTree(owner, { f: 'one\n'.repeat(256) }), makeTree(owner, { f: 'one\n'.repeat(256) })]
  const urls = {
    'one host, authority': (await startProgram(owner, ['--dir', one.root])).url,
    'one host, relay': (await startProgram(owner, ['--dir', one.root])).url,
    'two hosts, authority': (await startHost(owner, { etcd, tree: several })).url,
    'two hosts, relay': (await startHost(owner, { etcd, tree: several })).url
  }
  const members = []
  for (const [name, url] of Object.entries(urls)) {
    await fetch(`${url}/locks`)
    const connection = await RawConnection.open(url, owner)
    members.push({
      name,
      calls: [
        send(connection, url, 'async_read', { path: 'f' }),
        send(connection, url, 'async_append', { path: 'log', content: 'a line\n', create_if_missing: true })
      ],
      times: [[], []] as [number[], number[]]
    })
  }
  for (let round = 0; round < rounds; round += 1)
    for (const { calls: both, times } of members)
      for (const [index, call] of both.entries()) times[index]?.push(await timeEach(call))
  const rows = members.map(({ name, times }): Row => [name, ...times.map((each) => whole(median(each) * 1000))])
  printTable('a call on one connection, us', ['process', 'read 1 KB', 'durable append'], rows)
}

/** What bounds the number of trees: each renews one lease three times in its time. Three nodes on this machine. */
async function measureLeases(owner: Owner): Promise<void> {
  const { endpoints } = await startEtcd(owner, 3)
  const access = { username: '', password: '', ca: null, cert: null, key: null, timeoutMs: 10_000 }
  const client = createEtcdClient({ ...access, endpoints })
  const rows: Row[] = []
  for (const trees of [100, 400]) {
    const held = Array.from({ length: trees }, (_, n) => async () => {
      const { lease } = await client.grant(60)
      await client.elect(`/bench/${trees}/${n}`, 'a host', lease)
      return lease
    })
    const leases: string[] = []
    const elections = await rateOf(held.map((elect) => async () => void leases.push(await elect())))
    const renewals = await rateOf(leases.map((lease) => async () => void (await client.keepAlive(lease))))
    const bearable = (renewals * leaseSeconds) / renewalsOfLease
    rows.push([whole(trees), whole(elections), whole(renewals), whole(bearable)])
  }
  const title = `${connections} requests at a time at one of three nodes of etcd`
  printTable(title, ['trees', 'elections/s', 'renewals/s', `trees with leases of ${leaseSeconds} s`], rows)
}

/** A second. */
async function rateOf(all: readonly Call[]): Promise<number> {
  const start = performance.now()
  const rest = all.values()
  await Promise.all(
    Array.from({ length: connections }, async () => {
      for (const call of rest) await call()
    })
  )
  return (1000 * all.length) / (performance.now() - start)
}

/** The balancer gives each connection's requests to the hosts in turn. */
async function measureRates(owner: Owner): Promise<void> {
  const etcd = await startEtcd(owner)
  const rows: Row[] = []
  for (let count = 1; count <= maxHosts; count += 1)
    rows.push(await withOwner((own) => measureRate(own, etcd, makeTree(own, { f: 'one\n'.repeat(256) }), count)))
  printTable(
    `behind a balancer, ${connections} connections, a second`,
    ['hosts', 'reads 1 KB', 'durable appends'],
    rows
  )
}

async function measureRate(owner: Owner, etcd: Etcd, tree: Tree, count: number): Promise<Row> {
  const place = await holdPlace()
  const environment = { ASYNC_CRUD_MCP_DAEMON__ALLOWED_HOSTS: JSON.stringify([place.host]) }
  const members = []
  for (let n = 0; n < count; n += 1) members.push(await startHost(owner, { etcd, tree, environment }))
  for (const { url } of members) await fetch(`${url}/locks`)
  const url = await startBalancer(owner, place, members)
  const all = await Promise.all(Array.from({ length: connections }, () => RawConnection.open(url, owner)))
  const rates: string[] = []
  for (const [name, input] of [
    ['async_read', () => ({ path: 'f' })],
    ['async_append', (n: number) => ({ path: `log-${n}`, content: 'a line\n', create_if_missing: true })]
  ] as const) {
    const each = all.map((connection, n) => send(connection, url, name, input(n)))
    const measured: number[] = []
    for (let round = 0; round < rounds; round += 1) {
      const ms = await Promise.all(each.map(timeEach))
      measured.push((1000 * connections) / Math.max(...ms))
    }
    rates.push(figure(median(measured)))
  }
  return [whole(count), ...rates]
}

function send(connection: RawConnection, url: string, operation: string, input: object): Call {
  const body = JSON.stringify({ agent_id: 'bench', ...input })
  const head = postHead(url, `/${operation}`, `content-length: ${body.length}`)
  const bytes = Buffer.from(head + body)
  return async () => {
    const { status } = await connection.send(bytes)
    if (status !== 200) throw new Error(`${operation} was answered ${status}`)
  }
}

/** Milliseconds of one call. */
async function timeEach(call: Call): Promise<number> {
  const start = performance.now()
  for (let done = 0; done < calls; done += 1) await call()
  return (performance.now() - start) / calls
}
