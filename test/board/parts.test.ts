// What the board makes of what it gets: lines of a timeline, differences, graphs, areas, rates.
import t from 'tap'
import { measure, readMetrics } from '../../board/measures.ts'
import {
  foldLines,
  fromLate,
  markMerged,
  partsOf,
  putUnder,
  summaryOf,
  toHappening,
  type Happening
} from '../../board/happenings.ts'
import { createFilesInUse } from '../../board/files-in-use.ts'
import { matcherOf, shorten, type Holder, type LockedFile, type TreeEvent, type Waiter } from '../../board/model.ts'
import { listAgents, partSilent } from '../../board/agents.ts'
import { formatAddress, parseAddress } from '../../board/address.ts'
import { fitPaths } from '../../board/fit-paths.ts'
import { middleOf, shortNames } from '../../board/names.ts'
import { layOut } from '../../board/treemap.ts'
import { describeLines, pairUp, parseUnified } from '../../board/unified.ts'
import { findWaits } from '../../board/wait-graph.ts'
import { createActivityLog } from '../../src/engine/activity/activity.ts'

const at = '2026-11-22T10:00:00.000Z'

t.test('a unified diff becomes numbered lines, pairs, and words for where it is', async (t) => {
  const text = [
    '--- a',
    '+++ b',
    '@@ -1,4 +1,5 @@',
    ' one',
    '-two',
    '-three',
    '+2 two',
    ' four',
    '+five',
    '+--- six',
    '@@ -20 +21,0 @@',
    '-last',
    ''
  ].join('\n')
  const hunks = parseUnified(text)
  t.equal(hunks.length, 2)
  t.equal(describeLines(hunks), 'lines 2, 4-5, after 0')
  const pairs = pairUp(hunks[0]?.lines ?? []).map(({ left, right }) => [left?.text, right?.text])
  t.strictSame(pairs, [
    ['one', 'one'],
    ['two', '2 two'],
    ['three', undefined],
    ['four', 'four'],
    [undefined, 'five'],
    [undefined, '--- six']
  ])
  t.strictSame(
    hunks[0]?.lines.map(({ newNumber }) => newNumber),
    [1, undefined, undefined, 2, 3, 4, 5]
  )
  t.strictSame(hunks[0]?.lines.find(({ text }) => text === '2 two')?.changed, [0, 2], 'what is new in the line')
  t.equal(describeLines(parseUnified('')), '')
})

t.test('waiters point to holders, and shared ones to the waiter before them', async (t) => {
  const holder = (agent_id: string, mode: 'exclusive' | 'shared' = 'exclusive') => ({
    type: 'lease',
    mode,
    agent_id,
    acquired_at: at,
    expires_at: at
  })
  const waiter = (agent_id: string, mode: 'exclusive' | 'shared' = 'exclusive') => ({
    type: 'lease',
    mode,
    agent_id,
    queued_at: at,
    timeout_at: at
  })
  const files: LockedFile[] = [
    { path: '/r/a', holders: [holder('ann')], pending_requests: [waiter('bob'), waiter('cy')] },
    { path: '/r/b', holders: [holder('bob', 'shared')], pending_requests: [waiter('dan'), waiter('eve', 'shared')] }
  ]
  const { nodes, edges, hidden } = findWaits(files, 10)
  t.strictSame(
    edges.map(({ from, to }) => `${from} ${to}`),
    ['bob ann', 'cy ann', 'dan bob', 'eve dan']
  )
  t.strictSame(Object.fromEntries(nodes.map(({ name, depth }) => [name, depth])), {
    ann: 0,
    bob: 1,
    cy: 1,
    dan: 2,
    eve: 3
  })
  t.equal(hidden, 0)
  t.equal(findWaits(files, 1).hidden, 3)
  const agents = listAgents(
    files,
    [{ agent_id: 'zoe', last_seen: at, operation: 'async_read', path: 'a' }],
    (path) => path
  )
  t.strictSame(
    agents.map(({ name }) => name),
    ['bob', 'cy', 'dan', 'eve', 'ann', 'zoe']
  )
  t.match(agents[0], { holds: [{ path: '/r/b' }], waits: [{ path: '/r/a', position: 1 }] })
})

