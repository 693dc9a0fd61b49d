// A host that does not see at once what another one has changed on the volume takes no part, and says how to mount it.
import { once } from 'node:events'
import t, { type Test } from 'tap'
import { healthOf, post } from '../../fixtures/processes.ts'
import { lacksEtcd, startEtcd } from './fixtures/etcd.ts'
import { startHost } from './fixtures/hosts.ts'
import { makeVolumeOf, whyNotOn } from './fixtures/volumes.ts'

const skip = lacksEtcd || whyNotOn('sshfs')

const append = (url: string) => post(url, 'async_append', { path: 'a.txt', content: 'line\n' })

async function startFirst(t: Test, keepsLooks: boolean) {
  const etcd = await startEtcd(t)
  const { mounts } = await makeVolumeOf('sshfs', t, { files: { 'a.txt': '' }, clients: [{}, {}], keepsLooks })
  const first = await startHost(t, { etcd, ...mounts[0]! })
  t.match(await append(first.url), { status: 'ok' })
  return { first, startSecond: () => startHost(t, { etcd, ...mounts[1]! }) }
}

t.test('a volume whose clients keep what they have looked at', { skip }, async (t) => {
  const { first, startSecond } = await startFirst(t, true)
  const { process, stderr } = await startSecond()
  if (process.exitCode === null) await once(process, 'exit')
  t.equal(process.exitCode, 1)
  t.match(stderr.join('\n'), /several hosts cannot serve .*does not see at once.*dir_cache=no/)
  t.match(await append(first.url), { status: 'ok' }, 'the host that serves the tree goes on')
})

t.test('a volume whose clients keep nothing is served by both', { skip }, async (t) => {
  const { first, startSecond } = await startFirst(t, false)
  const second = await startSecond()
  t.match(await append(second.url), { status: 'ok' })
  t.equal((await healthOf(second.url))['role'], 'relay')
  t.match(await post(first.url, 'async_read', { path: 'a.txt' }), { content: 'line\nline\n' })
})
