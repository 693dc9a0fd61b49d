// kill -9 at random instants under load: what was acknowledged is there after each restart, and each start succeeds.
import { setTimeout as delay } from 'node:timers/promises'
import t, { type Test } from 'tap'
import { until } from '../../fixtures/until.ts'
import { createRandom } from '../../fixtures/random.ts'
import { makeKeptTree, type KeptTree } from './fixtures/kept.ts'
import { check, createAgent, work, type Agent } from './fixtures/worker.ts'
import { givenSeed, lengthOf } from '../../fixtures/length.ts'

const kills = lengthOf({ full: 200, short: 4 })
/** At the same time, each on a tree of its own. */
const lanes = 2
const longestRoundMs = 150
t.setTimeout(900_000)
const seed = givenSeed ?? Math.floor(Math.random() * 2 ** 31)

type Started = ReturnType<KeptTree['stdio']>

async function runLane(t: Test, lane: number): Promise<{ acknowledged: number }> {
  const random = createRandom(seed + lane)
  const tree = makeKeptTree(t, {}, { CRUD__DURABILITY: 'rename', PERSISTENCE__WRITE_DEBOUNCE_SECONDS: '0.05' })
  const agents = ['ann', 'bob', 'cid'].map(createAgent)
  // The next one is loaded while this one works; it owns nothing before its first call.
  let next = tree.stdio('--log-level', 'warn')
  for (let round = 0; round < kills / lanes; round += 1) {
    const { program, call } = next
    next = tree.stdio('--log-level', 'warn')
    for (const agent of agents) await check(agent, call, tree, random)
    const before = countOf(agents)
    let haveStopped = false
    const working = Promise.all(agents.map((agent) => work(agent, call, random)))
    working.catch(() => (haveStopped = true))
    await until(() => haveStopped || countOf(agents) > before)
    await delay(random() * longestRoundMs)
    const ended = program.end('SIGKILL')
    await working
    await ended
  }
  await finish(next, agents, tree, random)
  return { acknowledged: countOf(agents) }
}

function countOf(agents: readonly Agent[]): number {
  return agents.reduce((sum, { acknowledged }) => sum + acknowledged.length, 0)
}

async function finish({ program, call }: Started, agents: Agent[], tree: KeptTree, random: () => number) {
  for (const agent of agents) await check(agent, call, tree, random)
  const { code } = await program.end()
  if (code !== 0) throw new Error(`ended with ${code}: ${program.stderr.join('\n')}`)
}

t.test(`${kills} kills lose nothing that was acknowledged (TEST_SEED=${seed})`, async (t) => {
  const results = await Promise.all(Array.from({ length: lanes }, (_, lane) => runLane(t, lane)))
  const acknowledged = results.reduce((sum, each) => sum + each.acknowledged, 0)
  t.comment(`${acknowledged} writes acknowledged`)
  t.ok(acknowledged >= kills, 'there was work to lose')
})