t.test('subagents stand under their parents, and the silent ones are folded with them', async (t) => {
  const now = Date.parse(at)
  const seenAgo = (minutes: number) => new Date(now - minutes * 60_000).toISOString()
  const seen = Object.entries({ 'c/1': 9, 'c/1/a': 6, 'c/2': 5, 'c/2/b': 4, 'c/3': 0, zoe: 1000 }).map(
    ([agent_id, minutes]) => ({ agent_id, last_seen: seenAgo(minutes), operation: 'async_read' })
  )
  const holder: Holder = { type: 'lease', mode: 'exclusive', agent_id: 'zoe', acquired_at: at, expires_at: at }
  const waiter: Waiter = { type: 'lease', mode: 'exclusive', agent_id: 'c/3/d', queued_at: at, timeout_at: at }
  const agents = listAgents([{ path: '/r/f', holders: [holder], pending_requests: [waiter] }], seen, (path) => path)
  const inOrder = ['c/3', 'c/3/d', 'zoe', 'c/1', 'c/1/a', 'c/2', 'c/2/b']
  t.strictSame(
    agents.map(({ name }) => name),
    inOrder
  )
  t.strictSame(
    agents.filter(({ parent }) => parent !== undefined).map(({ name, parent }) => [name, parent]),
    [
      ['c/3/d', 'c/3'],
      ['c/1/a', 'c/1'],
      ['c/2/b', 'c/2']
    ],
    'no agent is called c'
  )
  const { active, silent } = partSilent(agents, now)
  t.strictSame(
    silent.map(({ name }) => name),
    ['c/1', 'c/1/a'],
    'not one that holds, and not one whose subagent is active'
  )
  t.equal(active.length, 5)
})

t.test('files that are waited for replace those of the last list', async (t) => {
  const holder: Holder = { type: 'lease', mode: 'exclusive', agent_id: 'ann', acquired_at: at, expires_at: at }
  const waiter: Waiter = { type: 'lease', mode: 'exclusive', agent_id: 'bob', queued_at: at, timeout_at: at }
  const before: LockedFile[] = [
    { path: '/r/held', holders: [holder], pending_requests: [] },
    { path: '/r/no-longer', holders: [holder], pending_requests: [waiter] },
    { path: '/r/gone', holders: [], pending_requests: [waiter] },
    { path: '/r/still', holders: [holder], pending_requests: [waiter] }
  ]
  const waited = ['/r/still', '/r/new'].map((path) => ({ path, holders: [holder], pending_requests: [waiter, waiter] }))
  const filesInUse = createFilesInUse(0)
  filesInUse.setAll(before)
  filesInUse.setWaitedFor(waited)
  t.strictSame(
    filesInUse.list().map(({ path, pending_requests }) => [path, pending_requests.length]),
    [
      ['/r/held', 0],
      ['/r/no-longer', 0],
      ['/r/still', 2],
      ['/r/new', 2]
    ]
  )
})

t.test('of a long list, leases come and go with their events, also while the waits are read', async (t) => {
  const held = (path: string): LockedFile => {
    const holder: Holder = { type: 'lease', mode: 'exclusive', agent_id: 'ann', acquired_at: at, expires_at: at }
    return { path, holders: [holder], pending_requests: [] }
  }
  const told = (type: string, path: string) =>
    ({ type, id: path, at, path, agent_id: 'ann', mode: 'exclusive', held_as: 'lease', expires_at: at }) as TreeEvent
  const filesInUse = createFilesInUse(1)
  const paths = () => filesInUse.list().map(({ path }) => path)

  filesInUse.beginReading()
  filesInUse.take([told('lease_granted', '/r/c')])
  filesInUse.setAll([held('/r/a'), held('/r/b')])
  t.strictSame(paths(), ['/r/a', '/r/b', '/r/c'], 'what was told while all were read')

  t.ok(filesInUse.take([told('lease_granted', '/r/d'), told('lock_released', '/r/a')]))
  filesInUse.beginReading()
  t.ok(filesInUse.take([told('lease_granted', '/r/e'), told('lock_released', '/r/b')]))
  filesInUse.setWaitedFor([])
  t.strictSame(paths(), ['/r/c', '/r/d', '/r/e'], 'what was told before the waits were read, and meanwhile')
  t.notOk(filesInUse.take([told('queue_position', '/r/c')]), 'nothing of leases')

  filesInUse.beginReading()
  filesInUse.setAll([held('/r/a')])
  t.notOk(filesInUse.take([told('lease_granted', '/r/f')]), 'a short list is read again soon')
  t.strictSame(paths(), ['/r/a'])
})

