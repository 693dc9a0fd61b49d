// Wrong input of the lock operations: an error with its code on every transport, and nothing acquired by any of it.
import { mkdirSync, symlinkSync } from 'node:fs'
import t from 'tap'
import { lasts, now } from '../../fixtures/lasts.ts'
import { doors, openWorld, testsOver } from './fixtures/doors.ts'

const world = await openWorld(t, { a: '', 'sub/b': '', '.git/config': '' }, { LOCKS__MAX_FILES_PER_CALL: 4 })
const { tree } = world
mkdirSync(tree.path('directory'))
symlinkSync('a', tree.path('link'))
symlinkSync('sub', tree.path('linked'))
symlinkSync('/etc/hostname', tree.path('out'))

const invalid = 'INVALID_REQUEST'
const long = 'x'.repeat(501)

/** Lists that every operation with filepaths refuses. */
const lists: readonly [unknown, string, RegExp][] = [
  [[''], invalid, /filepaths\[0\]/],
  [['a', ''], invalid, /filepaths\[1\]/],
  [5, invalid, /filepaths must be array, not number/],
  [null, invalid, /filepaths/],
  [[5], invalid, /filepaths\[0\]/],
  [['a\0'], invalid, /NUL/],
  [['x'.repeat(4097)], invalid, /4096/],
  [['1', '2', '3', '4', '5'], invalid, /5 items, more than the 4 allowed \(locks\.max_files_per_call\)/],
  [Array.from({ length: 10_001 }, (_, index) => `f${index}`), invalid, /10000/]
]

/** Lists with a path that cannot be leased: nothing is taken then. */
const unleasable: typeof lists = [
  [['a', '../a'], 'PATH_OUTSIDE_BASE', /\.\.\/a/],
  [['/etc/passwd'], 'PATH_OUTSIDE_BASE', /\/etc\/passwd/],
  [['a', 'out'], 'PATH_OUTSIDE_BASE', /out/],
  [['a', 'directory'], 'NOT_A_FILE', /directory/],
  [['.'], 'NOT_A_FILE', /\S/],
  [['a', 'a/below'], 'NOT_A_FILE', /a/],
  [['a', '.git/config'], 'ACCESS_DENIED', /protected/],
  [['.GIT/new'], 'ACCESS_DENIED', /\S/],
  [['.async-crud-mcp/x'], 'ACCESS_DENIED', /\S/]
]

const takingLists = ['lock_try', 'lock_wait'] as const
const givenLists = ['lock_renew', 'lock_release', 'lock_status'] as const

