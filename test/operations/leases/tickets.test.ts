// A lock_wait that is cut keeps its places for a ticket; one whose client has gone leaves nothing behind.
import t from 'tap'
import { lockKey } from '../../../src/engine/files/lock-key.ts'
import { skipOnHosts } from '../../fixtures/behind.ts'
import { connect, connectLegacy, transports, type Answer } from '../../fixtures/clients.ts'
import { lasts, now } from '../../fixtures/lasts.ts'
import { untilWaiting } from '../../fixtures/locks.ts'
import { startServer } from '../../fixtures/server.ts'
import { makeTree } from '../../fixtures/tree.ts'
import { doors, endSession, openWorld, type Agent, type Door, testsOver } from './fixtures/doors.ts'

/** Every wait is cut after this. */
const cutSeconds = 0.1
const world = await openWorld(t, {}, { CRUD__MAX_TIMEOUT: cutSeconds, DAEMON__MCP_WAIT_SECONDS: cutSeconds })
let lastScene = 0

/** The holder has these files; ann and bob want them. */
async function scene(door: Door, ...names: readonly string[]) {
  lastScene += 1
  const scene = lastScene
  const at = (name: string) => `${name}${scene}`
  const ann = await world.enter(door, `ann${scene}`)
  const bob = await world.enter('rest', `bob${scene}`)
  const holder = await world.enter('json-rpc', `holder${scene}`)
  t.match(await holder.call('lock_try', { filepaths: names.map(at) }), { all_acquired: true })
  return { ann, bob, holder, at }
}

/** Goes on waiting as an agent does, until all is acquired. */
async function goOn(agent: Pick<Agent, 'call'>, first: Answer): Promise<Answer> {
  let answer = first
  while (answer['ticket'] !== undefined) answer = await agent.call('lock_wait', { ticket: answer['ticket'] })
  return answer
}

async function queueOf(path: string): Promise<Answer[]> {
  return (await (await world.enter('rest')).call('async_status', { path }))['pending_requests']
}

const noPlace = (ticket: string) => ({
  error_code: 'INVALID_REQUEST',
  message: `No place is kept for ticket "${ticket}"`
})

