// Hosts whose volume loses servers of its own: one of three, without which all of them go on; then two, without which none can change anything.
import { execFile } from 'node:child_process'
import { promisify } from 'node:util'
import t from 'tap'
import { errorsOf, healthOf } from '../../fixtures/processes.ts'
import { untilWithin } from '../../fixtures/until.ts'
import { lacksEtcd, startEtcd } from './fixtures/etcd.ts'
import { startHost, ttlSeconds } from './fixtures/hosts.ts'
import { lacksBricks, makeVolume, type Brick, type Mount } from './fixtures/volumes.ts'
import {
  backMs,
  findDisorder,
  findLost,
  longestPause,
  startSupervised,
  startWriters,
  untilWritten
} from './fixtures/writers.ts'

t.setTimeout(600_000)
const files = ['a.txt', 'b.txt']
/** Of what is expected within a few seconds. */
const limitSeconds = 60
/** Clients ask for a brick that they have lost every three seconds, and what it lacks is copied to it then. */
const patienceMs = 15_000

t.test('bricks die and come back', { skip: lacksEtcd || lacksBricks }, async (t) => {
  const etcd = await startEtcd(t)
  const { tree, mounts, bricks, isWhole } = await makeVolume(t, Object.fromEntries(files.map((file) => [file, ''])), 2)
  const [one, two] = bricks as [Brick, Brick]
  const over = new AbortController()
  t.teardown(() => over.abort())
  const hosts = await Promise.all(
    mounts.map((mount) => startSupervised(() => startHost(t, { etcd, ...mount }), over.signal))
  )
  const writers = startWriters(t, { tree, files, hosts, clientsPerHost: 4 })
  const { written } = writers
  const both = [0, 1]

  /** Each host has answered changes that were sent later than in `seconds`. */
  async function untilAllWrite(seconds = 0): Promise<void> {
    const since = performance.now() + seconds * 1000
    await untilWithin(limitSeconds, 'both hosts make changes', () =>
      both.every((host) => untilWritten(written, since, host) < Infinity)
    )
  }

  /** Through several proofs of the volume. */
  const untilLaterWrites = () => untilAllWrite(ttlSeconds)
  const untilWhole = () => untilWithin(limitSeconds, 'no brick lacks a change', isWhole)

  /**
   * After two of three bricks were lost, and one has been started again: a file whose name leads to different files on the two that are
   * there has no majority, and GlusterFS corrects folders only with all of their bricks. Then the hosts owe nothing before `last` is back.
   */
  async function untilServedAgain(what: string, last: Brick): Promise<void> {
    const startedAt = performance.now()
    let servesAt = Infinity
    const look = async () => {
      if (servesAt === Infinity && (await Promise.all(mounts.map(serves))).includes(true)) servesAt = performance.now()
    }
    const isWritten = () => untilWritten(written, startedAt) < Infinity
    await untilWithin(limitSeconds, 'changes, or a look at the volume', async () => {
      await look()
      return isWritten() || servesAt < Infinity || performance.now() > startedAt + patienceMs
    })
    const hasServed = isWritten() || servesAt < Infinity
    if (!hasServed) {
      last.startAgain()
      await untilWithin(limitSeconds, 'GlusterFS gives the files out with all bricks', async () => {
        await look()
        // The look fails, too, if a file goes while it is read.
        return servesAt < Infinity || isWritten()
      })
    }
    await untilWithin(limitSeconds, 'changes after the volume serves', isWritten)
    const writtenAt = startedAt + untilWritten(written, startedAt)
    // The look at the volume may come later than the first change.
    const ms = Math.max(0, writtenAt - servesAt)
    const volume = hasServed ? 'one was back' : 'both were back: with one GlusterFS gave out no files'
    t.comment(`${what}: changes again ${Math.round(untilWritten(written, startedAt))} ms after a start, when ${volume}`)
    t.ok(ms <= backMs, `changes are made again ${Math.round(ms)} ms after the volume serves`)
    if (hasServed) last.startAgain()
    await untilWhole()
    await untilAllWrite()
  }

  await untilAllWrite()
  const programs = hosts.map(({ program }) => program)
  for (const brick of bricks) {
    const killedAt = performance.now()
    brick.kill()
    await untilLaterWrites()
    brick.startAgain()
    await untilWhole()
    await untilLaterWrites()
    const pauses = both.map((host) => Math.round(longestPause(written, host, killedAt, performance.now())))
    t.comment(`one of three died and came back: longest pause ${Math.max(...pauses)} ms`)
  }
  const errors = programs.flatMap((program) => errorsOf(program))
  t.ok(
    programs.every(({ process: child }) => child.exitCode === null),
    `no host leaves for one brick: ${errors.join(' | ')}`
  )

  const roles = await Promise.all(programs.map(async ({ url }) => (await healthOf(url))['role']))
  const [authority, other] = [programs[roles.indexOf('authority')]!, programs[roles.indexOf('relay')]!]
  one.kill()
  two.kill()
  await untilWithin(limitSeconds, 'the authority leaves', () => authority.process.exitCode !== null)
  t.equal(authority.process.exitCode, 1, 'the authority leaves: a volume that is gone for it alone looks the same')
  await untilWithin(limitSeconds, 'the other says what is wrong', async () => 'degraded' in (await healthOf(other.url)))
  t.equal(other.process.exitCode, null, 'the other one stays, and says what is wrong')
  one.startAgain()
  await untilServedAgain('two of three died', two)

  await writers.stop()
  over.abort()
  t.strictSame(findLost(tree, files, written), [], `of ${written.length} lines`)
  t.strictSame(findDisorder(tree, files, written), [])
})

/** Whether the volume serves: all that is there can be read, and a file be made, without any program of ours. */
async function serves({ tree }: Mount): Promise<boolean> {
  const look = 'find "$0" -type f -exec cat {} + > /dev/null && touch "$0/looked" && rm "$0/looked"'
  return promisify(execFile)('sh', ['-c', look, tree.root], { timeout: 5000, killSignal: 'SIGKILL' }).then(
    () => true,
    () => false
  )
}