const filepaths = ['a']
const others: readonly [string, object, RegExp][] = [
  ['lock_try', {}, /missing parameter "filepaths"/],
  ['lock_renew', {}, /missing parameter "filepaths"/],
  ['lock_try', { filepaths, ttl_seconds: 0 }, /ttl_seconds/],
  ['lock_try', { filepaths, ttl_seconds: -1 }, /ttl_seconds/],
  ['lock_try', { filepaths, ttl_seconds: '60' }, /ttl_seconds must be number, not string/],
  ['lock_wait', { filepaths, ttl_seconds: 0 }, /ttl_seconds/],
  ['lock_renew', { filepaths, ttl_seconds: 0 }, /ttl_seconds/],
  ['lock_wait', { filepaths, timeout_seconds: -1 }, /timeout_seconds/],
  ['lock_wait', { filepaths, poll_interval_ms: 0.5 }, /poll_interval_ms/],
  ['lock_try', { filepaths, note: long }, /note/],
  ['lock_try', { filepaths, note: '' }, /note/],
  ['lock_wait', { filepaths, note: long }, /note/],
  ...['a\u0007', 'a\u0085', 'a\u2028b', 'a\u202eb', 'a\u2066', ' ', '\u200b\u3000'].flatMap(
    (words): [string, object, RegExp][] => [
      ['lock_try', { filepaths, note: words }, /note must have a visible character/],
      ['lock_release_all', { agent_id: words }, /agent_id must have a visible character/]
    ]
  ),
  ['lock_try', { filepaths, mode: 'write' }, /"exclusive", "shared"/],
  ['lock_try', { filepaths, all_or_nothing: 'yes' }, /all_or_nothing must be boolean, not string/],
  ['lock_try', { filepath: filepaths }, /did you mean "filepaths"/],
  ['lock_try', { filepaths, timeout_seconds: 5 }, /timeout_seconds/],
  ['lock_try', { filepaths, nonsense: 1, ttl_seconds: 0, mode: 'x' }, /nonsense(?=.*ttl_seconds)(?=.*mode)/],
  ['lock_wait', {}, /Pass filepaths .* or the ticket/],
  ['lock_wait', { ticket: '' }, /ticket/],
  ['lock_wait', { ticket: 'x'.repeat(101) }, /ticket/],
  ['lock_wait', { ticket: 'ticket-0123456789abcdef' }, /No place is kept for ticket "ticket-0123456789abcdef"/],
  ['lock_wait', { ticket: 'no such', filepaths }, /No place is kept for ticket/],
  ['lock_release', { filepaths, force: true }, /force/],
  ['lock_release_all', { filepaths }, /filepaths/],
  ['lock_status', {}, /filepaths/]
]

for (const door of doors) {
  const test = testsOver(t, door)
  test(`over ${door}: every wrong input is an error with its code, and acquires nothing`, async (t) => {
    const agent = await world.enter(door, door)
    async function refused(operation: string, input: object, code: string, message: RegExp) {
      const { answer, isError } = await agent.outcome(operation, input)
      const title = `${operation} ${JSON.stringify(input).slice(0, 100)}`.replaceAll(/[^ -~]/g, '?')
      t.ok(isError, `${title} is an error`)
      t.match(answer, { status: 'error', error_code: code, message }, title)
    }
    for (const operation of [...takingLists, ...givenLists])
      for (const [list, code, message] of lists) await refused(operation, { filepaths: list }, code, message)
    for (const [list, code, message] of unleasable) {
      for (const operation of takingLists) await refused(operation, { filepaths: list }, code, message)
      for (const operation of givenLists) {
        const { answer, isError } = await agent.outcome(operation, { filepaths: list })
        t.notOk(isError, `${operation} ${String(list)} is answered file by file`)
        const failed = (answer['results'] as { error_code?: string }[]).filter(
          ({ error_code }) => error_code !== undefined
        )
        t.match(failed, [{ error_code: code, message }])
        t.equal(failed.length, 1)
      }
    }
    for (const [operation, input, message] of others) await refused(operation, input, invalid, message)
    t.match(await world.locks(), { files: { length: 0 }, counts: { files: 0, leases: 0, waiting: 0 } })
  })

  test(`over ${door}: several spellings of one file are one file, named as it was spelt first`, async (t) => {
    const agent = await world.enter(door, door)
    const spellings = ['./link', 'A', tree.path('a'), 'sub/../a']
    t.match(await agent.call('lock_try', { filepaths: [...spellings.slice(0, 2), 'linked/B', 'sub/b'] }), {
      all_acquired: true,
      results: [{ filepath: './link' }, { filepath: 'linked/B' }]
    })
    t.match(await world.locks(), { counts: { leases: 2 } })
    for (const operation of ['lock_try', 'lock_wait', 'lock_status', 'lock_renew', 'lock_release']) {
      const { results } = await agent.call(operation, { filepaths: spellings })
      t.match(results, [{ filepath: './link' }], operation)
      t.equal(results.length, 1)
    }
    t.match(await agent.call('lock_release_all'), { count: 1 }, 'released under one name, it is released')
  })

  test(`over ${door}: a time beyond the limits is clamped, and the answer says so`, async (t) => {
    const agent = await world.enter(door, door)
    for (const operation of ['lock_try', 'lock_wait', 'lock_renew']) {
      const since = now()
      const answer = await agent.call(operation, { filepaths, ttl_seconds: 1e300 })
      t.match(answer, { status: 'ok', message: /locks\.max_lease_ttl_seconds.*3600 s/ }, operation)
      lasts(t, since, answer['results'][0].expires_at, 3600, operation)
    }
    const within = await agent.call('lock_try', { filepaths: ['sub/b'], ttl_seconds: 3600 })
    t.match(within, { message: undefined })
    const granted = await agent.call('lock_wait', { filepaths, timeout_seconds: 1e300 })
    t.match(
      granted,
      { all_acquired: true, message: undefined },
      'of a wait that was not needed there is nothing to say'
    )
    await agent.call('lock_release_all')
  })
}

