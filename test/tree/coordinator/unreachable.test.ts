// The volume is out of reach of all hosts for a while: nothing is lost, and they go on by themselves.
import t, { type Test } from 'tap'
import { lengthOf } from '../../fixtures/length.ts'
import { until } from '../../fixtures/until.ts'
import { lacksEtcd, startEtcd } from './fixtures/etcd.ts'
import { startHost } from './fixtures/hosts.ts'
import { testInNamespaces } from './fixtures/in-namespaces.ts'
import { createNetworks, lacksNamespaces } from './fixtures/network.ts'
import { lacksCables, makeVolume, serves } from './fixtures/volumes.ts'
import { findDenied, findDisorder, findLost, startSupervised, startWriters, untilWritten } from './fixtures/writers.ts'

t.setTimeout(600_000)
const token = 'a token of the clients'
const files = ['a.txt', 'b.txt']
const seconds = lengthOf({ full: 30, short: 5 })

async function cutAll(t: Test): Promise<void> {
  const network = createNetworks()
  const etcd = await startEtcd(t, 1, network.ownAddress('etcd'))
  const machines = [await network.addMachine(t), await network.addMachine(t)]
  const { tree, mounts } = await makeVolume(t, {
    files: Object.fromEntries(files.map((file) => [file, ''])),
    clients: machines,
    address: network.ownAddress('volume')
  })
  const over = new AbortController()
  t.teardown(() => over.abort())
  const hosts = await Promise.all(
    machines.map((machine, at) => {
      const environment = {
        ASYNC_CRUD_MCP_DAEMON__HOST: machine.addressOn('clients'),
        ASYNC_CRUD_MCP_DAEMON__TOKEN: token,
        ASYNC_CRUD_MCP_TREE__ADVERTISE: `${machine.addressOn('hosts')}:0`
      }
      return startSupervised(
        () => startHost(t, { etcd, ...mounts[at]!, environment, prefix: machine.prefix }),
        over.signal
      )
    })
  )
  const { written, refused, stop } = startWriters(t, { tree, files, hosts, clientsPerHost: 4, token })
  const untilBothWrite = (since: number) =>
    until(() => [0, 1].every((at) => Number.isFinite(untilWritten(written, since, at))))
  await untilBothWrite(0)
  for (const machine of machines) machine.cut('volume')
  const cutAt = performance.now()
  await until(() => performance.now() - cutAt > seconds * 1000)
  t.equal(untilWritten(written, cutAt + 1000), Infinity, 'no change is answered without the volume')
  for (const machine of machines) machine.mend('volume')
  const mendedAt = performance.now()
  await until(async () => (await Promise.all(mounts.map(serves))).every(Boolean))
  const servesAt = performance.now()
  await untilBothWrite(servesAt)
  t.comment(`the volume served ${Math.round(servesAt - mendedAt)} ms after the network was back`)
  t.comment(`changes again ${Math.round(untilWritten(written, servesAt))} ms later`)
  over.abort()
  await stop()
  t.strictSame(findLost(tree, files, written), [], `of ${written.length} lines`)
  t.strictSame(findDisorder(tree, files, written), [])
  t.strictSame(findDenied(tree, refused), [], `of ${refused.length} lines that were refused`)
}

testInNamespaces(`${seconds} s without the volume`, lacksEtcd || lacksNamespaces || lacksCables, cutAll)