for (const door of doors) {
  const test = testsOver(t, door)
  test(`over ${door}: a wait that is cut gives a ticket, keeps its place, and is granted in its turn`, async (t) => {
    const { ann, bob, holder, at } = await scene(door, 'f')
    const filepaths = [at('f')]
    const since = now()
    const cut = await ann.call('lock_wait', { filepaths })
    t.match(cut, {
      status: 'ok',
      all_acquired: false,
      results: [{ acquired: false, holder: holder.name, position: 1, queue_depth: 1 }],
      ticket: /^ticket-[0-9a-f]{16}$/,
      ticket_expires_at: String,
      message: new RegExp(`cut short at ${cutSeconds} s of the 30 s.*call lock_wait with ticket "${cut['ticket']}"`)
    })
    lasts(t, since, cut['ticket_expires_at'], 60, 'a place')
    const behind = await bob.call('lock_wait', { filepaths, timeout_seconds: 100 })
    t.match(behind, { results: [{ position: 2, queue_depth: 2 }], message: /of the 100 s/ })
    t.match(await queueOf(at('f')), [
      { type: 'lease', agent_id: ann.name, parked: true, timeout_at: String },
      { type: 'lease', agent_id: bob.name, parked: true }
    ])
    const again = await ann.call('lock_wait', { ticket: cut['ticket'] })
    t.match(again, { all_acquired: false, ticket: cut['ticket'], results: [{ position: 1 }] }, 'it can be cut again')
    const going = [goOn(ann, again), goOn(bob, behind)] as const
    await holder.call('lock_release', { filepaths })
    t.match(await going[0], { all_acquired: true, results: [{ acquired: true, fencing_token: Number }] })
    t.match(await bob.call('lock_status', { filepaths }), { results: [{ holder: ann.name, queue_depth: 1 }] })
    await ann.call('lock_release', { filepaths })
    t.match(await going[1], { all_acquired: true })
    await bob.call('lock_release', { filepaths })
  })

  test(`over ${door}: what is granted while nobody waits is claimed with the ticket, and then lasts as asked`, async (t) => {
    const { ann, bob, holder, at } = await scene(door, 'f')
    const filepaths = [at('f')]
    const { ticket } = await ann.call('lock_wait', { filepaths, ttl_seconds: 200, note: 'soon back' })
    const since = now()
    await holder.call('lock_release', { filepaths })
    const { holders } = await bob.call('async_status', { path: at('f') })
    t.match(holders, [{ type: 'lease', agent_id: ann.name, note: 'soon back' }])
    lasts(t, since, holders[0].expires_at, 60, 'unclaimed, for the grace, it')
    t.match(await bob.call('lock_wait', { ticket }), noPlace(ticket), 'the ticket of another is no ticket')
    const returned = now()
    const claimed = await ann.call('lock_wait', { ticket, timeout_seconds: 0 })
    t.match(claimed, { all_acquired: true, ticket: undefined, message: undefined })
    lasts(t, returned, claimed['results'][0].expires_at, 200, 'claimed, for its TTL, it')
    t.match(await ann.call('lock_wait', { ticket }), noPlace(ticket), 'a ticket is used up')
    await ann.call('lock_release_all')
  })

  test(`over ${door}: a ticket is waited with in one call at a time, and keeps its place for the other agent's error`, async (t) => {
    const { ann, bob, holder, at } = await scene(door, 'f')
    const { ticket } = await ann.call('lock_wait', { filepaths: [at('f')] })
    t.match(await bob.call('lock_wait', { ticket }), noPlace(ticket))
    let answers: Answer[]
    // The second call may come when the first has been cut: then they are not two at a time.
    do answers = await Promise.all([1, 2].map(() => ann.call('lock_wait', { ticket })))
    while (answers.every(({ status }) => status === 'ok'))
    t.strictSame(new Set(answers.map(({ status }) => status)), new Set(['ok', 'error']))
    const failed = answers.find(({ status }) => status === 'error')
    t.match(failed, { ...noPlace(ticket), message: /another call waits with it/ })
    const going = goOn(
      ann,
      answers.find(({ status }) => status === 'ok')!
    )
    await holder.call('lock_release_all')
    t.match(await going, { all_acquired: true })
    await ann.call('lock_release_all')
  })

  test(`over ${door}: a ticket with fewer files gives the other places up, and one more joins the queue`, async (t) => {
    const { ann, holder, at } = await scene(door, 'a', 'b', 'c')
    const { ticket } = await ann.call('lock_wait', { filepaths: [at('a'), at('b'), at('free')] })
    t.match(await ann.call('lock_wait', { ticket, filepaths: ['../x'] }), { error_code: 'PATH_OUTSIDE_BASE' })
    const narrowed = await ann.call('lock_wait', { ticket, filepaths: [at('c'), at('b')] })
    t.match(narrowed, { ticket, results: [{ filepath: at('b'), acquired: false }, { filepath: at('c') }] })
    t.equal(narrowed['results'].length, 2)
    t.strictSame((await queueOf(at('a'))).length, 0)
    t.match([await queueOf(at('b')), await queueOf(at('c'))], [[{ agent_id: ann.name }], [{ agent_id: ann.name }]])
    t.match(
      await ann.call('lock_status', { filepaths: [at('free')] }),
      { results: [{ held_by_me: true }] },
      'it has that'
    )
    const going = goOn(ann, narrowed)
    await holder.call('lock_release_all')
    t.match(await going, { all_acquired: true, results: [{ filepath: at('b') }, { filepath: at('c') }] })
    t.match(await ann.call('lock_release_all'), { count: 3 })
  })

  test(`over ${door}: a place given up after it was granted is free for the next, untold as it was`, async (t) => {
    const { ann, bob, holder, at } = await scene(door, 'a', 'b')
    const { ticket } = await ann.call('lock_wait', { filepaths: [at('a'), at('b')] })
    await holder.call('lock_release', { filepaths: [at('a')] })
    t.match(await bob.call('lock_status', { filepaths: [at('a')] }), { results: [{ holder: ann.name }] })
    const narrowed = await ann.call('lock_wait', { ticket, filepaths: [at('b')] })
    t.match(narrowed, { ticket, results: [{ filepath: at('b'), acquired: false }] })
    t.match(await bob.call('lock_try', { filepaths: [at('a')] }), { all_acquired: true })
    for (const agent of [ann, bob, holder]) await agent.call('lock_release_all')
  })

  test(`over ${door}: lock_release and lock_release_all give up the places that are kept`, async (t) => {
    const { ann, bob, holder, at } = await scene(door, 'a', 'b')
    const filepaths = [at('a'), at('b')]
    const { ticket } = await ann.call('lock_wait', { filepaths })
    const behind = await bob.call('lock_wait', { filepaths: [at('a')] })
    t.match(behind, { results: [{ position: 2 }] })
    t.match(await ann.call('lock_release', { filepaths: [at('a')] }), {
      results: [{ released: false, holder: holder.name }]
    })
    t.match([await queueOf(at('a')), await queueOf(at('b'))], [[{ agent_id: bob.name }], [{ agent_id: ann.name }]])
    t.match(await ann.call('lock_release_all'), { count: 0 })
    t.strictSame(await queueOf(at('b')), [])
    t.match(await ann.call('lock_wait', { ticket }), noPlace(ticket))
    const second = await ann.call('lock_wait', { filepaths: [at('b')] })
    await ann.call('lock_release', { filepaths: [at('b')] })
    t.match(await ann.call('lock_wait', { ticket: second['ticket'] }), noPlace(second['ticket']))
    await bob.call('lock_release_all')
    await holder.call('lock_release_all')
  })

  test(`over ${door}: with all_or_nothing the ticket stands for all of them`, async (t) => {
    const { ann, bob, holder, at } = await scene(door, 'b', 'c')
    const filepaths = [at('a'), at('b'), at('c')]
    const since = now()
    const cut = await ann.call('lock_wait', { filepaths, all_or_nothing: true })
    t.match(cut, { all_acquired: false, ticket: String, results: [{ acquired: true }, {}, {}] })
    lasts(t, since, cut['results'][0].expires_at, 60, 'what it has already, kept as long as the places,')
    await holder.call('lock_release', { filepaths: [at('b')] })
    t.match(await bob.call('lock_try', { filepaths }), { results: [{ acquired: false }, { acquired: false }, {}] })
    const ended = await ann.call('lock_wait', { ticket: cut['ticket'], timeout_seconds: 0.05 })
    t.match(ended, { all_acquired: false, ticket: undefined, message: /all_or_nothing.*none was kept/ })
    t.match(ended['results'], [{ acquired: false }, { acquired: false }, { acquired: false }])
    t.match(await bob.call('lock_try', { filepaths }), { results: [{ acquired: true }, { acquired: true }, {}] })
    await bob.call('lock_release_all')
    const whole = await ann.call('lock_wait', { filepaths, all_or_nothing: true })
    const going = goOn(ann, whole)
    await holder.call('lock_release_all')
    t.match(await going, { all_acquired: true })
    t.match(await ann.call('lock_release_all'), { count: 3 })
  })
}

