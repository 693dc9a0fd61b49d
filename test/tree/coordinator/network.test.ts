// The network of one host is cut while clients write through both: one writer at a time, and service comes back.
import t, { type Test } from 'tap'
import { isLong, lengthOf } from '../../fixtures/length.ts'
import { errorsOf, post } from '../../fixtures/processes.ts'
import { until } from '../../fixtures/until.ts'
import { lacksEtcd } from './fixtures/etcd.ts'
import { ttlSeconds } from './fixtures/hosts.ts'
import { testInNamespaces } from './fixtures/in-namespaces.ts'
import { lacksNamespaces, type Machine, type Network } from './fixtures/network.ts'
import { makeTwoMachines, token } from './fixtures/two-machines.ts'
import { lacksBricks, lacksVolume, serves, type Mount } from './fixtures/volumes.ts'
import {
  backMs,
  findDenied,
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
const files = ['a.txt', 'b.txt']

interface Cut {
  readonly title: string
  readonly role: 'authority' | 'relay'
  readonly from: readonly Network[]
}

/** Only if the volume is reached over a network. */
const cutsOfVolume: readonly Cut[] = [
  { title: 'the authority from its volume', role: 'authority', from: ['volume'] },
  {
    title: 'the authority from etcd, the other host and its volume',
    role: 'authority',
    from: ['etcd', 'hosts', 'volume']
  },
  { title: 'the relay from its volume', role: 'relay', from: ['volume'] }
]

const cuts: readonly Cut[] = [
  { title: 'the authority from etcd and from the other host', role: 'authority', from: ['etcd', 'hosts'] },
  { title: 'the relay from etcd and from the authority', role: 'relay', from: ['etcd', 'hosts'] },
  { title: 'the authority from etcd', role: 'authority', from: ['etcd'] },
  { title: 'the hosts from one another', role: 'relay', from: ['hosts'] },
  ...(lacksBricks === false ? cutsOfVolume : [])
]
const rounds = lengthOf({ long: 10 * cuts.length, full: cuts.length, short: 1 })

interface Member extends Host {
  readonly machine: Machine
  readonly mount: Mount
}

async function playRounds(t: Test): Promise<void> {
  const { tree, machines, mounts, start } = await makeTwoMachines(
    t,
    Object.fromEntries(files.map((file) => [file, '']))
  )
  const over = new AbortController()
  t.teardown(() => over.abort())

  async function addMember(at: 0 | 1): Promise<Member> {
    const host = await startSupervised(() => start(at), over.signal)
    return Object.assign(host, { machine: machines[at], mount: mounts[at]! })
  }

  const members = [await addMember(0), await addMember(1)] as const
  const { written, refused, stop } = startWriters(t, { tree, files, hosts: members, clientsPerHost: 4, token })

  async function find(role: string): Promise<number> {
    let found = -1
    await until(async () => {
      const roles = await Promise.all(members.map((member) => roleOf(member, token)))
      if (roles.toSorted().join() === 'authority,relay') found = roles.indexOf(role)
      return found !== -1
    })
    return found
  }

  async function play({ title, role, from }: Cut): Promise<void> {
    const at = await find(role)
    const other = 1 - at
    const target = members[at] as Member
    const { program } = target
    const losesVolume = from.includes('volume')
    const mustEnd = losesVolume && role === 'authority'
    const goesOn = losesVolume && role === 'relay'
    await until(() => [0, 1].every((host) => written.slice(-20).some((each) => each.host === host)))
    for (const network of from) target.machine.cut(network)
    const cutAt = performance.now()
    const ask = (operation: string, input: object) =>
      post(target.program.url, operation, { path: tree.path('a.txt'), agent_id: 'one', ...input }, token)
    await until(async () => (await roleOf(members[other] as Member, token)) === 'authority')
    const servesAt = performance.now()
    // Meanwhile what is cut off looks several times for etcd, and for what the other host has taken away from it.
    await until(() => written.some((each) => each.host === other && each.sentAt > servesAt + ttlSeconds * 500))
    if (!losesVolume) {
      t.equal(program.process.exitCode, null, 'a host cut off from etcd goes on answering', { said: errorsOf(program) })
      if (role === 'authority') {
        t.match(await ask('async_append', { content: 'too late\n' }), { error_code: 'OVERLOADED' })
        const read = await ask('async_read', {})
        t.match(read, { status: 'ok', notices: [{ type: 'no_authority' }] }, JSON.stringify(read))
      } else await until(async () => (await roleOf(target, token)) === 'none')
    } else if (goesOn) {
      const since = performance.now()
      await until(() => Number.isFinite(untilWritten(written, since, at)))
      t.pass('the clients of a relay go on without its volume')
    }
    for (const network of from) target.machine.mend(network)
    const mendedAt = performance.now()
    // Its client of the volume takes its time.
    await until(async () => !losesVolume || (await serves(target.mount)))
    const backAt = performance.now()
    await until(() => Number.isFinite(untilWritten(written, backAt, at)))
    if (mustEnd) {
      t.equal(program.process.exitCode, 1)
      const said = errorsOf(program).filter((text) => /cut off from etcd or from its volume.*start it again/.test(text))
      t.equal(said.length, 1, 'it says once what has happened')
    }

    const back = untilWritten(written, backAt, at)
    const pause = longestPause(written, other, cutAt, mendedAt)
    t.comment(`${title}: the longest pause of the other host's clients was ${Math.round(pause)} ms`)
    if (losesVolume) t.comment(`its volume served ${Math.round(backAt - mendedAt)} ms after the network was back`)
    t.comment(`its own clients went on ${Math.round(back)} ms later`)
    const late = written.filter((each) => each.host === at && each.sentAt > servesAt && each.answeredAt < mendedAt)
    if (!goesOn) t.strictSame(late, [], 'what is cut off has made no change since the other host serves the tree')
    if (!isLong) return
    t.ok(pause < backMs, title)
    t.ok(back < backMs, title)
  }

  for (let round = 0; round < rounds; round += 1) await play(cuts[round % cuts.length] as Cut)
  over.abort()
  await stop()
  t.strictSame(findLost(tree, files, written), [], `of ${written.length} lines`)
  t.strictSame(findDisorder(tree, files, written), [])
  t.strictSame(findDenied(tree, refused), [], `of ${refused.length} lines that were refused`)
  t.notOk(tree.read('a.txt').includes('too late'))
  t.comment(`${written.length} lines`)
}

const skip = lacksEtcd || lacksNamespaces || lacksVolume
testInNamespaces(`one writer at a time, and service comes back, in ${rounds} rounds`, skip, playRounds)
