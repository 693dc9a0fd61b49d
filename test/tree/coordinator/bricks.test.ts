// Hosts whose volume loses servers of its own: one of three, without which all of them go on; then two, without which none can change anything.
// TEST_LENGTH=long has two of them die 100 times.
import { readFileSync } from 'node:fs'
import t from 'tap'
import { orUndefined } from '../../../src/support/attempt.ts'
import { lengthOf } from '../../fixtures/length.ts'
import { errorsOf, healthOf } from '../../fixtures/processes.ts'
import type { RunningProgram } from '../../fixtures/server.ts'
import { until, untilWithin } from '../../fixtures/until.ts'
import { lacksEtcd, startEtcd } from './fixtures/etcd.ts'
import { startHost, ttlSeconds } from './fixtures/hosts.ts'
import type { Brick } from './fixtures/mounting.ts'
import { lacksBricks, makeVolume, serves } from './fixtures/volumes.ts'
import {
  backMs,
  findDenied,
  findDisorder,
  findLost,
  longestPause,
  roleOf,
  startSupervised,
  startWriters,
  untilWritten
} from './fixtures/writers.ts'

/** Of two bricks that die. */
const rounds = lengthOf({ long: 100, full: 3, short: 1 })
/** Between their ends at most. */
const gapMs = 200
t.setTimeout(600_000 + rounds * 60_000)
const files = ['a.txt', 'b.txt']
/** Of what is expected within a few seconds. */
const limitSeconds = 60
/** Clients ask for a brick that they have lost every three seconds, and what it lacks is copied to it then. */
const patienceMs = 15_000
/** So long the whole volume answers nothing. */
const silentMs = lengthOf({ full: 30_000, short: 8000 })

t.test('bricks die and come back', { skip: lacksEtcd || lacksBricks }, async (t) => {
  const etcd = await startEtcd(t)
  const { tree, mounts, bricks, whyNotWhole } = await makeVolume(t, {
    files: Object.fromEntries(files.map((file) => [file, ''])),
    clients: [{}, {}]
  })
  const over = new AbortController()
  t.teardown(() => over.abort())
  const hosts = await Promise.all(
    mounts.map((mount) => startSupervised(() => startHost(t, { etcd, ...mount }), over.signal))
  )
  const writers = startWriters(t, { tree, files, hosts, clientsPerHost: 4 })
  const { written, refused } = writers
  const both = [0, 1]

  const describe = (writes: (host: number) => boolean) =>
    hosts
      .map(({ program: { process: child, stderr }, ended }, host) => {
        const waits = orUndefined(() => readFileSync(`/proc/${child.pid}/wchan`, 'utf8'))
        const state = writes(host) ? 'writes' : `does not (process ${child.pid}, exit ${child.exitCode}, in ${waits})`
        return `; host ${host} ${state}, and said last: ${stderr.slice(-4).join(' ')}; before: ${ended.slice(-8).join(' ')}`
      })
      .join('')

  /** Each host has answered changes that were sent later than in `seconds`. */
  async function untilAllWrite(seconds = 0): Promise<void> {
    const since = performance.now() + seconds * 1000
    const writes = (host: number) => untilWritten(written, since, host) < Infinity
    await untilWithin(
      limitSeconds,
      () => `both hosts make changes${describe(writes)}`,
      () => both.every(writes)
    )
  }

  /** Through several proofs of the volume. */
  const untilLaterWrites = () => untilAllWrite(ttlSeconds)
  const untilWhole = () =>
    untilWithin(
      limitSeconds,
      () => `no brick lacks a change: ${whyNotWhole()}`,
      () => whyNotWhole() === undefined
    )

  /**
   * After two of three bricks were lost, and one has been started again: a file whose name leads to different files on the two that are
   * there has no majority, and GlusterFS corrects folders only with all of their bricks. Then the hosts owe nothing before `last` is back.
   */
  async function untilServedAgain(what: string, last?: Brick): Promise<void> {
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
      last?.startAgain()
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
    if (hasServed) last?.startAgain()
    await untilWhole()
    await untilAllWrite()
  }

  async function untilNoticed(authority: RunningProgram, other: RunningProgram): Promise<void> {
    await untilWithin(limitSeconds, 'the authority leaves', () => authority.process.exitCode !== null)
    t.equal(authority.process.exitCode, 1, 'the authority leaves: a volume that is gone for it alone looks the same')
    const isDegraded = async () => 'degraded' in (await healthOf(other.url))
    await untilWithin(limitSeconds, 'the other says what is wrong', isDegraded)
    t.equal(other.process.exitCode, null, 'the other one stays, and says what is wrong')
  }

  async function disturb(what: string, begin: () => void, end: () => void): Promise<void> {
    const begunAt = performance.now()
    begin()
    await untilLaterWrites()
    end()
    await untilWhole()
    await untilLaterWrites()
    const pauses = both.map((host) => Math.round(longestPause(written, host, begunAt, performance.now())))
    t.comment(`one of three ${what}: longest pause ${Math.max(...pauses)} ms`)
  }

  await untilAllWrite()
  const programs = hosts.map(({ program }) => program)
  for (const brick of bricks) await disturb('died and came back', brick.kill, brick.startAgain)
  const errors = programs.flatMap((program) => errorsOf(program))
  t.ok(
    programs.every(({ process: child }) => child.exitCode === null),
    `no host leaves for one brick: ${errors.join(' | ')}`
  )

  // Whoever waits for it waits for longer than a host waits for its volume.
  for (const brick of bricks) await disturb('hung and went on', brick.stop, brick.goOn)

  for (const brick of bricks) brick.stop()
  const silentAt = performance.now()
  await until(() => performance.now() > silentAt + silentMs)
  for (const brick of bricks) brick.goOn()
  await untilServedAgain('all hung')
  await untilAllWrite()

  for (let round = 0; round < rounds; round += 1) {
    const [one, two] = [bricks[round % 3]!, bricks[(round + 1) % 3]!]
    let roles: string[] = []
    await untilWithin(limitSeconds, 'one serves the tree, and the other one relays', async () => {
      roles = await Promise.all(hosts.map((host) => roleOf(host)))
      return roles.includes('authority') && roles.includes('relay')
    })
    const [authority, other] = ['authority', 'relay'].map((role) => hosts[roles.indexOf(role)]!.program)
    one.kill()
    const gap = performance.now() + Math.random() * gapMs
    await until(() => performance.now() > gap)
    two.kill()
    // Else the first brick is back before a host has noticed.
    if (round % 2 === 0) await untilNoticed(authority!, other!)
    one.startAgain()
    await untilServedAgain('two of three died', two)
  }

  await writers.stop()
  over.abort()
  await untilWithin(limitSeconds, 'the test can read', () => serves(mounts[0]!))
  t.strictSame(findLost(tree, files, written), [], `of ${written.length} lines`)
  t.strictSame(findDisorder(tree, files, written), [])
  t.strictSame(findDenied(tree, refused), [], `of ${refused.length} lines that were refused`)
})
