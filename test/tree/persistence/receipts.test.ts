// A named change is made once, although the process that makes it is killed: between intent, rename and record, and at random.
import { existsSync, readFileSync, rmSync } from 'node:fs'
import { setTimeout as delay } from 'node:timers/promises'
import t, { type Test } from 'tap'
import type { Answer } from '../../fixtures/clients.ts'
import { cannotInject, withFaults } from '../../fixtures/inject.ts'
import { givenSeed, lengthOf, someOf } from '../../fixtures/length.ts'
import { createRandom } from '../../fixtures/random.ts'
import type { StdioProgram } from '../../fixtures/stdio.ts'
import { hashOf } from '../../fixtures/tree.ts'
import { until } from '../../fixtures/until.ts'
import { lockState } from '../../../src/tree/persistence/state-location.ts'
import { makeKeptTree, type Call, type KeptTree } from './fixtures/kept.ts'

t.setTimeout(900_000)
const seed = givenSeed ?? Math.floor(Math.random() * 2 ** 31)
const kills = lengthOf({ long: 100, full: 25, short: 3 })

const one = hashOf('one')
const renames = ['rename', 'renameat', 'renameat2']
const links = ['link', 'linkat']
const unlinks = ['unlink', 'unlinkat']

/** The call is killed at a system call, which then is not made. */
interface KillPoint {
  readonly title: string
  readonly name: string
  readonly input: object
  readonly calls: readonly string[]
  /** Which of these calls, counted from 1. */
  readonly when: number
  readonly isMade: boolean
  /** The content of the file `f`, or of `g` after a rename, in the end; undefined if it is gone. */
  readonly content: string | undefined
}

const append = { name: 'async_append', input: { path: 'f', content: 'two' }, content: 'onetwo' }
const points: readonly KillPoint[] = [
  { ...append, title: 'before the rename', calls: renames, when: 1, isMade: false },
  { ...append, title: 'after the rename, before the record', calls: ['fsync'], when: 2, isMade: true },
  {
    title: 'before the new name of a file that is created',
    name: 'async_write',
    input: { path: 'g', content: 'new' },
    calls: links,
    when: 1,
    isMade: false,
    content: 'new'
  },
  {
    title: 'after the new name, while the staged one is still there',
    name: 'async_write',
    input: { path: 'g', content: 'new' },
    calls: unlinks,
    when: 1,
    isMade: true,
    content: 'new'
  },
  {
    title: 'before a delete',
    name: 'async_delete',
    input: { path: 'f' },
    calls: unlinks,
    when: 1,
    isMade: false,
    content: undefined
  },
  {
    title: 'after a delete',
    name: 'async_delete',
    input: { path: 'f' },
    calls: ['fsync'],
    when: 1,
    isMade: true,
    content: undefined
  },
  {
    title: 'before a change of name',
    name: 'async_rename',
    input: { old_path: 'f', new_path: 'g' },
    calls: renames,
    when: 1,
    isMade: false,
    content: 'one'
  },
  {
    title: 'after a change of name',
    name: 'async_rename',
    input: { old_path: 'f', new_path: 'g' },
    calls: ['fsync'],
    when: 1,
    isMade: true,
    content: 'one'
  },
  {
    title: 'after the rename, for the second file of a batch',
    name: 'async_batch_update',
    input: {
      files: [
        { path: 'e', expected_hash: one, content: 'other' },
        { path: 'f', expected_hash: one, content: 'two' }
      ]
    },
    calls: ['fsync'],
    when: 4,
    isMade: true,
    content: 'two'
  }
]

async function killedAt(t: Test, tree: KeptTree, { name, input, calls, when }: KillPoint): Promise<void> {
  const { program, call } = tree.stdio()
  // It reads the files before the call, as most agents do.
  await call('async_read', { path: 'f' })
  const how = `error=EIO:signal=SIGKILL:when=${when}`
  await withFaults(program.process.pid as number, calls, how, async () => {
    program.send({ jsonrpc: '2.0', id: 'killed', method: name, params: input })
    t.match(await program.end(), { signal: 'SIGKILL' })
  })
}