t.test('a place that nobody comes back for is given up after the grace, and so is what it was granted', async (t) => {
  const tree = makeTree(t, { f: '' })
  const settings = { crud: { max_timeout: 0.05 }, locks: { ticket_grace_seconds: 0.2 } }
  const server = await startServer(t, tree.root, settings)
  const [ann, bob, cat] = await Promise.all(['ann', 'bob', 'cat'].map((name) => connect(t, 'rest', server.url, name)))
  const filepaths = ['f']
  await bob!.call('lock_try', { filepaths })
  const first = await ann!.call('lock_wait', { filepaths })
  t.match(first, { ticket: String })
  await untilWaiting(server, 0)
  t.match(await ann!.call('lock_wait', { ticket: first['ticket'] }), noPlace(first['ticket']))
  let second: Answer
  let status: Answer
  // The grace may be over when the file is released, or before the status is asked for: then they come again.
  do {
    t.match(await bob!.call('lock_try', { filepaths }), { all_acquired: true })
    second = await ann!.call('lock_wait', { filepaths })
    await bob!.call('lock_release', { filepaths })
    status = await cat!.call('lock_status', { filepaths })
  } while (status['results'][0].holder === null)
  t.match(status, { results: [{ holder: 'ann' }] })
  t.match(await goOn(cat!, await cat!.call('lock_wait', { filepaths })), { all_acquired: true })
  const late = await ann!.call('lock_wait', { ticket: second['ticket'] })
  t.match(late, noPlace(second['ticket']))
  t.notOk('notices' in late, 'nobody was ever told that the lease was there')
  await cat!.call('lock_release', { filepaths })
  t.match(
    await ann!.call('async_append', { path: 'f', content: 'x' }),
    { status: 'ok' },
    'nor is anybody refused for it'
  )
})

