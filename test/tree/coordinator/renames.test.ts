// A volume that replaces an open file in two steps is refused by several hosts, before they leave anything there; one host serves it.
import { once } from 'node:events'
import t, { type Test } from 'tap'
import { cannotInject, failingFirst } from '../../fixtures/inject.ts'
import { healthOf, post } from '../../fixtures/processes.ts'
import { startOneProgram, type RunningProgram } from '../../fixtures/server.ts'
import { makeTree } from '../../fixtures/tree.ts'
import { until } from '../../fixtures/until.ts'
import { lacksEtcd, startEtcd } from './fixtures/etcd.ts'
import { startHost, ttlSeconds } from './fixtures/hosts.ts'
import { unfitVolumes } from './fixtures/unfit-volumes.ts'

const append = (url: string, path: string) => post(url, 'async_append', { path, content: 'line\n' })

const twoSteps = /several hosts cannot serve .*in two steps.*Use another volume/

async function assertRefused(t: Test, { process, stderr }: RunningProgram, reason = twoSteps): Promise<void> {
  if (process.exitCode === null) await once(process, 'exit')
  t.equal(process.exitCode, 1)
  t.match(stderr.join('\n'), reason)
}

for (const { name, lacks, mount } of unfitVolumes)
  t.test(name, { skip: lacksEtcd || lacks }, async (t) => {
    const etcd = await startEtcd(t)
    const [served, mounted] = await mount(t, { 'a.txt': '', 'b.txt': '' })
    await assertRefused(t, await startHost(t, { etcd, tree: mounted }))
    t.strictSame(served.own(), ['.gitignore'], 'nothing is there of several hosts')
    const alone = await startOneProgram(t, ['--dir', mounted.root])
    t.match(await append(alone.url, 'a.txt'), { status: 'ok' }, 'one host serves it')
    await alone.stop()

    // Of a file that the client has not opened: a server of NFS may have lent it the other one.
    const first = await startHost(t, { etcd, tree: served })
    t.match(await append(first.url, 'b.txt'), { status: 'ok' })
    await assertRefused(t, await startHost(t, { etcd, tree: mounted }))
    t.match(await append(first.url, 'b.txt'), { status: 'ok' }, 'the host that serves the tree goes on')
  })

t.test('a host whose volume does not answer is not elected', { skip: lacksEtcd || cannotInject }, async (t) => {
  const etcd = await startEtcd(t)
  const prefix = failingFirst('rename', `delay_enter=${3 * ttlSeconds * 1_000_000}`, 'each')
  const host = await startHost(t, { etcd, tree: makeTree(t), prefix })
  await assertRefused(t, host, /cannot be elected.*has not answered within 4000 ms/)
})

t.test(
  'a host whose volume is full is not elected until it has room',
  { skip: lacksEtcd || cannotInject },
  async (t) => {
    const etcd = await startEtcd(t)
    const tree = makeTree(t, { 'b.txt': '' })
    const failingOnce = {
      environment: { UV_THREADPOOL_SIZE: '1' },
      prefix: failingFirst('rename', 'error=ENOSPC', 'each')
    }
    await assertRefused(
      t,
      await startHost(t, { etcd, tree, ...failingOnce }),
      /cannot be elected.*No file can be replaced.*ENOSPC/
    )
    const first = await startHost(t, { etcd, tree })
    t.match(await append(first.url, 'b.txt'), { status: 'ok' })
    const second = await startHost(t, { etcd, tree, ...failingOnce })
    t.match(await append(second.url, 'b.txt'), { status: 'ok' }, 'it takes part')
    t.equal((await healthOf(second.url))['role'], 'relay')
    await first.stop()
    await until(async () => (await append(second.url, 'b.txt'))['status'] === 'ok')
    t.equal((await healthOf(second.url))['role'], 'authority')
  }
)
