// The configuration file of a running server: what counts at once, what needs a restart, what a fault does.
import { once } from 'node:events'
import { appendFileSync, renameSync, rmSync, statSync } from 'node:fs'
import { request, type IncomingMessage } from 'node:http'
import { setTimeout as delay } from 'node:timers/promises'
import t, { type Test } from 'tap'
import { fields } from '../../src/config/fields.ts'
import { connect, type Answer, type TestClient } from '../fixtures/clients.ts'
import { follow, get } from '../fixtures/event-stream.ts'
import { startProgram, type RunningProgram } from '../fixtures/server.ts'
import { makeTree, type Tree } from '../fixtures/tree.ts'

type SettingValues = Readonly<Record<string, unknown>>

interface Line {
  readonly time: number
  readonly level: number
  readonly msg: string
}

interface Start {
  readonly flags?: readonly string[]
  readonly environment?: Record<string, string>
  /** Of the file. */
  readonly settings?: SettingValues
}

interface Scene {
  readonly t: Test
  readonly tree: Tree
  readonly program: RunningProgram
  readonly ann: TestClient
  readonly bob: TestClient
  readonly file: string
  /** Replaces the file in one step. */
  readonly write: (text: string) => void
  /** Writes these settings and waits until they are taken up. */
  readonly apply: (settings: SettingValues) => Promise<Line>
  /** The first line of the log with this text from the one with this index, now or later. */
  readonly line: (text: string, from?: number) => Promise<Line>
}

async function scene(t: Test, { flags = [], environment = {}, settings = {} }: Start = {}): Promise<Scene> {
  const tree = makeTree(t, {
    'root/f': 'one',
    'root/latin': Buffer.from([0xe9]),
    'config.json': toText({ ...quick, ...settings })
  })
  const file = tree.path('config.json')
  const program = await startProgram(t, ['--dir', tree.path('root'), '--config', file, ...flags], environment)
  const [ann, bob] = [await connect(t, 'rest', program.url, 'ann'), await connect(t, 'rest', program.url, 'bob')]
  let count = 0

  function write(text: string): void {
    tree.write('next.json', text)
    renameSync(tree.path('next.json'), file)
  }

  async function line(text: string, from = 0): Promise<Line> {
    for (let index = from; ; index += 1) {
      while (program.stderr.length <= index) await delay(5)
      if (program.stderr[index]?.includes(text)) return JSON.parse(program.stderr[index] as string) as Line
    }
  }

  async function apply(settings: SettingValues): Promise<Line> {
    count += 1
    const from = program.stderr.length
    // A change of its own in every file, by which one sees that the file was read.
    write(toText({ ...quick, 'daemon.config_debounce_seconds': count % 2 === 1 ? 0.001 : 0, ...settings }))
    return line('config_debounce_seconds has changed', from)
  }

  return { t, tree, program, ann, bob, file, write, apply, line }
}

const quick = { 'daemon.config_poll_seconds': 0.05, 'daemon.config_debounce_seconds': 0 }

function toText(settings: SettingValues): string {
  const sections: Record<string, Record<string, unknown>> = {}
  for (const [name, value] of Object.entries(settings)) {
    const [section = '', key = ''] = name.split('.')
    sections[section] = { ...sections[section], [key]: value }
  }
  return JSON.stringify(sections)
}

interface LiveCase {
  readonly value: unknown
  /** What the setting needs beside it to show. */
  readonly beside?: SettingValues
  readonly byDefault: unknown
  readonly changed: unknown
  readonly look: (scene: Scene, settings: SettingValues) => Promise<unknown>
}

