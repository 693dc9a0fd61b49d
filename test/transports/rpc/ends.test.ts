// What must not end the server, must not keep it, and must not leave a request without its answer.
import { execFileSync, spawn } from 'node:child_process'
import { once } from 'node:events'
import { closeSync, constants, openSync, writeFileSync, writeSync } from 'node:fs'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { argsFor, legacyHandshake, notification, readF, request, sameMessages } from '../../fixtures/rpc.ts'
import { answersHere } from '../../fixtures/rpc-here.ts'
import { memberOn } from '../../fixtures/processes.ts'
import { programPath } from '../../fixtures/server.ts'
import { startStdio } from '../../fixtures/stdio.ts'
import { makeTree, type Tree } from '../../fixtures/tree.ts'
import { until } from '../../fixtures/until.ts'
import { lengthOf } from '../../fixtures/length.ts'

/** So long that a test which needs it to pass would be stopped by the runner. */
const endless = { daemon: { stdio_drain_seconds: 600 } }

/** So many files that a listing of them does not end before the next call is read. */
const longListing = lengthOf({ full: 20_000, short: 5_000 })

t.test('one signal during a long call ends the program with 0', async (t) => {
  const tree = makeTree(t)
  for (let index = 0; index < longListing; index += 1) writeFileSync(join(tree.root, `f${index}`), '')
  const program = startStdio(t, argsFor(tree))
  await program.call('read_file', { name: 'f0' })
  program.send(request('long', 'list_files'))
  // The listing has begun when a call behind it is answered.
  await program.call('read_file', { name: 'f1' })
  t.match(await program.end('SIGTERM'), { code: 0, signal: null })
})

t.test('the program lives on when nobody reads its log any more', async (t) => {
  const tree = makeTree(t, { f: 'one' })
  const program = startStdio(t, argsFor(tree, '--log-level', 'debug'))
  t.match(await program.call('read_file', { name: 'f' }), { result: { content: 'one' } })
  program.process.stderr.destroy()
  for (let round = 0; round < 20; round += 1)
    t.match(await program.call('read_file', { name: 'f' }), { result: { content: 'one' } })
  t.match(await program.end(), { code: 0 })
})

t.test('an id of MCP that is used twice at once is answered twice and does not keep the program', async (t) => {
  const call = request(1, 'tools/call', { name: 'async_list', arguments: {} })
  const messages = await answersHere(t, makeTree(t), [...legacyHandshake, call, call], endless)
  t.equal(messages.filter(({ id }) => id === 1).length, 2)
})

t.test('a cancellation that asks for an answer gets one', async (t) => {
  const lines = [readF(1), request(2, 'notifications/cancelled', { requestId: 1 })]
  sameMessages(t, await answersHere(t, makeTree(t, { f: 'one' }), lines, endless), [
    { id: 1, result: { content: 'one' } },
    { id: 2, error: { code: -32601 } }
  ])
})

t.test('a call is cancelled by notifications/cancelled with its id', async (t) => {
  const tree = makeTree(t, { f: 'one' })
  const program = startStdio(t, argsFor(tree))
  await program.call('list_files')
  for (let index = 0; index < 50; index += 1)
    program.send(request(index, 'edit_file', { name: 'f', append: `${index}` }))
  program.send(notification('notifications/cancelled', { requestId: 49 }))
  t.match(await program.answer(49), { error: { data: { details: /^CANCELLED/ } } })
  await program.end()
  t.notMatch(tree.read('f'), /^49$/m)
})

t.test('the messages of batches count one by one towards those under way', async (t) => {
  const tree = makeTree(t, { f: '' })
  const batches = [0, 4, 8, 12, 16, 20, 24, 28, 32, 36].map((first) =>
    [0, 1, 2, 3].map((index) => request(first + index, 'edit_file', { name: 'f', append: `${first + index}` }))
  )
  const messages = await answersHere(t, tree, batches, {
    daemon: { max_stdio_calls: 4 },
    locks: { max_waiters_per_path: 8 }
  })
  sameMessages(
    t,
    messages.flat(),
    Array.from({ length: 40 }, (_, id) => ({ id, result: { success: true } }))
  )
})