t.test(
  'killed at any step of a named change, the next process knows whether it was made',
  { skip: cannotInject },
  async (t) => {
    for (const point of someOf(points, 3)) {
      await t.test(`${point.name}, ${point.title}`, async (t) => {
        // One thread, so that its fsyncs are counted in their order.
        const tree = makeKeptTree(t, { e: 'one', f: 'one' })
        tree.environment['UV_THREADPOOL_SIZE'] = '1'
        const input = { ...point.input, agent_id: 'ann', request_id: 'r' }
        await killedAt(t, tree, { ...point, input })
        const { program, call } = tree.stdio()
        const answer = await call(point.name, input)
        t.match(answer, { status: 'ok' })
        t.equal(answer['replayed'] ?? false, point.isMade, 'made before the kill')
        const again = await call(point.name, input)
        t.match(again, { status: 'ok', replayed: true })
        const name = tree.all().includes('g') ? 'g' : 'f'
        t.equal(tree.all().includes(name) ? tree.read(name) : undefined, point.content)
        await program.end()
      })
    }
  }
)

t.test(
  'what other programs did after the kill does not hide a change, or is told',
  { skip: cannotInject },
  async (t) => {
    const [, afterRename, , , , afterDelete] = points as readonly [KillPoint, KillPoint, ...KillPoint[]] &
      Record<5, KillPoint>
    const scenes = [
      { point: afterRename, expected: { status: 'ok', replayed: true } },
      {
        point: afterDelete,
        expected: { error_code: 'AUTHORITY_LOST', message: /not known whether the change was made/ }
      }
    ]
    for (const { point, expected } of scenes) {
      const tree = makeKeptTree(t, { e: 'one', f: 'one' })
      tree.environment['UV_THREADPOOL_SIZE'] = '1'
      const input = { ...point.input, agent_id: 'ann', request_id: 'r' }
      await killedAt(t, tree, { ...point, input })
      tree.write('f', 'something else')
      const { program, call } = tree.stdio()
      for (const attempt of [1, 2]) t.match(await call(point.name, input), expected, `${point.name} ${attempt}`)
      t.equal(tree.read('f'), 'something else')
      await program.end()
    }
  }
)

t.test('receipts outlive a restart, for their time', async (t) => {
  const tree = makeKeptTree(t, { f: 'one' })
  const input = { path: 'f', content: '+', agent_id: 'ann', request_id: 'r' }
  const first = tree.stdio()
  const answer = await first.call('async_append', input)
  await first.program.end()
  const second = tree.stdio()
  t.strictSame(await second.call('async_append', input), { ...answer, replayed: true })
  t.match(await second.call('async_append', { ...input, content: '-' }), { error_code: 'INVALID_REQUEST' })
  await second.program.end()
  t.equal(tree.read('f'), 'one+')
})

t.test('a repeat waits for a journal whose lock a dying process has not given up yet', async (t) => {
  const tree = makeKeptTree(t, { f: 'one' })
  const input = { path: 'f', content: '+', agent_id: 'ann', request_id: 'r' }
  const first = tree.stdio()
  await first.call('async_append', input)
  await first.program.end()
  const lock = lockState(tree.statePath() as string)
  const second = tree.stdio()
  const repeated = second.call('async_append', input)
  await until(() => existsSync(tree.path('.async-crud-mcp/authority.sock')))
  // The address is there: from now on the process asks for the lock.
  await delay(500)
  lock?.release()
  t.match(await repeated, { status: 'ok', replayed: true })
  await second.program.end()
  t.equal(tree.read('f'), 'one+')
})