t.test('events become lines of the timeline', async (t) => {
  const change = {
    id: '1',
    type: 'file_changed',
    at,
    path: '/r/f',
    agent_id: 'ann',
    operation: 'async_write',
    hash: 'h'
  }
  const kindOf = (event: object) => toHappening(event as Parameters<typeof toHappening>[0])?.kind
  t.equal(kindOf({ ...change, previous_hash: null }), 'created')
  t.equal(kindOf(change), 'created')
  t.equal(kindOf({ ...change, operation: 'external' }), 'changed')
  t.equal(kindOf({ ...change, previous_hash: 'g' }), 'changed')
  t.equal(kindOf({ ...change, hash: null }), 'deleted')
  t.equal(kindOf({ ...change, renamed_from: '/r/e' }), 'renamed')
  t.equal(kindOf({ ...change, type: 'lock_released' }), undefined)
  t.match(toHappening({ ...change, type: 'file_changed', bulk: true, count: 700 } as never), {
    path: '',
    what: '700 files at once'
  })
})

t.test('paths are shown from their root, and found by words and patterns', async (t) => {
  t.equal(shorten('/r/src/a.ts', ['/r']), 'src/a.ts')
  t.equal(shorten('/s/src/a.ts', ['/r', '/s']), 's/src/a.ts')
  t.equal(shorten('/elsewhere/a', ['/r']), '/elsewhere/a')
  const found = (pattern: string) => ['src/a.ts', 'src/ui/b.tsx', 'README.md'].filter(matcherOf(pattern))
  t.strictSame(found('src/**'), ['src/a.ts', 'src/ui/b.tsx'])
  t.strictSame(found('src/*.ts'), ['src/a.ts'])
  t.strictSame(found('**/*.tsx'), ['src/ui/b.tsx'])
  t.strictSame(found('*.ts'), ['src/a.ts'])
  t.strictSame(found('read'), ['README.md'])
  t.strictSame(found('a.t?'), ['src/a.ts'])
  t.strictSame(found('(+['), [])
})

t.test('a treemap fills its area in proportion, folders around their files', async (t) => {
  const tiles = layOut(
    [
      { path: 'a/x', weight: 6 },
      { path: 'a/y', weight: 3 },
      { path: 'b/z', weight: 3 }
    ],
    { width: 400, height: 300 }
  )
  const folders = tiles.filter(({ isFolder }) => isFolder)
  t.strictSame(
    folders.map(({ path, width, height }) => [path, Math.round(width * height)]),
    [
      ['a', 90_000],
      ['b', 30_000]
    ]
  )
  const [x, y] = ['a/x', 'a/y'].map((path) => tiles.find((tile) => tile.path === path))
  t.ok(Math.abs((x!.width * x!.height) / (y!.width * y!.height) - 2) < 0.01)
  for (const { x, y, width, height } of tiles) t.ok(x >= 0 && y >= 0 && x + width <= 400.01 && y + height <= 300.01)
})

t.test('two readings of the metrics give rates and quantiles', async (t) => {
  const text = (ok: number, slow: number) => `
async_crud_calls_total{operation="async_read",transport="rest",result="ok"} ${ok}
async_crud_calls_total{operation="async_update",transport="rest",result="LOCK_TIMEOUT"} 4
async_crud_call_duration_seconds_bucket{operation="async_read",le="0.001"} ${ok - slow}
async_crud_call_duration_seconds_bucket{operation="async_read",le="0.1"} ${ok}
async_crud_call_duration_seconds_bucket{operation="async_read",le="+Inf"} ${ok}
async_crud_queue_depth 3`
  const measured = measure(readMetrics(text(100, 0), 1000), readMetrics(text(200, 50), 3000))
  t.match(measured, { ok: 50, failed: 0, contention: 0, queue: 3, p50: 1 })
  t.ok((measured?.p95 ?? 0) > 50 && (measured?.p95 ?? 0) <= 100)
  t.equal(measure(readMetrics(text(100, 0), 1000), readMetrics(text(3, 0), 3000)), undefined, 'after a restart')
})