t.test('after the grace of an all_or_nothing wait none of its files is held', async (t) => {
  const tree = makeTree(t)
  const settings = { crud: { max_timeout: 0.05 }, locks: { ticket_grace_seconds: 0.1 } }
  const server = await startServer(t, tree.root, settings)
  const [ann, bob, cat] = await Promise.all(['ann', 'bob', 'cat'].map((name) => connect(t, 'rest', server.url, name)))
  await bob!.call('lock_try', { filepaths: ['b'] })
  const input = { filepaths: ['a', 'b'], all_or_nothing: true, ttl_seconds: 3600 }
  t.match(await ann!.call('lock_wait', input), { all_acquired: false, ticket: String })
  // It would wait for ever if the lease had its TTL and not the grace.
  t.match(await goOn(cat!, await cat!.call('lock_wait', { filepaths: ['a'] })), { all_acquired: true })
  t.equal(server.app.locks.summary().waiting, 0)
})

t.test('a lease ends with the session in which it was waited for last, not with that of its ticket', async (t) => {
  const server = await startServer(t, makeTree(t).root, { crud: { max_timeout: 0.05 } })
  const bob = await connect(t, 'rest', server.url, 'bob')
  const filepaths = ['a', 'b', 'free']
  await bob.call('lock_try', { filepaths: ['a', 'b'] })
  const [first, second] = await Promise.all([connectLegacy(server.url, 'ann'), connectLegacy(server.url, 'ann')])
  t.teardown(() => Promise.all([first.close(), second.close()]))
  const wait = async (client: typeof first, input: Record<string, unknown>): Promise<Answer> =>
    (await client.callTool({ name: 'lock_wait', arguments: input }))['structuredContent'] as Answer
  const { ticket } = await wait(first, { filepaths })
  await bob.call('lock_release', { filepaths: ['a'] })
  t.match(await wait(second, { ticket }), { all_acquired: false, ticket })
  await endSession(first)
  t.equal(server.app.mcpSessions(), 1)
  await bob.call('lock_release', { filepaths: ['b'] })
  t.match(await wait(second, { ticket }), { all_acquired: true }, 'the end of the first ends none of them')
  await endSession(second)
  t.equal(server.app.mcpSessions(), 0)
  t.match(await bob.call('lock_try', { filepaths }), { all_acquired: true })
})