t.test('an intent and a receipt are two writes of the journal, the second of which has the version, too', async (t) => {
  const tree = makeKeptTree(t, { f: 'one' })
  const { program, call } = tree.stdio()
  await call('async_append', { path: 'f', content: '+', agent_id: 'ann' })
  await call('async_append', { path: 'f', content: '+', agent_id: 'ann', request_id: 'r' })
  const records = readFileSync(tree.statePath() as string, 'utf8')
    .split('\n')
    .map((line) => line.slice(9))
  const kinds = records.flatMap((line) => (line.startsWith('[') ? [JSON.parse(line) as [string, Answer]] : []))
  const named = kinds.slice(kinds.findIndex(([part, record]) => part === 'receipt' && record['requestId'] === 'r'))
  t.match(named, [
    [
      'receipt',
      {
        outcome: { result: { status: 'ok' } },
        intent: { steps: [{ path: tree.path('f'), before: hashOf('one+'), after: hashOf('one++') }] }
      }
    ],
    ['receipt', { agentId: 'ann', requestId: 'r', index: 0, isMade: true, outcome: undefined }],
    ['history', { path: tree.path('f') }]
  ])
  await program.end()
})

interface Window {
  program: StdioProgram
  call: Call
}

/** A client that repeats the very same call until it is answered, through whichever window is there. */
function createClient(windows: readonly Window[], agent_id: string) {
  let sent = 0
  let asked = 0
  return {
    repeats: () => sent - asked,
    /** @returns how it went: done, or refused since another client was faster */
    async insist(name: string, given: object): Promise<Answer> {
      asked += 1
      const input = { ...given, agent_id, request_id: `${agent_id} ${asked}` }
      for (;;) {
        sent += 1
        const window = windows[sent % windows.length] as Window
        const answer = await window.call(name, input).catch(() => undefined)
        if (answer?.['status'] === 'ok' || answer?.['status'] === 'contention') return answer
        const code = answer?.['error_code']
        if (answer !== undefined && code !== 'OVERLOADED' && code !== 'LOCK_TIMEOUT')
          throw new Error(`${name} ${JSON.stringify(input)}: ${JSON.stringify(answer)}`)
      }
    },
    async read(path: string): Promise<Answer> {
      for (;;) {
        const window = windows[(sent += 1) % windows.length] as Window
        asked += 1
        const answer = await window.call('async_read', { path, agent_id }).catch(() => undefined)
        if (answer?.['status'] === 'ok') return answer
      }
    }
  }
}

type Client = ReturnType<typeof createClient>

/** Lines that all clients add to files that they share. */
async function addLine(client: Client, path: string, line: string): Promise<void> {
  if (path.startsWith('append')) return void (await client.insist('async_append', { path, content: line }))
  for (;;) {
    const { content, hash } = await client.read(path)
    const change = { path, expected_hash: hash, content: content + line }
    if ((await client.insist('async_update', change))['status'] === 'ok') return
  }
}

/** A file of its own is made, changed, renamed, and then deleted or left. None of these steps can be made twice. @returns what stays */
async function makeFile(client: Client, name: string, isKept: boolean): Promise<Record<string, string>> {
  const path = `${name}.new`
  const { hash } = await client.insist('async_write', { path, content: 'one' })
  const { status } = await client.insist('async_update', { path, expected_hash: hash, content: 'two' })
  if (status !== 'ok') throw new Error(`${path} was changed twice`)
  await client.insist('async_rename', { old_path: path, new_path: name })
  if (isKept) return { [name]: 'two' }
  await client.insist('async_delete', { path: name })
  return {}
}