t.test('what is remembered of agents and files is bounded, the latest of it', async (t) => {
  let now = 1_700_000_000_000
  const log = createActivityLog({ maxAgents: 8, maxCounts: 10 }, () => now)
  for (let index = 0; index < 50; index += 1) {
    now += 1000
    log.agents.saw(`agent-${index}`, 'async_read', ['f'.repeat(5000)], { transport: 'rest', client: 'c'.repeat(5000) })
    log.agents.saw('steady', 'async_read', 'f', { transport: 'rest' })
  }
  const { agents } = log.list(60, 100)
  t.ok(agents.length <= 8)
  t.match(
    agents
      .slice(0, 2)
      .map(({ agent_id }) => agent_id)
      .sort(),
    ['agent-49', 'steady']
  )
  t.ok((agents.find(({ agent_id }) => agent_id === 'agent-49')?.path?.length ?? 0) < 400)
  for (let index = 0; index < 50; index += 1) {
    now += 20_000
    log.contended(`/r/${index}`, 'ann', index % 2 === 0)
  }
  const { files, strip_seconds } = log.list(60, 100)
  t.ok(files.length <= 10 && files.length >= 5, `${files.length} files`)
  t.ok(files.some(({ path }) => path === '/r/49'))
  t.equal(strip_seconds, 60)
  t.equal(log.list(60, 2).files.length, 2)
  for (let index = 0; index < 100; index += 1) log.waited(`/r/${index}`, 'ann', 5)
  t.ok(log.list(60, 1000).files.length <= 10, 'within one minute, too')
  now += 25 * 3_600_000
  log.contended('/r/new', 'ann', false)
  t.strictSame(
    log.list(1440, 100).files.map(({ path }) => path),
    ['/r/new'],
    'a day at most'
  )
})

t.test(
  'a merge is marked, a late change stands under what it met, and changes of several files are one line',
  async (t) => {
    const line = (key: string, more: Partial<Happening> = {}): Happening => ({
      key,
      kind: 'changed',
      path: '/r/f',
      agent: 'ann',
      at: Date.parse(at),
      what: 'update',
      hash: key,
      ...more
    })
    const timeline = [line('a'), line('b', { previousHash: 'a' }), line('c', { previousHash: 'b' })]
    const merged = {
      at,
      merged: true,
      path: '/r/f',
      agent_id: 'ann',
      expected_hash: 'z',
      current_hash: 'a'
    }
    t.ok(markMerged(timeline, merged))
    t.notOk(markMerged(timeline, merged), 'said once')
    const refused = fromLate({ ...merged, merged: false, operation: 'async_update', tried_hash: 't' })
    t.match(refused, { kind: 'contention', hash: 'a', expectedHash: 'z', triedHash: 't', what: /^update, too late/ })
    t.equal(summaryOf([refused, ...timeline]), '3 changes in 1 file, 1 merged, 1 too late')
    t.strictSame(
      timeline.map(({ kind, expectedHash }) => [kind, expectedHash]),
      [
        ['changed', undefined],
        ['merged', 'z'],
        ['changed', undefined]
      ]
    )
    t.notOk(markMerged(timeline, { ...merged, agent_id: 'bob' }), 'of another')

    const late = (key: string, hash: string) => line(key, { kind: 'contention', hash })
    const placed = putUnder([late('5', 'b'), line('c'), late('4', 'b'), late('3', 'x'), line('b'), line('a')])
    t.strictSame(
      placed.map(({ key, isUnder }) => [key, isUnder]),
      [
        ['c', undefined],
        ['3', undefined],
        ['b', undefined],
        ['5', true],
        ['4', true],
        ['a', undefined]
      ]
    )

    const part = (key: string, more = {}) => line(key, { operation: 'async_undo', changeSet: 'undo-1', ...more })
    const folded = foldLines([part('3'), part('2'), part('1'), part('0', { changeSet: 'undo-0' }), line('a')])
    t.strictSame(
      folded.map(({ key, what, files = [] }) => [key, what, files.map((file) => file.key)]),
      [
        ['all 1', 'undo: 3 files', ['3', '2', '1']],
        ['0', 'update', []],
        ['a', 'update', []]
      ]
    )
    t.strictSame(partsOf('2026-11-22T10:00:00.000Z /r/a file.ts 12345678'), { at, path: '/r/a file.ts' })
    t.equal(partsOf('some-event-12'), undefined)
  }
)