t.test('without a grace there are no tickets, and the place is given up at once', async (t) => {
  const server = await startServer(t, makeTree(t).root, {
    crud: { max_timeout: 0.05 },
    locks: { ticket_grace_seconds: 0 }
  })
  const [ann, bob] = await Promise.all(['ann', 'bob'].map((name) => connect(t, 'rest', server.url, name)))
  await bob!.call('lock_try', { filepaths: ['f'] })
  const cut = await ann!.call('lock_wait', { filepaths: ['f'] })
  t.match(cut, {
    all_acquired: false,
    ticket: undefined,
    message: /^The wait was cut short at 0.05 s of the 30 s[^"]*$/
  })
  t.equal(server.app.locks.summary().waiting, 0)
})

for (const transport of ['mcp-2026', 'mcp-2025'] as const) {
  t.test(`over ${transport}: a client that asks for progress is not cut where others would give up`, async (t) => {
    const server = await startServer(t, makeTree(t).root, { daemon: { mcp_wait_seconds: 0.05 } })
    const [ann, bob, cat] = await Promise.all(
      ['ann', 'bob', 'cat'].map((name) => connect(t, transport, server.url, name))
    )
    const filepaths = ['f']
    await bob!.call('lock_try', { filepaths })
    const patient = ann!.call('lock_wait', { filepaths }, { onProgress: () => {} })
    await untilWaiting(server, 1)
    t.match(await cat!.call('lock_wait', { filepaths }), { ticket: String, results: [{ position: 2 }] })
    await bob!.call('lock_release', { filepaths })
    t.match(await patient, { all_acquired: true, ticket: undefined })
  })
}

const calm = await openWorld(t)

for (const door of doors) {
  const test = testsOver(t, door)
  test(`over ${door}: a lock_wait that is cancelled leaves every queue and gives back what it had taken`, async (t) => {
    const ann = await calm.enter(door, `ann-${door}`)
    const bob = await calm.enter('rest', `bob-${door}`)
    const at = (name: string) => `${name}-${door}`
    await bob.call('lock_try', { filepaths: [at('b'), at('c')] })
    await ann.call('lock_try', { filepaths: [at('mine')] })
    await ann.call('lock_try', { filepaths: [at('shared')], mode: 'shared' })
    const controller = new AbortController()
    const filepaths = ['a', 'b', 'c', 'mine', 'shared'].map(at)
    const call = ann.call('lock_wait', { filepaths }, { signal: controller.signal })
    const gone = call.catch(() => undefined)
    await calm.untilWaiting(2)
    t.match(await ann.call('lock_status', { filepaths: [at('shared')] }), {
      results: [{ holders: [{ mode: 'exclusive' }] }]
    })
    const cat = await calm.enter('rest', `cat-${door}`)
    const behind = cat.call('lock_wait', { filepaths: [at('a')] })
    await calm.untilWaiting(3)
    controller.abort()
    t.match(await behind, { all_acquired: true }, 'what was free when it came is free again')
    const answer = await gone
    if (answer !== undefined) t.match(answer, { error_code: 'CANCELLED' })
    await calm.untilWaiting(0)
    t.match(await ann.call('lock_status', { filepaths }), {
      results: [
        { holder: cat.name },
        { holder: bob.name, queue_depth: 0 },
        { holder: bob.name, queue_depth: 0 },
        { held_by_me: true },
        { held_by_me: true, holders: [{ mode: 'shared' }] }
      ]
    })
    for (const agent of [ann, bob, cat]) await agent.call('lock_release_all')
  })
}

for (const transport of transports) {
  t.test(
    `over ${transport}: a lock_wait whose connection is closed leaves the queue, and its ticket is void`,
    { skip: skipOnHosts.looksIntoOne },
    async (t) => {
      const tree = makeTree(t)
      const key = lockKey(tree.path('f'))
      const server = await startServer(t, tree.root, { crud: { max_timeout: 0.3 } })
      const ann = await connect(t, transport, server.url, 'ann')
      const bob = await connect(t, 'rest', server.url, 'bob')
      await bob.call('lock_try', { filepaths: ['f'] })
      const { ticket } = await ann.call('lock_wait', { filepaths: ['f'] })
      const isParked = () => server.app.locks.status(key).waiters[0]?.isParked
      t.equal(isParked(), true)
      const controller = new AbortController()
      const call = ann.call('lock_wait', { ticket }, { signal: controller.signal })
      call.catch(() => {})
      while (isParked() === true) await new Promise(setImmediate)
      server.app.server.closeAllConnections()
      await untilWaiting(server, 0)
      controller.abort()
      t.match(await (await connect(t, 'rest', server.url, 'ann')).call('lock_wait', { ticket }), noPlace(ticket))
    }
  )
}
