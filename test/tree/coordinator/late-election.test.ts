// A host that was elected, and took the tree so slowly that its lease ended meanwhile, follows the next one.
import t from 'tap'
import { readTreeIdentity } from '../../../src/tree/state/tree-identity.ts'
import { servedDirectory } from '../../../src/tree/state/served-directory.ts'
import { cannotInject, failingFirst } from '../../fixtures/inject.ts'
import { healthOf, post } from '../../fixtures/processes.ts'
import { rootOf } from '../../fixtures/root-of.ts'
import { makeTree } from '../../fixtures/tree.ts'
import { until } from '../../fixtures/until.ts'
import { clientOf, lacksEtcd, startEtcd } from './fixtures/etcd.ts'
import { startHost, ttlSeconds } from './fixtures/hosts.ts'

t.test('a host whose lease ends while it takes the tree', { skip: lacksEtcd || cannotInject }, async (t) => {
  const etcd = await startEtcd(t)
  const tree = makeTree(t, { 'a.txt': '' })
  const client = clientOf(etcd.endpoints)
  // The main thread takes the stage.
  const prefix = failingFirst('rename', `delay_enter=${2 * ttlSeconds * 1_000_000}`, 'main')
  const one = await startHost(t, { etcd, tree, prefix })
  await until(async () => {
    const identity = readTreeIdentity(servedDirectory(rootOf(tree.root)))
    return identity !== undefined && (await client.read(`/async-crud-mcp/${identity}`)) !== undefined
  })
  const next = await startHost(t, { etcd, tree })
  const append = () => post(next.url, 'async_append', { path: 'a.txt', content: 'line\n' })
  await until(async () => (await append())['status'] === 'ok')
  t.equal((await healthOf(next.url))['role'], 'authority')
  await until(async () => (await healthOf(one.url))['role'] === 'relay')
  t.equal(one.process.exitCode, null)
  t.match(await post(one.url, 'async_read', { path: 'a.txt' }), { content: 'line\n' })
})