/** What shows that a live setting counts. */
const live: Readonly<Record<string, LiveCase>> = {
  'daemon.log_level': {
    value: 'debug',
    byDefault: false,
    changed: true,
    async look({ ann, program, apply }, settings) {
      const from = program.stderr.length
      await leaseSeconds(ann, {})
      // The line that this logs comes after all others.
      await apply(settings)
      return program.stderr.slice(from).some((line) => line.includes('"msg":"operation"'))
    }
  },
  'daemon.token': {
    value: 'sesame',
    byDefault: 200,
    changed: 401,
    look: async ({ program }) => (await fetch(`${program.url}/health`)).status
  },
  'daemon.allowed_hosts': {
    value: ['files.example:1'],
    byDefault: 403,
    changed: 200,
    look: async ({ program }) => statusFor(program.url, 'files.example:1')
  },
  'daemon.allowed_origins': {
    value: ['http://localhost:1'],
    byDefault: 403,
    changed: 200,
    look: async ({ program }) =>
      (await fetch(`${program.url}/health`, { headers: { origin: 'http://localhost:1' } })).status
  },
  'crud.default_timeout': {
    value: 0.05,
    byDefault: 'waits',
    changed: 'LOCK_TIMEOUT',
    look: async (scene) => appendBehindLease(scene, {})
  },
  'crud.max_timeout': {
    value: 0.05,
    byDefault: 'waits',
    changed: 'LOCK_TIMEOUT',
    look: async (scene) => appendBehindLease(scene, { timeout: 20 })
  },
  'crud.default_encoding': {
    value: 'latin1',
    byDefault: undefined,
    changed: '\u00e9',
    look: async ({ ann }) => (await ann.call('async_read', { path: 'latin' }))['content']
  },
  'crud.max_list_entries': {
    value: 1,
    byDefault: 'ok',
    changed: 'error',
    look: async ({ ann }) => (await ann.call('async_list', { path: '.' }))['status']
  },
  // The size of one of the two files.
  'crud.max_batch_answer_bytes': {
    value: 4,
    byDefault: 'ok ok',
    changed: 'ok error',
    look: async ({ ann }) => (await readTwo(ann))['results'].map((result: Answer) => result['status']).join(' ')
  },
  'crud.max_batch_files': {
    value: 1,
    byDefault: 'ok',
    changed: 'error',
    look: async ({ ann }) => (await readTwo(ann))['status']
  },
  'crud.max_transaction_changes': {
    value: 1,
    byDefault: 'ok',
    changed: 'error',
    look: async ({ ann }) => (await tryTwo(ann))['status']
  },
  'crud.max_transaction_files': {
    value: 1,
    byDefault: 'ok',
    changed: 'error',
    look: async ({ ann }) => (await tryTwo(ann))['status']
  },
  'crud.max_transaction_bytes': {
    value: 1024,
    byDefault: 'ok',
    changed: 'error',
    look: async ({ ann }) => (await tryTwo(ann))['status']
  },
  'locks.max_files_per_call': {
    value: 1,
    byDefault: 'ok',
    changed: 'error',
    look: async ({ ann }) => (await ann.call('lock_status', { filepaths: ['f', 'g'] }))['status']
  },
  'locks.long_wait_seconds': {
    value: 5,
    byDefault: 60,
    changed: 5,
    look: async ({ program }) =>
      ((await (await fetch(`${program.url}/activity`)).json()) as Answer)['long_wait_seconds']
  },
  'locks.lease_ttl_seconds': {
    value: 1000,
    byDefault: 300,
    changed: 1000,
    look: async ({ ann }) => leaseSeconds(ann, {})
  },
  'locks.max_lease_ttl_seconds': {
    value: 1000,
    byDefault: 3600,
    changed: 1000,
    look: async ({ ann }) => leaseSeconds(ann, { ttl_seconds: 3600 })
  },
  'events.max_subscribers': {
    value: 0,
    byDefault: 200,
    changed: 503,
    async look({ program }) {
      const response = await get(program.url)
      response.destroy()
      return response.statusCode
    }
  },
  'events.buffer_events': {
    value: 0,
    byDefault: 'file_changed',
    changed: 'gap',
    look: async (scene) => missedAs(scene)
  },
  'locks.ticket_grace_seconds': {
    value: 0,
    // A wait that is cut, which gives a ticket.
    beside: { 'crud.max_timeout': 0.05 },
    byDefault: true,
    changed: false,
    async look({ ann, bob }) {
      await ann.call('lock_try', { filepaths: ['f'] })
      const { ticket } = await bob.call('lock_wait', { filepaths: ['f'], timeout_seconds: 20 })
      await ann.call('lock_release_all')
      await bob.call('lock_release_all')
      return ticket !== undefined
    }
  }
}

function readTwo(client: TestClient): Promise<Answer> {
  return client.call('async_batch_read', { files: [{ path: 'f' }, { path: 'f' }] })
}

function tryTwo(client: TestClient): Promise<Answer> {
  const content = 'x'.repeat(2000)
  const changes = ['new', 'other'].map((path) => ({ operation: 'write', path, content }))
  return client.call('async_transaction', { changes, dry_run: true })
}

