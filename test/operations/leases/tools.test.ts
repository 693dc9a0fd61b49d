// What the lock operations promise (LOCK, Testing), each over every door, with the other agent behind another door.
import t from 'tap'
import type { Answer } from '../../fixtures/clients.ts'
import { lasts, now } from '../../fixtures/lasts.ts'
import { until } from '../../fixtures/until.ts'
import { doors, openWorld, outcomeOf, type Agent, testsOver } from './fixtures/doors.ts'

const world = await openWorld(t)
const { tree } = world
let lastFolder = 0

/** Two agents behind different doors, and files of their own. */
async function scene(index: number, files: Record<string, string> = {}) {
  lastFolder += 1
  const folder = `case-${lastFolder}`
  for (const [name, content] of Object.entries(files)) tree.write(`${folder}/${name}`, content)
  const ann = await world.enter(doors[index]!, `ann-${lastFolder}`)
  const bob = await world.enter(doors[(index + 1) % doors.length]!, `bob-${lastFolder}`)
  return { ann, bob, at: (name: string) => `${folder}/${name}` }
}

/** Where the agent waits, its call is in the queue when this resolves. */
async function startWaiting(agent: Agent, position: number, input: object): Promise<{ answer: Promise<Answer> }> {
  const answer = agent.call('lock_wait', input)
  await world.untilWaiting(position)
  return { answer }
}

