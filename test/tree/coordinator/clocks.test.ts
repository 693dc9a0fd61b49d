// The wall clock of one host is set forward and back by an hour while clients write through both: nothing comes of it.
import t from 'tap'
import type { Answer } from '../../fixtures/clients.ts'
import { isLong, lengthOf, someOf } from '../../fixtures/length.ts'
import { post } from '../../fixtures/processes.ts'
import { until } from '../../fixtures/until.ts'
import { lacksEtcd, startEtcd } from './fixtures/etcd.ts'
import { startHost, ttlSeconds } from './fixtures/hosts.ts'
import { lacksVolume, makeVolume, type Mount } from './fixtures/volumes.ts'
import { createWallClock, lacksClocks } from './fixtures/wall-clock.ts'
import {
  backMs,
  findDisorder,
  findLost,
  longestPause,
  roleOf,
  startSupervised,
  startWriters,
  untilWritten,
  type Host
} from './fixtures/writers.ts'

t.setTimeout(1_800_000)
const rounds = lengthOf({ long: 10, full: 1, short: 1 })
const hour = 3600
/** Whose clock is set, and how far. */
const plays = [
  ['authority', hour],
  ['authority', -hour],
  ['relay', hour],
  ['relay', -hour]
] as const
/** Longer than the clocks are set apart: on a busy machine a host whose clock is fast may be elected meanwhile, and reads how long it lasts. */
const heldSeconds = 4 * hour
const longLeases = { ASYNC_CRUD_MCP_LOCKS__MAX_LEASE_TTL_SECONDS: String(heldSeconds) }
const clientsPerHost = lengthOf({ full: 4, short: 1 })
const files = ['a.txt', 'b.txt']

type WallClock = ReturnType<typeof createWallClock>

interface Member extends Host {
  readonly clock: WallClock
}

t.test(
  'one writer at a time, whatever a host takes the time for',
  { skip: lacksEtcd || lacksClocks || lacksVolume },
  async (t) => {
    const etcd = await startEtcd(t)
    // A host's client of the volume has the clock of the host.
    const clocks = [createWallClock(t), createWallClock(t)] as const
    const { tree, mounts } = await makeVolume(t, {
      files: { ...Object.fromEntries(files.map((file) => [file, ''])), 'held.txt': '' },
      clients: clocks
    })
    const over = new AbortController()
    t.teardown(() => over.abort())
    const addMember = async (clock: WallClock, mount: Mount): Promise<Member> => {
      const start = () => startHost(t, { etcd, ...mount, environment: { ...clock.environment, ...longLeases } })
      return Object.assign(await startSupervised(start, over.signal), { clock })
    }
    const members = [await addMember(clocks[0], mounts[0]!), await addMember(clocks[1], mounts[1]!)] as const
    const roles = () => Promise.all(members.map((member) => roleOf(member)))
    const { written, stop } = startWriters(t, { tree, files, hosts: members, clientsPerHost })
    const untilBothServe = () => until(async () => (await roles()).toSorted().join() === 'authority,relay')
    await untilBothServe()
    const filepaths = [tree.path('held.txt')]
    /** On a busy machine the host may just be elected anew, or end and be started again. */
    async function ask(operation: string, input: object): Promise<Answer> {
      let answer: Answer | undefined
      await until(async () => {
        answer = await post(members[0].program.url, operation, input).catch(() => undefined)
        return answer !== undefined && !['OVERLOADED', 'AUTHORITY_LOST'].includes(answer['error_code'])
      })
      return answer!
    }
    const held = await ask('lock_try', { filepaths, agent_id: 'holder', ttl_seconds: heldSeconds })
    t.match(held, { results: [{ acquired: true }] })
    const { fencing_token } = held['results'][0]

    async function play(role: 'authority' | 'relay', seconds: number): Promise<void> {
      await untilBothServe()
      const before = await roles()
      const member = members[before.indexOf(role)] as Member
      member.clock.set(seconds)
      const setAt = performance.now()
      // It names the time in its answers: the step has come to it.
      await until(async () => {
        const health = await fetch(`${member.program.url}/health`).catch(() => undefined)
        const date = health?.headers.get('date') ?? ''
        return Math.abs(Date.parse(date) - Date.now() - seconds * 1000) < 60_000
      })
      // Long enough for a lease to end, and for its renewals.
      await until(() => performance.now() - setAt > 1.5 * ttlSeconds * 1000)
      const lookedAt = performance.now()
      await until(() => [0, 1].every((host) => Number.isFinite(untilWritten(written, lookedAt, host))))
      const pause = Math.max(...[0, 1].map((host) => longestPause(written, host, setAt, performance.now())))
      t.comment(`${role} set to ${seconds} s: the longest pause was ${Math.round(pause)} ms`)
      if (!isLong) return
      t.ok(pause < backMs)
      t.strictSame(await roles(), before, 'no other host was elected')
    }

    for (let round = 0; round < rounds; round += 1)
      for (const [role, seconds] of someOf(plays, 2)) await play(role, seconds)

    await untilBothServe()
    const killed = (await roles()).indexOf('authority')
    members.forEach(({ clock }, at) => clock.set(at === killed ? hour : -hour))
    members[killed]?.program.process.kill('SIGKILL')
    const killedAt = performance.now()
    await until(() => Number.isFinite(untilWritten(written, killedAt, 1 - killed)))
    const pause = untilWritten(written, killedAt, 1 - killed)
    t.comment(`the authority killed, and the next one two hours behind: changes after ${Math.round(pause)} ms`)
    if (isLong) t.ok(pause < backMs)
    await untilBothServe()
    t.match(
      await ask('lock_status', { filepaths, agent_id: 'holder' }),
      { results: [{ held_by_me: true, fencing_token }] },
      'the lease goes on'
    )
    over.abort()
    await stop()
    t.strictSame(findLost(tree, files, written), [], `of ${written.length} lines`)
    t.strictSame(findDisorder(tree, files, written), [])
    t.comment(`${written.length} lines`)
  }
)