t.test('an empty list of files is nothing to do: all is as asked', async (t) => {
  const filepaths: string[] = []
  for (const door of doors) {
    const agent = await world.enter(door, 'empty')
    for (const name of ['lock_try', 'lock_wait'])
      for (const more of [{}, { all_or_nothing: true }])
        t.match(
          await agent.call(name, { filepaths, ...more }),
          { status: 'ok', results: [], all_acquired: true },
          `${door} ${name}`
        )
    t.match(await agent.call('lock_renew', { filepaths }), { status: 'ok', results: [], all_renewed: true })
    t.match(await agent.call('lock_release', { filepaths }), { status: 'ok', results: [], all_released: true })
    t.match(await agent.call('lock_status', { filepaths }), { status: 'ok', results: [] })
  }
})

t.test('lock_break is for operators over REST, with a reason; no agent is offered it', async (t) => {
  const operator = await world.enter('rest')
  for (const [input, message] of [
    [{ filepaths }, /missing parameter "reason"/],
    [{ filepaths, reason: '' }, /reason/],
    [{ filepaths, reason: long }, /reason/],
    [{ filepaths, reason: 'a\u2029' }, /reason must have a visible character/]
  ] as const)
    t.match(await operator.outcome('lock_break', input), { isError: true, answer: { error_code: invalid, message } })
  for (const files of [filepaths, []])
    t.match(await operator.call('lock_break', { filepaths: files, reason: 'x' }), { status: 'ok', count: 0 })
  for (const door of ['mcp-2026', 'mcp-2025', 'mcp-stdio'] as const) {
    const call = (await world.enter(door, 'a')).outcome('lock_break', { filepaths, reason: 'x' })
    await t.rejects(call, { code: -32_602, message: /Unknown tool: lock_break/ }, door)
  }
  const { error } = await world.program.call('lock_break', { filepaths, reason: 'x' })
  t.match(error, { code: -32_601 })
})

t.test('over JSON-RPC wrong input is -32602, and what the lock table refuses -32001, with its code', async (t) => {
  const fault = await world.program.call('lock_try', { filepaths: [''], agent_id: 'a' })
  t.match(fault, { error: { code: -32_602, data: { status: 'error', error_code: invalid } } })
  await world.program.call('lock_try', { filepaths, agent_id: 'a' })
  const append = { path: 'a', content: 'x', timeout: 0, agent_id: 'b' }
  for (const [input, error_code] of [
    [append, 'LOCK_TIMEOUT'],
    [{ ...append, fencing_token: 1 }, 'LEASE_LOST']
  ] as const)
    t.match(await world.program.call('async_append', input), { error: { code: -32_001, data: { error_code } } })
})

t.test('a text of megabytes is refused, in linear time or this would not end', async (t) => {
  const agent = await world.enter('rest', 'a')
  for (const note of [`${' '.repeat(1_000_000)}\u202e`, `${'x'.repeat(1_000_000)}\u202e`])
    t.match(await agent.call('lock_try', { filepaths, note }), { error_code: invalid, message: /500.*visible/ })
})