for (const [index, door] of doors.entries()) {
  const test = testsOver(t, door)
  test(`over ${door}: lock_try takes what is free and says for each other file who has it`, async (t) => {
    const { ann, bob, at } = await scene(index, { a: '', b: '', c: '' })
    const taken = await bob.call('lock_try', { filepaths: [at('b')], note: 'renaming Foo', ttl_seconds: 120 })
    t.match(taken, { status: 'ok', all_acquired: true, results: [{ acquired: true, holder: null, mode: 'exclusive' }] })
    const input = { filepaths: [at('c'), at('new'), at('b'), `./${at('a')}`] }
    const since = now()
    const answer = await ann.call('lock_try', input)
    t.match(answer, {
      status: 'ok',
      all_acquired: false,
      results: [
        { filepath: `./${at('a')}`, acquired: true, holder: null, fencing_token: Number, expires_at: String },
        {
          filepath: at('b'),
          acquired: false,
          holder: bob.name,
          holder_note: 'renaming Foo',
          held_since: String,
          held_until: taken['results'][0].expires_at,
          position: 1,
          queue_depth: 0
        },
        { filepath: at('c'), acquired: true },
        { filepath: at('new'), acquired: true }
      ]
    })
    lasts(t, since, answer['results'][0].expires_at, 300, 'a lease of the default')
    t.match(answer['results'][1], { fencing_token: undefined })
    const again = await ann.call('lock_try', input)
    const tokens = (given: Answer) => given['results'].map((result: Answer) => result['fencing_token'])
    t.strictSame(tokens(again), tokens(answer), 'asking again keeps the lease that is held')
    t.ok(tokens(answer)[0] > taken['results'][0].fencing_token, 'tokens grow')
  })

  test(`over ${door}: with all_or_nothing a lock_try that misses one file takes none`, async (t) => {
    const { ann, bob, at } = await scene(index, { a: '', b: '' })
    await bob.call('lock_try', { filepaths: [at('b')] })
    t.match(await ann.call('lock_try', { filepaths: [at('a'), at('b')], all_or_nothing: true }), {
      all_acquired: false,
      results: [
        { acquired: false, holder: null },
        { acquired: false, holder: bob.name }
      ],
      message: /none was leased/
    })
    t.match(await bob.call('lock_try', { filepaths: [at('a'), at('b')], all_or_nothing: true }), { all_acquired: true })
  })

  test(`over ${door}: shared leases stand side by side and keep an exclusive one out`, async (t) => {
    const { ann, bob, at } = await scene(index, { a: '' })
    const shared = { filepaths: [at('a')], mode: 'shared' }
    for (const agent of [ann, bob]) {
      const answer = await agent.call('lock_try', shared)
      t.match(answer, { all_acquired: true, results: [{ mode: 'shared' }] })
    }
    const exclusive = { filepaths: [at('a')] }
    t.match(await ann.call('lock_try', exclusive), { all_acquired: false, results: [{ holder: bob.name }] })
    const { answer: upgrade } = await startWaiting(ann, 1, exclusive)
    const cat = await world.enter('rest', 'cat')
    t.match(await cat.call('lock_try', shared), { all_acquired: false, results: [{ position: 2 }] }, 'nobody overtakes')
    await bob.call('lock_release', exclusive)
    t.match(await upgrade, { all_acquired: true, results: [{ mode: 'exclusive' }] })
    t.match(await bob.call('lock_try', shared), { all_acquired: false, results: [{ holder: ann.name }] })
    await ann.call('lock_release_all')
  })

  test(`over ${door}: lock_wait ends at its timeout and names the holder`, async (t) => {
    const { ann, bob, at } = await scene(index, { a: '', b: '' })
    await bob.call('lock_try', { filepaths: [at('a')], note: 'at it' })
    const start = performance.now()
    const answer = await ann.call('lock_wait', { filepaths: [at('b'), at('a')], timeout_seconds: 0.2 })
    const waited = performance.now() - start
    // The server reads the same monotonic clock, and began to wait after `start`.
    t.ok(waited > 190, `waited ${waited.toFixed()} ms`)
    t.match(answer, {
      status: 'ok',
      all_acquired: false,
      results: [
        { filepath: at('a'), acquired: false, holder: bob.name, holder_note: 'at it' },
        { filepath: at('b'), acquired: true }
      ]
    })
    t.match(answer, { ticket: undefined }, 'the time was the one asked for')
    t.match(await bob.call('lock_wait', { filepaths: [at('b')], timeout_seconds: 0 }), { all_acquired: false })
    await world.untilWaiting(0)
  })

  test(`over ${door}: lock_wait is granted in the order of arrival, whatever the poll interval`, async (t) => {
    const { ann, bob, at } = await scene(index, { a: '' })
    const input = { filepaths: [at('a')] }
    const others = await Promise.all(doors.map((other) => world.enter(other, `${other}-${lastFolder}`)))
    await bob.call('lock_try', input)
    const order: string[] = []
    const line: Promise<void>[] = []
    const takeTurn = async (agent: Agent, granted: Promise<Answer>) => {
      t.match(await granted, { all_acquired: true })
      order.push(agent.name)
      t.match(await agent.call('lock_status', input), { results: [{ held_by_me: true, holder: agent.name }] })
      t.match(await agent.call('lock_release', input), { all_released: true })
    }
    for (const agent of [ann, ...others]) {
      const { answer } = await startWaiting(agent, line.length + 1, { ...input, poll_interval_ms: 60_000 })
      line.push(takeTurn(agent, answer))
    }
    t.match(await bob.call('lock_try', input), { all_acquired: true }, 'who holds it passes the queue')
    await bob.call('lock_release', input)
    await Promise.all(line)
    t.strictSame(
      order,
      [ann, ...others].map(({ name }) => name)
    )
  })

  test(`over ${door}: lock_release can be repeated, and does not end the lease of another`, async (t) => {
    const { ann, bob, at } = await scene(index, { a: '', b: '' })
    await ann.call('lock_try', { filepaths: [at('a')] })
    await bob.call('lock_try', { filepaths: [at('b')] })
    const input = { filepaths: [at('b'), at('a'), at('never')] }
    const expected = {
      status: 'ok',
      all_released: false,
      results: [
        { filepath: at('a'), released: true, holder: null },
        { filepath: at('b'), released: false, holder: bob.name },
        { filepath: at('never'), released: true, holder: null }
      ]
    }
    t.match(await ann.call('lock_release', input), expected)
    t.match(await ann.call('lock_release', input), expected)
    t.match(await bob.call('lock_status', { filepaths: [at('b')] }), { results: [{ held_by_me: true }] })
    t.match(await bob.call('lock_try', { filepaths: [at('a')] }), { all_acquired: true })
    t.match(await bob.call('lock_release_all'), { status: 'ok', count: 2 })
    t.match(await bob.call('lock_release_all'), { status: 'ok', count: 0 })
    t.match(await ann.call('lock_try', input), { all_acquired: true })
    await ann.call('lock_release_all')
  })

  test(`over ${door}: lock_status tells my lease from that of another and from none`, async (t) => {
    const { ann, bob, at } = await scene(index, { a: '', b: '', c: '' })
    const { results } = await ann.call('lock_try', { filepaths: [at('a')] })
    await bob.call('lock_try', { filepaths: [at('b')], note: 'mine', mode: 'shared' })
    const { answer } = await startWaiting(bob, 1, { filepaths: [at('a')] })
    const [{ fencing_token, expires_at }] = results as [Answer]
    t.match(await ann.call('lock_status', { filepaths: [at('c'), at('b'), at('a')] }), {
      status: 'ok',
      results: [
        { filepath: at('a'), held_by_me: true, holder: ann.name, fencing_token, expires_at, queue_depth: 1 },
        {
          filepath: at('b'),
          held_by_me: false,
          holder: bob.name,
          fencing_token: undefined,
          holders: [{ type: 'lease', mode: 'shared', agent_id: bob.name, note: 'mine' }],
          queue_depth: 0
        },
        { filepath: at('c'), held_by_me: false, holder: null, holders: { length: 0 }, queue_depth: 0 }
      ]
    })
    await ann.call('lock_release_all')
    t.match(await answer, { all_acquired: true })
    t.match(await bob.call('lock_status', { filepaths: [at('a')] }), { results: [{ held_by_me: true }] })
    await bob.call('lock_release_all')
  })

  test(`over ${door}: lock_renew prolongs what is held and says what is not`, async (t) => {
    const { ann, bob, at } = await scene(index, { a: '', b: '' })
    const { results } = await ann.call('lock_try', { filepaths: [at('a')], ttl_seconds: 60 })
    await bob.call('lock_try', { filepaths: [at('b')] })
    const filepaths = [at('a'), at('b'), at('free')]
    const since = now()
    const renewed = await ann.call('lock_renew', { filepaths, ttl_seconds: 600 })
    t.match(renewed, {
      status: 'ok',
      all_renewed: false,
      results: [
        { renewed: true, holder: ann.name, fencing_token: results[0].fencing_token },
        { renewed: false, holder: bob.name },
        { renewed: false, holder: null }
      ]
    })
    lasts(t, since, renewed['results'][0].expires_at, 600)
    t.match(renewed['results'][1], { fencing_token: undefined })
    const { results: shortened } = await ann.call('lock_renew', { filepaths: [at('a')], ttl_seconds: 30 })
    lasts(t, since, shortened[0].expires_at, 30, 'shortened where that is asked for, it')
  })

  test(`over ${door}: two agents who want the same files in opposite orders both get through`, async (t) => {
    const { ann, bob, at } = await scene(index, { a: '', b: '', c: '' })
    const work = async (agent: Agent, filepaths: string[]) => {
      for (let round = 0; round < 4; round += 1) {
        t.match(await agent.call('lock_wait', { filepaths }), { status: 'ok', all_acquired: true })
        for (const path of filepaths) {
          const { content, hash } = await agent.call('async_read', { path })
          const change = { path, expected_hash: hash, content: `${content}${agent.name}\n` }
          t.match(await agent.call('async_update', change), { status: 'ok' }, 'nobody else writes under the lease')
        }
        t.match(await agent.call('lock_release', { filepaths }), { all_released: true })
      }
    }
    await Promise.all([work(ann, [at('a'), at('b'), at('c')]), work(bob, [at('c'), at('b'), at('a')])])
    const wanted = [ann, bob].flatMap(({ name }) => Array<string>(4).fill(name)).sort()
    for (const name of ['a', 'b', 'c']) t.strictSame(tree.read(at(name)).trimEnd().split('\n').sort(), wanted)
    t.equal(tree.read(at('a')), tree.read(at('c')), 'who had one had all')
  })

  test(`over ${door}: an agent with leases and one without lose no change of each other`, async (t) => {
    const { ann, bob, at } = await scene(index, { count: '0' })
    const path = at('count')
    const increment = async (agent: Agent) => {
      let { hash, content } = await agent.call('async_read', { path })
      for (;;) {
        const answer = await agent.call('async_update', {
          path,
          expected_hash: hash,
          content: `${Number(content) + 1}`
        })
        if (answer['status'] === 'ok') return
        t.equal(outcomeOf(answer), 'contention')
        hash = answer['current_hash']
        content = answer['diff'].changes[0].new_content
      }
    }
    const leasing = async () => {
      for (let round = 0; round < 4; round += 1) {
        t.match(await ann.call('lock_wait', { filepaths: [path] }), { all_acquired: true })
        const { hash, content } = await ann.call('async_read', { path })
        const change = { path, expected_hash: hash, content: `${Number(content) + 1}` }
        t.match(await ann.call('async_update', change), { status: 'ok' }, 'under the lease there is no contention')
        await ann.call('lock_release', { filepaths: [path] })
      }
    }
    const plain = async () => {
      for (let round = 0; round < 4; round += 1) await increment(bob)
    }
    await Promise.all([leasing(), plain()])
    t.equal(tree.read(path), '8')
  })
}

for (const door of ['mcp-2026', 'mcp-2025'] as const) {
  t.test(`over ${door}: a lock_wait tells its place in each queue to who asks for progress`, async (t) => {
    const { ann, bob, at } = await scene(doors.indexOf(door), { a: '', b: '' })
    const filepaths = [at('a'), at('b')]
    await bob.call('lock_try', { filepaths })
    const { answer: first } = await startWaiting(await world.enter('rest', 'first'), 1, { filepaths: [at('a')] })
    const messages: (string | undefined)[] = []
    const second = ann.call('lock_wait', { filepaths }, { onProgress: (message) => messages.push(message) })
    await world.untilWaiting(3)
    await bob.call('lock_release', { filepaths })
    await first
    await until(() => messages.includes(`position 1 of 1 for ${at('a')}`))
    await (await world.enter('rest', 'first')).call('lock_release_all')
    t.match(await second, { all_acquired: true })
    t.strictSame(
      new Set(messages),
      new Set([`position 1 of 1 for ${at('a')}`, `position 1 of 1 for ${at('b')}`, `position 2 of 2 for ${at('a')}`])
    )
  })
}
