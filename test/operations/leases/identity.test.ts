// Who holds a lease: agent_id of the input before the header, before _meta, before the session or the connection.
import t, { type Test } from 'tap'
import { connectLegacy, connectModern, type Answer } from '../../fixtures/clients.ts'
import { doors, openWorld, outcomeOf, type Agent } from './fixtures/doors.ts'

const world = await openWorld(t)
let lastFile = 0

function newFile(): string {
  lastFile += 1
  world.tree.write(`f${lastFile}`, 'one')
  return `f${lastFile}`
}

/** The holders of a file, as anybody sees them. */
async function holdersOf(path: string): Promise<string[]> {
  const { holders } = await (await world.enter('rest')).call('async_status', { path })
  return (holders as Answer[]).map(({ agent_id }) => String(agent_id))
}

async function callRest(operation: string, input: object, headers: Record<string, string> = {}): Promise<Answer> {
  const init = {
    method: 'POST',
    headers: { 'content-type': 'application/json', ...headers },
    body: JSON.stringify(input)
  }
  return (await (await fetch(`${world.url}/${operation}`, init)).json()) as Answer
}

const lockOperations: readonly [string, object][] = [
  ['lock_try', { filepaths: ['f'] }],
  ['lock_wait', { filepaths: ['f'] }],
  ['lock_wait', { ticket: 'ticket-0' }],
  ['lock_renew', { filepaths: ['f'] }],
  ['lock_release', { filepaths: ['f'] }],
  ['lock_status', { filepaths: ['f'] }],
  ['lock_release_all', {}]
]

t.test('over REST the holder is the agent_id of the input, else the header', async (t) => {
  const [one, two] = [newFile(), newFile()]
  const header = { 'x-agent-id': 'header' }
  await callRest('lock_try', { filepaths: [one], agent_id: 'input' }, header)
  await callRest('lock_try', { filepaths: [two] }, header)
  t.strictSame([await holdersOf(one), await holdersOf(two)], [['input'], ['header']])
})

for (const [era, connect] of [
  ['2026', connectModern],
  ['2025', connectLegacy]
] as const) {
  t.test(`for a ${era} client the holder is agent_id, then the header, then _meta`, async (t) => {
    const named = await connect(world.url, 'header')
    const plain = await connect(world.url)
    t.teardown(() => Promise.all([named.close(), plain.close()]))
    const _meta = { 'async-crud-mcp/agent_id': 'meta' }
    const [one, two, three] = [newFile(), newFile(), newFile()]
    await named.callTool({ name: 'lock_try', arguments: { filepaths: [one], agent_id: 'input' }, _meta })
    await named.callTool({ name: 'lock_try', arguments: { filepaths: [two] }, _meta })
    await plain.callTool({ name: 'lock_try', arguments: { filepaths: [three] }, _meta })
    t.strictSame(
      [await holdersOf(one), await holdersOf(two), await holdersOf(three)],
      [['input'], ['header'], ['meta']]
    )
  })
}

t.test(
  'on stdio the holder is agent_id, then _meta, then the connection, which is one for both protocols',
  async (t) => {
    const [one, two, three] = [newFile(), newFile(), newFile()]
    const plain = await world.enter('json-rpc')
    const named = await world.enter('mcp-stdio', 'meta')
    await named.call('lock_try', { filepaths: [one], agent_id: 'input' })
    await named.call('lock_try', { filepaths: [two] })
    t.match(await plain.call('lock_try', { filepaths: [three] }), { all_acquired: true })
    t.strictSame([await holdersOf(one), await holdersOf(two)], [['input'], ['meta']])
    t.match(await holdersOf(three), [/^stdio-[0-9a-f]{8}$/])
    const mcp = await world.enter('mcp-stdio')
    t.match(await mcp.call('lock_status', { filepaths: [three] }), { results: [{ held_by_me: true }] })
  }
)

t.test('each 2025 session is a holder by itself, under a name that does not give the session away', async (t) => {
  const path = newFile()
  const first = await connectLegacy(world.url)
  t.teardown(() => first.close())
  const second = await world.enter('mcp-2025')
  await first.callTool({ name: 'lock_try', arguments: { filepaths: [path] } })
  const [holder] = await holdersOf(path)
  t.match(holder, /^session-[0-9a-f]{8}$/)
  t.notOk(first.transport?.sessionId?.includes(holder!.slice('session-'.length)))
  t.match(await second.call('lock_try', { filepaths: [path] }), { all_acquired: false, results: [{ holder }] })
  const refused = await second.call('async_append', { path, content: 'x', timeout: 0 })
  t.match(refused, { error_code: 'LOCK_TIMEOUT', message: new RegExp(holder!) })
  const passed = (await first.callTool({ name: 'async_append', arguments: { path, content: 'x' } })) as Answer
  t.match(passed['structuredContent'], { status: 'ok' })
})