/** Three windows on one tree, as an IDE opens them; the one whose process is the authority is killed again and again. */
t.test(
  `${kills} kills of the authority: a client that repeats what was not answered ends with exactly its changes (TEST_SEED=${seed})`,
  async (t) => {
    const random = createRandom(seed)
    const shared = ['append.txt', 'update.txt']
    const tree = makeKeptTree(t, Object.fromEntries(shared.map((path) => [path, ''])), { CRUD__DURABILITY: 'rename' })
    const open = (): Window => tree.stdio('--log-level', 'warn')
    const windows = [open(), open(), open()]
    const lines = new Map(shared.map((path) => [path, [] as string[]]))
    const kept: Record<string, string> = {}
    const over = new AbortController()
    let done = 0
    let repeats = 0
    let killed = 0

    async function work(agent_id: string): Promise<void> {
      const client = createClient(windows, agent_id)
      for (let count = 0; !over.signal.aborted; count += 1) {
        const path = shared[count % shared.length] as string
        const line = `${agent_id} ${count}`
        await addLine(client, path, `${line}\n`)
        lines.get(path)?.push(line)
        Object.assign(kept, await makeFile(client, `${agent_id}-${count}`, count % 3 === 0))
        done += 1
      }
      repeats += client.repeats()
    }

    const working = Promise.all(['ann', 'bob', 'cid', 'dan'].map(work))
    for (let round = 0; round < kills; round += 1) {
      const before = done
      await Promise.race([until(() => done > before + 1), working])
      await delay(random() * 30)
      let index = -1
      await until(async () => {
        const [first] = windows as [Window]
        const { server } = await first.call('get_server_info')
        index = windows.findIndex(({ program }) => program.process.pid === server.authority_pid)
        return index !== -1
      })
      const victim = windows[index] as Window
      windows[index] = open()
      await victim.program.end('SIGKILL')
      killed += 1
    }
    over.abort()
    await working
    for (const path of shared) {
      const found = tree.read(path).split('\n').slice(0, -1)
      t.strictSame(found.toSorted(), lines.get(path)?.toSorted(), `${path} has each line once`)
    }
    const own = tree.all().filter((path) => !shared.includes(path) && !path.startsWith('.async-crud-mcp'))
    t.strictSame(Object.fromEntries(own.map((path) => [path, tree.read(path)])), kept, 'files of one client each')
    t.equal(killed, kills)
    t.comment(`${done} rounds of 4 to 5 changes, ${repeats} calls repeated by the clients`)
    for (const { program } of windows) await program.end()
  }
)

t.test(
  'a change through a relay is made once, and is answered, although nobody named it',
  { skip: cannotInject },
  async (t) => {
    for (const point of points.slice(0, 2)) {
      const tree = makeKeptTree(t, { f: 'one' })
      tree.environment['UV_THREADPOOL_SIZE'] = '1'
      const authority = tree.stdio()
      await authority.call('async_read', { path: 'f' })
      const relay = tree.stdio()
      await relay.call('async_read', { path: 'f' })
      const how = `error=EIO:signal=SIGKILL:when=${point.when}`
      const answer = await withFaults(authority.program.process.pid as number, point.calls, how, () =>
        relay.call(point.name, point.input)
      )
      t.match(answer, { status: 'ok', hash: hashOf('onetwo') }, point.title)
      t.notOk('replayed' in answer, 'its caller has asked once')
      t.equal(tree.read('f'), 'onetwo', point.title)
      await relay.program.end()
    }
  }
)

t.test('a change through a relay is not asked again where the journal is gone', { skip: cannotInject }, async (t) => {
  const tree = makeKeptTree(t, { f: 'one' })
  tree.environment['UV_THREADPOOL_SIZE'] = '1'
  const authority = tree.stdio()
  await authority.call('async_read', { path: 'f' })
  const relay = tree.stdio()
  await relay.call('async_read', { path: 'f' })
  rmSync(tree.statePath() as string)
  const answer = await withFaults(
    authority.program.process.pid as number,
    ['fsync'],
    'error=EIO:signal=SIGKILL:when=2',
    () => relay.call('async_append', { path: 'f', content: 'two' })
  )
  t.match(answer, { error_code: 'AUTHORITY_LOST' })
  t.equal(tree.read('f'), 'onetwo', 'it was made, and is not made again')
  await relay.program.end()
})