/** What comes first to one who comes back to the events after a change. */
async function missedAs({ t, program, ann }: Scene): Promise<unknown> {
  const first = await follow(t, program.url, 'types=file_changed')
  first.close()
  await ann.call('async_append', { path: 'f', content: 'x' })
  const again = await follow(t, program.url, 'types=file_changed', { headers: { 'last-event-id': first.lastId() } })
  const { type } = await again.next()
  again.close()
  return type
}

/** How long a lease is given for, rounded to tens of seconds. */
async function leaseSeconds(client: TestClient, input: object): Promise<number> {
  const { results, timestamp } = await client.call('lock_try', { filepaths: ['f'], ...input })
  await client.call('lock_release_all')
  return Math.round((Date.parse(results[0].expires_at) - Date.parse(timestamp)) / 10_000) * 10
}

/** Whether a change that waits for a lease gives up soon, or is let wait for seconds, and then waits until the lease ends. */
async function appendBehindLease({ ann, bob }: Scene, input: object): Promise<unknown> {
  await ann.call('lock_try', { filepaths: ['f'] })
  const append = { isOver: false }
  const appended = bob.call('async_append', { path: 'f', content: '', ...input }).finally(() => (append.isOver = true))
  while (!append.isOver && !(await isWaitingLong(ann))) await delay(5)
  await ann.call('lock_release_all')
  const { status, error_code } = await appended
  return status === 'ok' ? 'waits' : error_code
}

async function isWaitingLong(agent: TestClient): Promise<boolean> {
  const { pending_requests } = await agent.call('async_status', { path: 'f' })
  return (pending_requests as { queued_at: string; timeout_at: string }[]).some(
    ({ queued_at, timeout_at }) => Date.parse(timeout_at) - Date.parse(queued_at) > 10_000
  )
}

/** The status of a request with this Host header, which fetch does not let one choose. */
async function statusFor(url: string, host: string): Promise<number | undefined> {
  const sent = request(`${url}/health`, { headers: { host } }).end()
  const [response] = (await once(sent, 'response')) as [IncomingMessage]
  response.resume()
  return response.statusCode
}

t.test('every live setting counts as soon as the file says so, without a restart', async (t) => {
  const all = await scene(t)
  const marked = [...fields.values()].filter(({ schema }) => schema['x-live'] === true).map(({ name }) => name)
  t.strictSame(marked.sort(), [...Object.keys(live), ...Object.keys(quick)].sort(), 'none is forgotten')
  for (const [setting, { value, beside = {}, byDefault, changed, look }] of Object.entries(live)) {
    await all.apply(beside)
    t.equal(await look(all, beside), byDefault, `${setting} by default`)
    const settings = { ...beside, [setting]: value }
    await all.apply(settings)
    t.equal(await look(all, settings), changed, `${setting} as changed`)
  }
  t.notMatch(all.program.stderr.join('\n'), 'sesame', 'a token is not logged')
  t.match(all.program.stderr.join('\n'), 'daemon.token has changed')
})

t.test('how often the file is looked at, and how long it must stay the same, change at once too', async (t) => {
  const { program, file, write, apply, line } = await scene(t)
  const slow = await apply({ 'daemon.config_poll_seconds': 1 })
  const next = await apply({ 'daemon.config_poll_seconds': 0.05 })
  // Both are the server's times, and it sets the timer of the next look after it has told of a change.
  t.ok(next.time - slow.time >= 950, `${next.time - slow.time} ms between two looks`)
  await apply({ 'daemon.config_debounce_seconds': 0.5 })
  const from = program.stderr.length
  write(toText(quick))
  const written = statSync(file).mtimeMs
  const taken = await line('config_debounce_seconds has changed', from)
  // The server began to wait when it saw the change, after it was written.
  t.ok(taken.time - written >= 450, `${taken.time - written} ms after the change`)
})

