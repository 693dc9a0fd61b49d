// Circles of waiting, closed by agents behind different doors: who closes one is answered while the others wait, and they go on.
import t, { type Test } from 'tap'
import type { Answer } from '../../fixtures/clients.ts'
import { hashOf } from '../../fixtures/tree.ts'
import { doors, openWorld, outcomeOf, type Agent, type Door, testsOver } from './fixtures/doors.ts'

const world = await openWorld(t)
const { tree } = world
let lastScene = 0

/** Agents behind these doors, each with a lease on a file of its own: the first on a, the second on b, and so on. */
async function scene(...entrances: readonly Door[]) {
  lastScene += 1
  const scene = lastScene
  const at = (name: string) => `${name}-${scene}`
  const agents: Agent[] = []
  for (const [index, door] of entrances.entries()) {
    const name = 'abcde'[index]!
    tree.write(at(name), 'one\n')
    const agent = await world.enter(door, `${name.toUpperCase()}${scene}`)
    await agent.call('lock_try', { filepaths: [at(name)], note: `mine is ${name}` })
    agents.push(agent)
  }
  return { agents: agents as [Agent, Agent, ...Agent[]], at }
}

/** The call is in a queue, the only one of its kind, when this resolves. */
async function waiting(calls: Promise<Answer>[], call: Promise<Answer>): Promise<Promise<Answer>[]> {
  const all = [...calls, call]
  await world.untilWaiting(all.length)
  return all
}

/** Is answered while the others wait, with this circle; agents and files by turns. */
async function victim(t: Test, call: Promise<Answer>, circle: readonly string[]): Promise<Answer> {
  const answer = await call
  const failure = 'summary' in answer ? (answer['results'] as Answer[])[0]! : answer
  const names = circle.map((name, index) => (index % 2 === 0 ? name : tree.path(name)))
  const cycle = [...names, names[0]].join(' -> ')
  t.equal(outcomeOf(answer), 'DEADLOCK', JSON.stringify(answer))
  const message = String(failure['message'] ?? failure['error'].message)
  t.ok(message.includes(cycle), `${message} names ${cycle}`)
  t.match(message, /leases held stay.*lock_release/)
  if ('error' in failure) return failure
  const waits = names.flatMap((name, at) => (at % 2 === 0 ? [{ agent_id: name, waits_for: names[at + 1] }] : []))
  t.strictSame(failure['details'], { cycle, waits })
  return failure
}

async function finish(t: Test, calls: readonly Promise<Answer>[], agents: readonly Agent[]): Promise<void> {
  for (const answer of await Promise.all(calls)) t.equal(outcomeOf(answer), 'ok', JSON.stringify(answer))
  for (const agent of agents) await agent.call('lock_release_all')
  t.match(await world.locks(), { files: { length: 0 }, counts: { waiting: 0, leases: 0 } })
}

