// Hosts of which one loses its volume: another one takes over, and the host without a volume says once that it must be started again.
import { once } from 'node:events'
import t, { type Test } from 'tap'
import { errorsOf, healthOf, post } from '../../fixtures/processes.ts'
import { makeTree } from '../../fixtures/tree.ts'
import { until } from '../../fixtures/until.ts'
import { hidesNothing, mountVolume, whyNoBindfs } from '../../fixtures/volume-that-dies.ts'
import { lacksEtcd, startEtcd } from './fixtures/etcd.ts'
import { startHost } from './fixtures/hosts.ts'

const skip = lacksEtcd || whyNoBindfs(hidesNothing)
const etcd = skip === false ? startEtcd(t) : new Promise<never>(() => {})
const append = { path: 'a.txt', content: '.', agent_id: 'one' }

async function twoHosts(t: Test) {
  const behind = makeTree(t, { 'a.txt': '' })
  const hosts = []
  for (let number = 0; number < 2; number += 1) {
    const volume = await mountVolume(t, behind, hidesNothing)
    const program = await startHost(t, { etcd: await etcd, tree: volume.tree })
    await fetch(`${program.url}/locks`)
    hosts.push({ volume, program })
  }
  const [authority, relay] = hosts
  t.match(await post(authority!.program.url, 'async_append', append), { status: 'ok' })
  t.equal((await healthOf(relay!.program.url))['role'], 'relay')
  return { behind, authority: authority!, relay: relay! }
}

t.test('the volume of the authority dies', { skip }, async (t) => {
  const { behind, authority, relay } = await twoHosts(t)
  const ended = once(authority.program.process, 'exit')
  const start = performance.now()
  await authority.volume.die()
  // No call tells it that something is wrong.
  await until(async () => (await healthOf(relay.program.url))['role'] === 'authority')
  t.comment(`the other host serves the tree after ${Math.round(performance.now() - start)} ms`)
  t.match(await post(relay.program.url, 'async_append', append), { status: 'ok' })
  t.strictSame(await ended, [1, null])
  t.match(errorsOf(authority.program), [/cut off from etcd or from its volume.*start it again/])
  t.equal(behind.read('a.txt'), '..')
})

t.test('the volume of the authority hangs', { skip }, async (t) => {
  const { behind, authority, relay } = await twoHosts(t)
  const ended = once(authority.program.process, 'exit')
  const start = performance.now()
  authority.volume.hang()
  t.match(await post(relay.program.url, 'async_append', append), { status: 'ok' })
  t.comment(`the other host has made a change after ${Math.round(performance.now() - start)} ms`)
  t.equal((await healthOf(relay.program.url))['role'], 'authority')
  authority.volume.goOn()
  t.strictSame(await ended, [1, null])
  t.match(errorsOf(authority.program), [/cut off from etcd or from its volume.*start it again/])
  t.equal(behind.read('a.txt'), '..')
})

t.test('the volume of a relay dies', { skip }, async (t) => {
  const { behind, authority, relay } = await twoHosts(t)
  await relay.volume.die()
  t.match(await post(relay.program.url, 'async_append', append), { status: 'ok' }, 'its clients go on')
  await authority.program.stop()
  t.match(await post(relay.program.url, 'async_append', append), {
    status: 'error',
    message: /ENOTCONN.*Try again.*whether it still is mounted/
  })
  const next = await startHost(t, { etcd: await etcd, tree: authority.volume.tree })
  await until(async () => (await post(relay.program.url, 'async_append', append))['status'] === 'ok')
  t.equal((await healthOf(next.url))['role'], 'authority')
  t.equal(behind.read('a.txt'), '...')
})
