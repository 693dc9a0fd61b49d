// Hosts whose volume loses servers of its own: one of three, without which all of them go on; then two, without which none can change anything.
import t from 'tap'
import { errorsOf, healthOf } from '../../fixtures/processes.ts'
import { until } from '../../fixtures/until.ts'
import { lacksEtcd, startEtcd } from './fixtures/etcd.ts'
import { startHost, ttlSeconds } from './fixtures/hosts.ts'
import { lacksBricks, makeVolume } from './fixtures/volumes.ts'
import {
  findDisorder,
  findLost,
  longestPause,
  startSupervised,
  startWriters,
  untilWritten
} from './fixtures/writers.ts'

t.setTimeout(600_000)
const files = ['a.txt', 'b.txt']

t.test('bricks die and come back', { skip: lacksEtcd || lacksBricks }, async (t) => {
  const etcd = await startEtcd(t)
  const { tree, mounts, bricks } = await makeVolume(t, Object.fromEntries(files.map((file) => [file, ''])), 2)
  const over = new AbortController()
  t.teardown(() => over.abort())
  const hosts = await Promise.all(
    mounts.map((mount) => startSupervised(() => startHost(t, { etcd, ...mount }), over.signal))
  )
  const writers = startWriters(t, { tree, files, hosts, clientsPerHost: 4 })
  const { written } = writers
  const both = [0, 1]

  /** Each host has answered changes that were sent after this. */
  async function untilAllWrite(): Promise<void> {
    const since = performance.now()
    await until(() => both.every((host) => untilWritten(written, since, host) < Infinity))
  }

  /** Also through several proofs of the volume. */
  async function untilLaterWrites(): Promise<void> {
    const since = performance.now() + ttlSeconds * 1000
    await until(() => both.every((host) => untilWritten(written, since, host) < Infinity))
  }

  await untilAllWrite()
  const programs = hosts.map(({ program }) => program)
  for (const brick of bricks) {
    const killedAt = performance.now()
    brick.kill()
    await untilLaterWrites()
    brick.startAgain()
    await untilLaterWrites()
    const pauses = both.map((host) => Math.round(longestPause(written, host, killedAt, performance.now())))
    t.comment(`one of three died and came back: longest pause ${Math.max(...pauses)} ms`)
  }
  const errors = programs.flatMap((program) => errorsOf(program))
  t.ok(
    programs.every(({ process: child }) => child.exitCode === null),
    `no host leaves for one brick: ${errors.join(' | ')}`
  )

  const authority = await Promise.race(
    hosts.map(async (host) => {
      await until(async () => (await healthOf(host.program.url))['role'] === 'authority')
      return host.program
    })
  )
  for (const brick of bricks.slice(0, 2)) brick.kill()
  await until(() => authority.process.exitCode !== null)
  t.equal(authority.process.exitCode, 1, 'the authority leaves: a volume that is gone for it alone looks the same')
  const other = programs.find((program) => program !== authority)
  await until(async () => 'degraded' in (await healthOf(other!.url)))
  t.equal(other?.process.exitCode, null, 'the other one stays, and says what is wrong')
  bricks[0]!.startAgain()
  const backAt = performance.now()
  await until(() => untilWritten(written, backAt) < Infinity)
  t.comment(`two of three died: changes again ${Math.round(untilWritten(written, backAt))} ms after one came back`)
  await untilAllWrite()
  await writers.stop()
  over.abort()
  t.strictSame(findLost(tree, files, written), [], `of ${written.length} lines`)
  t.strictSame(findDisorder(tree, files, written), [])
})