for (const [index, door] of doors.entries()) {
  const test = testsOver(t, door)
  const other = doors[(index + 2) % doors.length]!
  const third = doors[(index + 4) % doors.length]!

  test(`over ${door}: whoever closes a circle of two is told at once, keeps its leases, and can free the other`, async (t) => {
    const { agents, at } = await scene(door, other)
    const [ann, bob] = agents
    const calls = await waiting([], bob.call('lock_wait', { filepaths: [at('a')] }))
    const { isError, answer } = await ann.outcome('lock_wait', { filepaths: [at('b')] })
    t.ok(isError)
    await victim(t, Promise.resolve(answer), [ann.name, at('b'), bob.name, at('a')])
    t.match(await ann.call('lock_status', { filepaths: [at('a')] }), {
      results: [{ held_by_me: true, queue_depth: 1 }]
    })
    t.match(
      await ann.call('async_append', { path: at('a'), content: 'two\n' }),
      { status: 'ok' },
      'its leases still work'
    )
    await world.untilWaiting(1)
    await ann.call('lock_release', { filepaths: [at('a')] })
    t.match(await calls[0], { all_acquired: true }, 'the other goes on')
    await finish(t, calls, agents)
  })

  test(`over ${door}: a circle of three agents on three transports is found when its last edge is added`, async (t) => {
    const { agents, at } = await scene(door, other, third)
    const [ann, bob, cat] = agents as [Agent, Agent, Agent]
    let calls = await waiting([], ann.call('lock_wait', { filepaths: [at('b')] }))
    calls = await waiting(calls, bob.call('async_append', { path: at('c'), content: 'two\n' }))
    const circle = [cat.name, at('a'), ann.name, at('b'), bob.name, at('c')]
    await victim(t, cat.call('lock_wait', { filepaths: [at('a')] }), circle)
    await victim(t, cat.call('async_delete', { path: at('a') }), circle)
    await world.untilWaiting(2)
    await cat.call('lock_release_all')
    await calls[1]
    await bob.call('lock_release_all')
    await finish(t, calls, agents)
    t.equal(tree.read(at('c')), 'one\ntwo\n')
  })

  test(`over ${door}: every operation that changes a file can be the one that closes the circle`, async (t) => {
    const { agents, at } = await scene(door, other)
    const [ann, bob] = agents
    const calls = await waiting([], bob.call('async_append', { path: at('a'), content: 'two\n' }))
    const path = at('b')
    const expected_hash = hashOf('one\n')
    const circle = [ann.name, path, bob.name, at('a')]
    for (const [operation, input] of [
      ['async_write', { path, content: '' }],
      ['async_update', { path, expected_hash, content: '' }],
      ['async_append', { path, content: 'x' }],
      ['async_delete', { path }],
      ['async_rename', { old_path: path, new_path: at('new') }],
      ['async_rename', { old_path: at('a'), new_path: path, overwrite: true }],
      ['async_batch_write', { files: [{ path, content: '' }] }],
      ['async_batch_update', { files: [{ path, expected_hash, content: '' }] }],
      ['edit_file', { name: path, append: 'x' }]
    ] as const)
      await victim(t, ann.call(operation, input), circle)
    t.equal(tree.read(path), 'one\n')
    await ann.call('lock_release_all')
    await finish(t, calls, agents)
    t.equal(tree.read(at('a')), 'one\ntwo\n')
  })

  test(`over ${door}: a rename that holds one name and waits for the other is part of the circle`, async (t) => {
    const { agents, at } = await scene(other, door)
    const [, bob] = agents
    tree.write(at('a0'), 'moved')
    const nobody = await world.enter('rest')
    await agents[0].call('lock_release_all')
    const rename = { old_path: at('a0'), new_path: at('b'), overwrite: true }
    const calls = await waiting([], nobody.call('async_rename', rename))
    const circle = [bob.name, at('a0'), 'async_rename without agent_id', at('b')]
    await victim(t, bob.call('async_append', { path: at('a0'), content: 'x' }), circle)
    t.match(await bob.call('async_append', { path: at('a0'), content: 'x', timeout: 0 }), {
      error_code: 'LOCK_TIMEOUT',
      message: /itself waits for .*b-/
    })
    await bob.call('lock_release_all')
    await finish(t, calls, agents)
    t.equal(tree.read(at('b')), 'moved')
  })

  test(`over ${door}: a rename under its agent's lease can be waited for in a circle, and close one`, async (t) => {
    const { agents, at } = await scene(door, other)
    const [ann, bob] = agents
    const rename = { old_path: at('a'), new_path: at('b'), overwrite: true }
    const calls = await waiting([], ann.call('async_rename', rename))
    await victim(t, bob.call('lock_wait', { filepaths: [at('a')] }), [bob.name, at('a'), ann.name, at('b')])
    await bob.call('lock_release_all')
    await finish(t, calls, agents)
    t.notOk(tree.all().includes(at('a')))
  })

  test(`over ${door}: a lock_wait for several files is one node, and as the victim gives back what it took`, async (t) => {
    const { agents, at } = await scene(door, other)
    const [ann, bob] = agents
    const calls = await waiting([], bob.call('lock_wait', { filepaths: [at('a'), at('free')] }))
    t.match(await bob.call('lock_status', { filepaths: [at('free')] }), { results: [{ held_by_me: true }] })
    await victim(t, ann.call('lock_wait', { filepaths: [at('free')] }), [ann.name, at('free'), bob.name, at('a')])
    const both = ann.call('lock_wait', { filepaths: [at('another'), at('b'), at('zzz')] })
    await victim(t, both, [ann.name, at('b'), bob.name, at('a')])
    t.match(await ann.call('lock_status', { filepaths: [at('a'), at('another'), at('b'), at('zzz')] }), {
      results: [
        { held_by_me: true },
        { holders: { length: 0 } },
        { holder: bob.name },
        { holders: { length: 0 }, queue_depth: 0 }
      ]
    })
    await ann.call('lock_release_all')
    await finish(t, calls, agents)
  })

  test(`over ${door}: waiting in a row without a circle is no deadlock`, async (t) => {
    const { agents, at } = await scene(door, other, third)
    const [ann, bob, cat] = agents as [Agent, Agent, Agent]
    let calls = await waiting([], ann.call('lock_wait', { filepaths: [at('b')] }))
    calls = await waiting(calls, bob.call('lock_wait', { filepaths: [at('c')] }))
    t.match(
      await cat.call('lock_try', { filepaths: [at('a')] }),
      { all_acquired: false },
      'who does not wait closes none'
    )
    t.match(await cat.call('lock_wait', { filepaths: [at('a')], timeout_seconds: 0 }), { all_acquired: false })
    t.match(await cat.call('async_read', { path: at('a') }), { status: 'ok' }, 'nor does who reads')
    t.match(await cat.call('async_append', { path: at('c'), content: 'x' }), { status: 'ok' })
    await world.untilWaiting(2)
    await cat.call('lock_release_all')
    t.match(await calls[1], { all_acquired: true })
    await bob.call('lock_release_all')
    await finish(t, calls, agents)
  })
}