t.test('an address holds what is shown', async (t) => {
  const query = { agent: 'claude-code/7f3a', path: 'src/**/a&b=c?.ts', kind: '' }
  const address = formatAddress('changes', query)
  t.strictSame(parseAddress(address, ['now', 'changes']), {
    view: 'changes',
    query: { agent: query.agent, path: query.path }
  })
  t.strictSame(parseAddress('', ['now', 'changes']), { view: 'now', query: {} })
  t.equal(formatAddress('now', {}), '#now')
})

t.test('names of sessions are shortened as far as they stay apart', async (t) => {
  const names = [
    'claude-code/7f3a5c0e-5b0e-4a4e-9a76-1d2f3a4b5c6d',
    'claude-code/7f3a5c9b-0000-4a4e-9a76-1d2f3a4b5c6d',
    'claude-code/9b1c2d3e-0000-4a4e-9a76-1d2f3a4b5c6d',
    'claude-code/9b1c2d3e-0000-4a4e-9a76-1d2f3a4b5c6d/explore',
    'codex/session-of-today-0001',
    'codex/session-of-today-0002',
    'external',
    'ann',
    'a person with a very long name from the first floor',
    'a person with a very long name from the third floor'
  ]
  const short = shortNames(names)
  t.strictSame(
    names.map((name) => short.get(name)),
    [
      'claude 7f3a5c0',
      'claude 7f3a5c9',
      'claude 9b1c',
      'claude 9b1c/explore',
      'codex …0001',
      'codex …0002',
      'outside',
      'ann',
      'a person…e first floor',
      'a person…e third floor'
    ]
  )
  const many = Array.from({ length: 3000 }, (_, index) => `gemini/${'x'.repeat(30)}${index}${'y'.repeat(30)}`)
  t.equal(new Set(shortNames(many).values()).size, many.length)
  t.equal(middleOf('short', 10), 'short')
})

t.test('paths are cut in their middle, their ends stay, and no two look alike', async (t) => {
  const fit = (room: number, ...paths: string[]) => fitPaths(paths.map((path) => ({ path, room })))
  t.strictSame(fit(40, 'src/a.ts'), ['src/a.ts'])
  t.strictSame(fit(24, 'packages/storefront/src/widgets/button.tsx'), ['…/src/widgets/button.tsx'])
  t.strictSame(fit(12, 'src/a-very-long-name.test.ts'), ['…ame.test.ts'])
  t.strictSame(fit(24, 'packages/shop/src/widgets/button.tsx', 'packages/desk/src/widgets/button.tsx'), [
    'shop/…/button.tsx',
    'desk/…/button.tsx'
  ])
  t.strictSame(fit(14, 'one/here/index.ts', 'one/else/index.ts'), ['here/index.ts', 'else/index.ts'])
  const crossed = ['a/x/f/button.tsx', 'a/y/f/button.tsx', 'b/x/f/button.tsx', 'b/y/f/button.tsx']
  t.strictSame(fit(14, ...crossed), ['…button.tsx ·1', '…button.tsx ·2', '…button.tsx ·3', '…button.tsx ·4'])
  for (const room of [8, 13, 21, 34]) {
    const many = Array.from({ length: 200 }, (_, at) => `packages/p${at % 7}/src/${at % 5}/${at % 3}/index-${at}.ts`)
    const texts = fit(room, ...many)
    t.equal(new Set(texts).size, many.length, `all apart in ${room} characters`)
    t.ok(texts.every((text) => text.length <= room))
  }
})
