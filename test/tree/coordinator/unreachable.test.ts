// The volume is out of reach of all hosts for a while: nothing is lost, and they go on by themselves.
import t, { type Test } from 'tap'
import { lengthOf } from '../../fixtures/length.ts'
import { until } from '../../fixtures/until.ts'
import { lacksEtcd } from './fixtures/etcd.ts'
import { testInNamespaces } from './fixtures/in-namespaces.ts'
import { lacksNamespaces } from './fixtures/network.ts'
import { makeTwoMachines, token } from './fixtures/two-machines.ts'
import { lacksBricks, serves } from './fixtures/volumes.ts'
import { findDenied, findDisorder, findLost, startSupervised, startWriters, untilWritten } from './fixtures/writers.ts'

t.setTimeout(600_000)
const files = ['a.txt', 'b.txt']
const seconds = lengthOf({ full: 30, short: 5 })

async function cutAll(t: Test): Promise<void> {
  const { tree, machines, mounts, start } = await makeTwoMachines(
    t,
    Object.fromEntries(files.map((file) => [file, '']))
  )
  const over = new AbortController()
  t.teardown(() => over.abort())
  const hosts = await Promise.all(([0, 1] as const).map((at) => startSupervised(() => start(at), over.signal)))
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

testInNamespaces(`${seconds} s without the volume`, lacksEtcd || lacksNamespaces || lacksBricks, cutAll)