t.test('a response without a version, or to nothing that was asked, is no message', async (t) => {
  const lines = [{ result: 1 }, { error: 1, id: 3 }, { jsonrpc: '2.0', id: 9, result: {} }]
  sameMessages(t, await answersHere(t, makeTree(t), lines), [
    { id: null, error: { code: -32600 } },
    { id: 3, error: { code: -32600 } }
  ])
})

t.test('a batch whose answers grow too large is answered in part, and the rest is told', async (t) => {
  const tree = makeTree(t, { f: 'x'.repeat(100_000) })
  const batch = Array.from({ length: 60 }, (_, id) => readF(id))
  const messages = await answersHere(t, tree, [batch], { crud: { max_batch_answer_bytes: 1_000_000 } })
  const answers = messages.flat() as { result?: object; error?: { data: { details: string } } }[]
  t.equal(answers.length, 60)
  const refused = answers.filter(({ error }) => error?.data.details.startsWith('OVERLOADED') === true)
  t.ok(refused.length >= 40 && refused.length < 60, `${refused.length} were refused`)
  t.equal(answers.filter(({ result }) => result !== undefined).length + refused.length, 60)
})

t.test('a batch of files that is cancelled tells which ones are done', async (t) => {
  const tree = makeTree(t)
  const program = startStdio(t, argsFor(tree))
  await program.call('list_files')
  const files = Array.from({ length: 300 }, (_, index) => ({ path: `f${index}`, content: '' }))
  program.send(request('many', 'async_batch_write', { files }))
  while (!tree.all().includes('f3')) await new Promise(setImmediate)
  program.send(notification('notifications/cancelled', { requestId: 'many' }))
  const answer = await program.answer('many')
  const data = answer.error?.data ?? {}
  const results = (data['details'] as { results: { status: string }[] }).results
  t.equal(data['error_code'], 'CANCELLED')
  t.equal(results.filter(({ status }) => status === 'ok').length, tree.all().length)
  await program.end()
})

/** The program between two pipes of the system, of which the test holds the other ends and reads nothing. */
async function startUnread(t: Test, tree: Tree, ...args: string[]) {
  const pipes = makeTree(t)
  const [input, output] = [pipes.path('input'), pipes.path('output')]
  execFileSync('mkfifo', [input, output])
  const child = spawn(
    'sh',
    ['-c', `exec "$@" < ${input} > ${output}`, 'sh', process.execPath, programPath, ...argsFor(tree, ...args)],
    {
      stdio: 'ignore',
      env: { ...process.env, ASYNC_CRUD_MCP_CONFIG: '', ASYNC_CRUD_MCP_DAEMON__STDIO_DRAIN_SECONDS: '0.5' }
    }
  )
  t.teardown(() => child.kill('SIGKILL'))
  const reading = openSync(output, constants.O_RDONLY | constants.O_NONBLOCK)
  t.teardown(() => closeSync(reading))
  return { child, writing: openSync(input, 'w') }
}

for (const [title, count] of [
  ['while all its calls have been read', 200],
  ['while many of its calls wait to be read', lengthOf({ full: 5000, short: 2500 })]
] as const) {
  t.test(
    `a client that reads no answers and closes its end ${title} is gone, and so are its leases`,
    { skip: process.platform === 'win32' },
    async (t) => {
      const tree = makeTree(t, { f: 'x'.repeat(4000) })
      const { url } = await memberOn(t, tree)
      const { child, writing } = await startUnread(t, tree)
      const locks = async () => ((await (await fetch(`${url}/locks`)).json()) as { counts: { leases: number } }).counts
      const write = (message: object) => writeSync(writing, `${JSON.stringify(message)}\n`)
      write(request('lease', 'lock_try', { filepaths: ['f'], ttl_seconds: 600 }))
      await until(async () => (await locks()).leases > 0)
      for (let id = 0; id < count; id += 1) write(readF(id))
      closeSync(writing)
      // The unread answers take all the time of the stop; on a busy machine what is left may run out, and it ends with 1.
      t.match(await once(child, 'exit'), [Number, null], 'it ends by itself')
      await until(async () => (await locks()).leases === 0)
    }
  )
}