t.test('a file that is still being written is not taken', async (t) => {
  const { tree, program, file, apply, line } = await scene(t)
  const debounce = { 'daemon.config_debounce_seconds': 1 }
  await apply(debounce)
  for (let value = 700; ; value += 1) {
    const from = program.stderr.length
    const pauses = await writeSlowly(toText({ ...quick, ...debounce, 'crud.max_timeout': value }))
    await line('crud.max_timeout has changed', from)
    // Where the writer itself stood still for so long, the half that it had written has stayed the same.
    if (Math.max(...pauses) > 500) continue
    t.equal(program.stderr.length, from + 1, 'nothing was said of the halves')
    break
  }

  /** @returns milliseconds between two changes of the file */
  async function writeSlowly(text: string): Promise<number[]> {
    const pauses: number[] = []
    tree.write('config.json', '')
    let last = performance.now()
    for (const character of text) {
      appendFileSync(file, character)
      pauses.push(performance.now() - last)
      last = performance.now()
      // The pace of a slow writer; the server looks several times meanwhile.
      await delay(5)
    }
    return pauses
  }
})

t.test('a faulty file is told once with the place, and the last good one counts on', async (t) => {
  const { program, ann, file, write, apply, line } = await scene(t)
  await apply({ 'locks.lease_ttl_seconds': 1000 })
  const from = program.stderr.length
  write('{\n  "locks": { "lease_ttl_seconds": "long" }\n}')
  const { msg, level } = await line('is not used', from)
  t.equal(
    msg,
    `the changed configuration is not used, the last valid one stays in force: ${file}:2:35: locks.lease_ttl_seconds must be a number not below 0.05, not "long"`
  )
  t.equal(level, 50)
  t.equal(await leaseSeconds(ann, {}), 1000)
  rmSync(file)
  await line('does not exist', from)
  t.equal(await leaseSeconds(ann, {}), 1000, 'nor does it fall back when the file is gone')
  await apply({ 'locks.lease_ttl_seconds': 2000 })
  t.equal(await leaseSeconds(ann, {}), 2000)
  t.equal(program.stderr.filter((line) => line.includes('is not used')).length, 2)
})

t.test('settings that would break every call are not taken up', async (t) => {
  const { program, ann, write, line } = await scene(t)
  for (const [text, fault] of [
    ['{"crud":{"default_encoding":"bogus"}}', 'crud.default_encoding cannot be'],
    ['{"crud":{"default_timeout":20,"max_timeout":10}}', 'crud.default_timeout must not be above']
  ] as const) {
    const from = program.stderr.length
    write(text)
    t.match((await line('crud.', from)).msg, fault)
    t.match(await ann.call('async_read', { path: 'f' }), { status: 'ok', content: 'one' })
  }
})

t.test('what needs a restart is said, and no more when it is put back', async (t) => {
  const { tree, program, ann, apply, line } = await scene(t)
  const from = program.stderr.length
  await apply({ 'crud.max_file_size_bytes': 1, 'crud.base_directories': [tree.path('other')] })
  t.match(await line('crud.max_file_size_bytes has changed', from), {
    msg: /: restart the server to use it$/,
    level: 40
  })
  t.match(await ann.call('async_read', { path: 'f' }), { content: 'one' }, 'it does not count yet')
  const back = program.stderr.length
  await apply({})
  // What the change before had to say has come by now.
  await apply({})
  t.equal(program.stderr.length, back + 2)
  t.notMatch(program.stderr.join('\n'), 'base_directories has changed', 'the flag comes first, so nothing has changed')
})

t.test('flags and the environment come first after a change, too', async (t) => {
  const { program, ann, apply } = await scene(t, {
    flags: ['--log-level', 'info'],
    environment: { ASYNC_CRUD_MCP_LOCKS__LEASE_TTL_SECONDS: '500' }
  })
  await apply({ 'locks.lease_ttl_seconds': 1000, 'locks.max_lease_ttl_seconds': 2000, 'daemon.log_level': 'debug' })
  t.equal(await leaseSeconds(ann, {}), 500)
  t.equal(await leaseSeconds(ann, { ttl_seconds: 3000 }), 2000)
  t.notMatch(program.stderr.join('\n'), /log_level has changed|locks\.lease_ttl_seconds has changed/)
})

t.test('no change of the file opens a server that other machines reach', async (t) => {
  const start = { flags: ['--host', '0.0.0.0'], settings: { 'daemon.token': 'sesame' } }
  const { program, write, line } = await scene(t, start)
  const from = program.stderr.length
  write(toText(quick))
  const { msg } = await line('is not used', from)
  t.match(msg, /it has no daemon\.token, and 0\.0\.0\.0 is reachable from other machines/)
  // It names each address of the machine; under others than this it takes calls only if the settings say so.
  t.equal((await fetch(`http://127.0.0.1:${new URL(program.url).port}/health`)).status, 401)
})