for (const door of doors) {
  t.test(`over ${door}: two agent_ids on one connection are two holders, and can wait for each other`, async (t) => {
    const connection = await world.enter(door)
    const as = (agent_id: string): Pick<Agent, 'call'> => ({
      call: (operation, input = {}) => connection.call(operation, { ...input, agent_id })
    })
    const [one, two] = [as(`one-${door}`), as(`two-${door}`)]
    const [a, b] = [newFile(), newFile()]
    t.match(await one.call('lock_try', { filepaths: [a] }), { all_acquired: true })
    t.match(await two.call('lock_try', { filepaths: [a, b] }), {
      results: [{ acquired: false, holder: `one-${door}` }, { acquired: true }]
    })
    t.match(await two.call('async_append', { path: a, content: 'x', timeout: 0 }), { error_code: 'LOCK_TIMEOUT' })
    t.match(await one.call('async_append', { path: a, content: 'x', timeout: 0 }), { status: 'ok' })
    const waiting = two.call('lock_wait', { filepaths: [a] })
    await world.untilWaiting(1)
    t.equal(outcomeOf(await one.call('lock_wait', { filepaths: [b] })), 'DEADLOCK')
    t.match(await one.call('lock_release_all'), { count: 1 })
    t.match(await waiting, { all_acquired: true })
    t.match(await two.call('lock_release_all'), { count: 2 })
  })
}

async function refusesNobody(t: Test, agent: Agent, name: RegExp): Promise<void> {
  for (const [operation, input] of lockOperations) {
    const { answer, isError } = await agent.outcome(operation, input)
    t.ok(isError, `${operation} fails`)
    t.match(answer, { status: 'error', error_code: 'INVALID_REQUEST', message: name }, operation)
  }
  t.strictSame(await holdersOf('f'), [])
}

for (const door of ['rest', 'mcp-2026'] as const) {
  t.test(`over ${door}: a lock operation of nobody is an error that says how to say who calls`, async (t) => {
    await refusesNobody(t, await world.enter(door), /needs an agent id: pass agent_id/)
  })

  t.test(`over ${door}: a name longer than 200 characters is refused, wherever it stands`, async (t) => {
    await refusesNobody(t, await world.enter(door, 'x'.repeat(201)), /1 to 200 characters/)
    const agent = await world.enter(door)
    for (const agent_id of ['', 'x'.repeat(201), 'a\nb', 5])
      t.match(await agent.outcome('lock_try', { filepaths: ['f'], agent_id }), {
        isError: true,
        answer: { error_code: 'INVALID_REQUEST', message: /agent_id/ }
      })
  })
}

t.test('a header in UTF-8 names the agent whom the input names in the same letters', async (t) => {
  const bytes = Buffer.from('Zoé').toString('latin1')
  const [rest, modern, legacy, latin] = [newFile(), newFile(), newFile(), newFile()]
  await callRest('lock_try', { filepaths: [rest] }, { 'x-agent-id': bytes })
  await callRest('lock_try', { filepaths: [latin] }, { 'x-agent-id': 'Zoé' })
  for (const [connect, path] of [
    [connectModern, modern],
    [connectLegacy, legacy]
  ] as const) {
    const client = await connect(world.url, bytes)
    t.teardown(() => client.close())
    await client.callTool({ name: 'lock_try', arguments: { filepaths: [path] } })
  }
  for (const path of [rest, modern, legacy, latin]) t.strictSame(await holdersOf(path), ['Zoé'])
})

t.test('a header whose last byte alone would be a blank names the agent all the same', async (t) => {
  // The second byte of this letter in UTF-8 is 0xa0, which is a blank in Latin-1.
  const path = newFile()
  await callRest('lock_try', { filepaths: [path] }, { 'x-agent-id': Buffer.from('voilà').toString('latin1') })
  t.strictSame(await holdersOf(path), ['voilà'])
  t.match(await callRest('lock_release', { filepaths: [path], agent_id: 'voilà' }), { results: [{ released: true }] })
})

t.test('an empty header names nobody', async (t) => {
  const answer = await callRest('lock_try', { filepaths: ['f'] }, { 'x-agent-id': '' })
  t.match(answer, { error_code: 'INVALID_REQUEST', message: /needs an agent id/ })
})
