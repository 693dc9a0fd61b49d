// A host that is cut off from its volume leaves, though no relay asks it for anything, and the next host knows the leases that it has answered.
import t, { type Test } from 'tap'
import type { Answer } from '../../fixtures/clients.ts'
import { post } from '../../fixtures/processes.ts'
import { until } from '../../fixtures/until.ts'
import { lacksEtcd, startEtcd } from './fixtures/etcd.ts'
import { startHost } from './fixtures/hosts.ts'
import { testInNamespaces } from './fixtures/in-namespaces.ts'
import { createNetworks, lacksNamespaces, type Machine } from './fixtures/network.ts'
import { lacksBricks, makeVolume, type Mount } from './fixtures/volumes.ts'
import { roleOf } from './fixtures/writers.ts'

t.setTimeout(300_000)
const token = 'a token of the clients'

async function cutAndWait(t: Test): Promise<void> {
  const network = createNetworks()
  const etcd = await startEtcd(t, 1, network.ownAddress('etcd'))
  const machines = [await network.addMachine(t), await network.addMachine(t)] as const
  const { tree, mounts } = await makeVolume(t, {
    files: { 'a.txt': '' },
    clients: machines,
    address: network.ownAddress('volume')
  })
  const start = (machine: Machine, mount: Mount) => {
    const environment = {
      ASYNC_CRUD_MCP_DAEMON__HOST: machine.addressOn('clients'),
      ASYNC_CRUD_MCP_DAEMON__TOKEN: token,
      ASYNC_CRUD_MCP_TREE__ADVERTISE: `${machine.addressOn('hosts')}:0`
    }
    return startHost(t, { etcd, ...mount, environment, prefix: machine.prefix })
  }
  const first = await start(machines[0], mounts[0]!)
  const ask = (url: string, operation: string, agent_id: string, more = {}): Promise<Answer> =>
    post(url, operation, { filepaths: [tree.path('a.txt')], agent_id, ...more }, token)
  const second = await start(machines[1], mounts[1]!)
  await until(async () => (await roleOf({ program: second }, token)) === 'relay')
  t.match(await ask(first.url, 'lock_try', 'ann', { ttl_seconds: 1 }), { all_acquired: true })
  const granted = ask(first.url, 'lock_wait', 'bob')
  await until(async () => (await ask(first.url, 'lock_status', 'ann'))['results'][0].queue_depth === 1)

  machines[0].cut('volume')
  const answer = await granted
  await until(async () => (await roleOf({ program: second }, token)) === 'authority')
  await until(() => first.process.exitCode !== null)
  t.equal(first.process.exitCode, 1, 'it leaves, though no other host has asked it for anything')
  const { held_by_me } = (await ask(second.url, 'lock_status', 'bob'))['results'][0]
  t.ok(held_by_me || answer['all_acquired'] !== true, JSON.stringify(answer))
}

testInNamespaces('a host without its volume leaves', lacksEtcd || lacksNamespaces || lacksBricks, cutAndWait)
