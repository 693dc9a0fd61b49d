// A host that is cut off from its volume leaves, though no relay asks it for anything, and the next host knows the leases that it has answered.
import t, { type Test } from 'tap'
import type { Answer } from '../../fixtures/clients.ts'
import { post } from '../../fixtures/processes.ts'
import { until } from '../../fixtures/until.ts'
import { lacksEtcd } from './fixtures/etcd.ts'
import { testInNamespaces } from './fixtures/in-namespaces.ts'
import { lacksNamespaces } from './fixtures/network.ts'
import { makeTwoMachines, token } from './fixtures/two-machines.ts'
import { lacksBricks } from './fixtures/volumes.ts'
import { roleOf } from './fixtures/writers.ts'

t.setTimeout(300_000)

async function cutAndWait(t: Test): Promise<void> {
  const { tree, machines, start } = await makeTwoMachines(t, { 'a.txt': '' })
  const first = await start(0)
  const ask = (url: string, operation: string, agent_id: string, more = {}): Promise<Answer> =>
    post(url, operation, { filepaths: [tree.path('a.txt')], agent_id, ...more }, token)
  const second = await start(1)
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
