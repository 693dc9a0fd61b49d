// A host that cannot read what the hosts before it have left of leases does not serve the tree without it.
import { mkdirSync, readdirSync, renameSync, rmdirSync } from 'node:fs'
import { once } from 'node:events'
import t from 'tap'
import type { Answer } from '../../fixtures/clients.ts'
import { healthOf, post } from '../../fixtures/processes.ts'
import { makeTree } from '../../fixtures/tree.ts'
import { until } from '../../fixtures/until.ts'
import { lacksEtcd, startEtcd } from './fixtures/etcd.ts'
import { startHost } from './fixtures/hosts.ts'

t.test('leases that cannot be read for a while', { skip: lacksEtcd }, async (t) => {
  const tree = makeTree(t, { 'a.txt': '' })
  const etcd = await startEtcd(t)
  const first = await startHost(t, { etcd, tree })
  const lease = { filepaths: ['a.txt'], agent_id: 'ann', ttl_seconds: 600 }
  const { results } = await post(first.url, 'lock_try', lease)
  const { fencing_token } = results[0]
  const next = await startHost(t, { etcd, tree })
  await until(async () => (await healthOf(next.url))['role'] === 'relay')

  const ended = once(first.process, 'exit')
  first.process.kill('SIGKILL')
  await ended
  const folder = tree.path('.async-crud-mcp/hosts')
  const [journal] = readdirSync(folder).filter((name) => /^journal-\d+$/.test(name))
  renameSync(`${folder}/${journal}`, `${folder}/kept`)
  mkdirSync(`${folder}/${journal}`)
  const ask = () => post(next.url, 'lock_try', { ...lease, agent_id: 'ben' })
  let answer: Answer = {}
  await until(async () => {
    answer = await ask()
    // Before, it waits for the end of the lease in etcd.
    return answer['error_code'] !== 'OVERLOADED' || /elected/.test(answer['message'])
  })
  t.match(answer, { status: 'error', message: /the state that the hosts before have left in .* cannot be read/ })
  t.match(await healthOf(next.url), { degraded: [{ message: /the state that the hosts before have left/ }] })

  rmdirSync(`${folder}/${journal}`)
  renameSync(`${folder}/kept`, `${folder}/${journal}`)
  await until(async () => (await ask())['status'] === 'ok')
  const status = await post(next.url, 'lock_status', { filepaths: ['a.txt'], agent_id: 'ann' })
  t.match(status, { results: [{ held_by_me: true, fencing_token }] })
})
