// The stream under JSON-RPC: how lines come and go, how much they may hold, and how it ends; with the real program.
import { Readable } from 'node:stream'
import { isDeepStrictEqual } from 'node:util'
import fc from 'fast-check'
import t from 'tap'
import { readLines } from '../../../src/support/read-lines.ts'
import type { Answer } from '../../fixtures/clients.ts'
import { resultOf, show } from '../../fixtures/file-editing.ts'
import { answersTo, argsFor, legacyHandshake, notification, readF, request, sameMessages } from '../../fixtures/rpc.ts'
import { patientStop } from '../../fixtures/server.ts'
import { converse, startStdio, type Message } from '../../fixtures/stdio.ts'
import { makeTree } from '../../fixtures/tree.ts'
import { casesOf, isFull, lengthOf } from '../../fixtures/length.ts'

t.test('blank lines are ignored, \\r\\n ends a line too, and the last line needs no end', async (t) => {
  const tree = makeTree(t, { f: 'one' })
  const line = (id: number) => JSON.stringify(readF(id))
  const input = `\n\r\n  \n\t\r\n${line(1)}\r\n\n\n  ${line(2)}  \r\n${line(3)}\n${line(4)}`
  const { code, messages } = await converse(t, argsFor(tree), input)
  t.equal(code, 0)
  sameMessages(
    t,
    messages,
    [1, 2, 3, 4].map((id) => ({ id, result: { content: 'one' } }))
  )
})

t.test('no input at all ends with 0 and without a word', async (t) => {
  t.strictSame(await answersTo(t, makeTree(t), []), [])
})

const sharedTree = makeTree(t)
/** For tests that do not end it, each with files of its own. */
const shared = startStdio(t, argsFor(sharedTree))

t.test('a message may come byte by byte, in the middle of a character too, and several may come at once', async (t) => {
  sharedTree.write('f', '')
  await shared.call('list_files')
  const append = '\u{1f600}\u00e9\u20ac'.repeat(10)
  const bytes = Buffer.from(`${JSON.stringify(request('cut', 'edit_file', { name: 'f', append }))}\n`)
  for (const byte of bytes) {
    shared.write(Buffer.from([byte]))
    await new Promise(setImmediate)
  }
  t.match(await shared.answer('cut'), { result: { success: true } })
  t.equal(sharedTree.read('f'), append)
  shared.write([1, 2, 3].map((id) => `${JSON.stringify(readF(id))}\n`).join('') + JSON.stringify(readF(4)))
  for (const id of [1, 2, 3]) t.match(await shared.answer(id), { result: { content: append } })
  shared.write('\n')
  t.match(await shared.answer(4), { result: { content: append } })
})

t.test('lines are the same however the stream is cut', async (t) => {
  const text = fc.string({ unit: fc.constantFrom('a', '\n', '\r', '\u20ac', '\u{1f600}'), maxLength: 30 })
  const property = fc.asyncProperty(
    text,
    fc.array(fc.nat({ max: 60 })),
    fc.nat({ max: 12 }),
    async (text, cuts, limit) => {
      const bytes = Buffer.from(text)
      const places = [0, ...cuts.filter((at) => at < bytes.length).sort((a, b) => a - b), bytes.length]
      const chunks = places.slice(1).map((end, index) => bytes.subarray(places[index], end))
      const found: unknown[] = []
      for await (const line of readLines(Readable.from(chunks.filter(({ length }) => length > 0)), limit))
        found.push(line?.toString())
      const wanted = text.split('\n').map((line) => (Buffer.byteLength(line) <= limit ? line : undefined))
      if (wanted.at(-1) === '') wanted.pop()
      if (!isDeepStrictEqual(found, wanted)) throw new Error(show({ text, places, limit, found, wanted }))
    }
  )
  await fc.assert(property, { numRuns: casesOf(300) })
  t.pass(`${casesOf(300)} cases`)
})

t.test('12 MB go in and come out again where the limit is 20 MB', async (t) => {
  const tree = makeTree(t)
  const program = startStdio(t, argsFor(tree, '--max-size', '20'))
  const content = 'twelve bytes'.repeat(1_048_576)
  const edit = { name: 'f', append: content, create_if_missing: true }
  t.match(await program.call('edit_file', edit), { result: { new_total_lines: 1, file_created: true } })
  const result = resultOf(await program.call('read_file', { name: 'f' }))
  t.ok(result['content'] === content, 'what comes out is what went in')
  t.ok(tree.read('f') === `${content}\n`)
})

/** In bytes; where a file may have 1 MiB, a line may have three. */
const tooLong = lengthOf({ full: 8_000_000, short: 3_200_000 })

t.test('a line beyond the limit is refused, whether it ends or not, and the next line works', async (t) => {
  const tree = makeTree(t, { f: 'one' })
  const long = JSON.stringify(request('long', 'edit_file', { name: 'f', append: 'x'.repeat(tooLong) }))
  const lines = [readF('before'), long, readF('after'), long, long, readF('last')]
  const input = lines.map((line) => `${typeof line === 'string' ? line : JSON.stringify(line)}\n`).join('')
  const { code, messages } = await converse(t, argsFor(tree, '--max-size', '1'), input + long)
  t.equal(code, 0)
  const refusal = { jsonrpc: '2.0', id: null, error: { code: Number, message: /long|large|limit/ } }
  const answer = (id: string) => ({ id, result: { content: 'one' } })
  const wanted = [answer('before'), refusal, answer('after'), refusal, refusal, answer('last'), refusal]
  sameMessages(t, messages, wanted)
  t.equal(tree.read('f'), 'one')
})

t.test('lines under way share the budget of bytes, and a call beyond it is refused under its own id', async (t) => {
  const tree = makeTree(t, { f: 'one' })
  const environment = {
    ASYNC_CRUD_MCP_CRUD__MAX_FILE_SIZE_BYTES: '1000',
    ASYNC_CRUD_MCP_DAEMON__MAX_PENDING_REQUEST_BYTES: '1048576'
  }
  const program = startStdio(t, argsFor(tree), { environment })
  await program.call('lock_try', { filepaths: ['f'], agent_id: 'ann' })
  const append = (id: string) => request(id, 'async_append', { path: 'f', content: 'x', timeout: 60, agent_id: 'ben' })
  const send = (message: unknown, length: number) => program.write(`${JSON.stringify(message).padEnd(length)}\n`)
  // Twice the longest line is the least there is, 2,101,152 bytes, of which 7/8 are for long lines.
  send(append('first'), 1_000_000)
  send([append('second')], 700_000)
  send(append('third'), 200_000)
  send([append('fourth'), notification('async_append', {}), readF('fifth')], 200_000)
  const refusal = { code: -32603, message: /max_pending_request_bytes/, data: { details: /^OVERLOADED/ } }
  t.match(await program.answer('third'), { error: refusal })
  t.match(await program.message(Array.isArray), [
    { id: 'fourth', error: refusal },
    { id: 'fifth', error: refusal }
  ])
  t.match(await program.call('lock_release_all', { agent_id: 'ann' }), { result: { status: 'ok' } })
  t.match(await program.answer('first'), { result: { status: 'ok' } })
  send(append('last'), 1_000_000)
  t.match(await program.answer('last'), { result: { status: 'ok' } }, 'there is room again')
})

t.test('a slow call does not hold up the ones behind it, and every answer is that of its id', async (t) => {
  const names = Array.from({ length: 300 }, (_, index) => `slow-${index}`)
  for (const name of names) sharedTree.write(name, `content of ${name}`)
  const from = shared.stdout.length
  const lines = names.flatMap((name, index) => [
    ...(index % 50 === 0 ? [request(`list ${index}`, 'list_files')] : []),
    request(name, 'read_file', { name })
  ])
  shared.write(`${lines.map((line) => JSON.stringify(line)).join('\n')}\n`)
  for (const name of names) t.match(await shared.answer(name, from), { result: { content: `content of ${name}` } })
  for (let index = 0; index < names.length; index += 50)
    t.match(await shared.answer(`list ${index}`, from), { result: { total_count: sharedTree.all().length } })
  const order = shared.stdout.slice(from).map((line) => (JSON.parse(line) as Message)['id'] as unknown)
  t.ok(order.indexOf(names[0]) < order.indexOf('list 0'), 'a small read is answered before the listing that came first')
})

t.test('calls on one file that are sent without waiting are carried out in their order', async (t) => {
  sharedTree.write('ordered', '')
  const numbers = Array.from({ length: 100 }, (_, index) => String(index))
  for (const append of numbers) shared.send(request(append, 'edit_file', { name: 'ordered', append }))
  shared.send(request('last', 'read_file', { name: 'ordered' }))
  for (const [index, id] of numbers.entries())
    t.match(await shared.answer(id), { result: { new_total_lines: index + 1 } })
  t.match(await shared.answer('last'), { result: { content: numbers.join('\n') } })
})

t.test('when the input ends, the calls under way are answered before the process ends with 0, and whole', async (t) => {
  // More than the pipe holds at once.
  const large = 'x'.repeat(1_000_000)
  const tree = makeTree(t, { f: 'head\n', large })
  const names = Array.from({ length: lengthOf({ full: 150, short: 50 }) }, (_, index) => `line ${index}`)
  const messages = await answersTo(t, tree, [
    ...legacyHandshake,
    ...names.map((append) => request(append, 'edit_file', { name: 'f', append })),
    request('tool', 'tools/call', { name: 'async_append', arguments: { path: 'f', content: 'by a tool\n' } }),
    request('read', 'tools/call', { name: 'async_read', arguments: { path: 'f' } }),
    ...[1, 2, 3].map((id) => request(id, 'read_file', { name: 'large' }))
  ])
  const lines = tree.read('f').trimEnd().split('\n')
  t.strictSame([...lines].sort(), ['head', 'by a tool', ...names].sort())
  sameMessages(t, messages, [
    { id: 'initialize', result: { protocolVersion: '2025-06-18' } },
    ...names.map((id) => ({ id, result: { success: true } })),
    { id: 'tool', result: { structuredContent: { status: 'ok' } } },
    { id: 'read', result: { structuredContent: { total_lines: Number } } },
    ...[1, 2, 3].map((id) => ({ id, result: { content: large } }))
  ])
})

for (const signal of ['SIGTERM', 'SIGINT'] as const) {
  t.test(
    `on ${signal} every call is answered or refused, nothing is half done, and the process ends with 0`,
    async (t) => {
      const tree = makeTree(t, { f: 'head\n' })
      const program = startStdio(t, argsFor(tree), { environment: patientStop })
      const names = Array.from({ length: lengthOf({ full: 300, short: 60 }) }, (_, index) => `line ${index}`)
      const calls = names.map((append) => JSON.stringify(request(append, 'edit_file', { name: 'f', append })))
      program.write(`${calls.join('\n')}\n`)
      await program.answer(names[0])
      const { code, messages } = await program.end(signal)
      t.equal(code, 0)
      t.equal(messages.length, names.length, 'every call has its answer')
      for (const { result, error } of messages)
        if (result === undefined) t.match(error, { message: /stopping/, data: { details: /OVERLOADED/ } })
      const acknowledged = messages.filter(({ result }) => result !== undefined).map(({ id }) => String(id))
      const lines = tree.read('f').trimEnd().split('\n').slice(1)
      t.strictSame(lines.sort(), acknowledged.sort(), 'what was acknowledged is in the file, and nothing else')
      t.notMatch(tree.all(), [/\.tmp$/])
    }
  )
}

t.test('on SIGTERM answers that the pipe does not hold at once come out whole', async (t) => {
  const tree = makeTree(t, { f: 'x'.repeat(1_000_000) })
  const program = startStdio(t, argsFor(tree))
  await program.call('list_files')
  program.write([1, 2, 3, 4, 5].map((id) => `${JSON.stringify(readF(id))}\n`).join(''))
  await program.answer(1)
  const ended = program.end('SIGTERM')
  for (const id of [2, 3, 4, 5]) t.ok(await program.answer(id), `answer ${id}`)
  t.match(await ended, { code: 0 })
})

t.test('the process ends when nobody reads its answers any more', async (t) => {
  const tree = makeTree(t, { f: 'one' })
  const program = startStdio(t, argsFor(tree))
  await program.call('list_files')
  program.process.stdout.destroy()
  program.send(readF(1))
  const [code, signal] = await new Promise<[number | null, NodeJS.Signals | null]>((resolve) =>
    program.process.once('exit', (...how) => resolve(how))
  )
  t.match({ code, signal }, { code: 0, signal: null })
})

t.test('standard output carries JSON-RPC alone at every log level, and the log no content', async (t) => {
  // What "info" logs, "trace" does too.
  for (const level of isFull ? ['trace', 'info', 'silent'] : ['trace', 'silent']) {
    const tree = makeTree(t, { f: 'secret-one' })
    const program = startStdio(t, argsFor(tree, '--log-level', level))
    for (const line of legacyHandshake) program.send(line)
    await program.call('tools/list')
    await program.call('tools/call', { name: 'async_read', arguments: { path: 'f' } })
    await program.call('tools/call', { name: 'no_such_tool', arguments: {} })
    await program.call('edit_file', { name: 'f', append: 'secret-two' })
    await program.call('edit_file', { name: 'f', append: 5 })
    await program.call('no_such_method', { secret: 'secret-three' })
    program.write('secret-broken\n')
    await program.answer(null)
    const { code, messages } = await program.end()
    t.equal(code, 0)
    t.ok(messages.length >= 8)
    for (const message of messages) t.equal(message['jsonrpc'], '2.0', level)
    for (const line of program.stderr) t.doesNotThrow(() => JSON.parse(line) as unknown, line)
    t.equal(program.stderr.length > 0, level !== 'silent')
    t.notMatch(program.stderr.join('\n'), /secret-/, level)
  }
})

t.test('--transport dual serves standard input and HTTP from one process, with one queue', async (t) => {
  const tree = makeTree(t, { f: '' })
  const program = startStdio(t, ['--dir', tree.root, '--transport', 'dual'])
  const url = await program.url()
  const post = async (append: string) => {
    const body = JSON.stringify({ name: 'f', append })
    const headers = { 'content-type': 'application/json' }
    return (await (await fetch(`${url}/edit_file`, { method: 'POST', headers, body })).json()) as Answer
  }
  const answers = await Promise.all(
    Array.from({ length: 20 }, async (_, index) =>
      index % 2 === 0
        ? post(`http ${index}`)
        : resultOf(await program.call('edit_file', { name: 'f', append: `rpc ${index}` }))
    )
  )
  t.strictSame(
    answers.map((answer) => answer['new_total_lines'] as number).sort((a, b) => a - b),
    Array.from({ length: 20 }, (_, index) => index + 1),
    'each has seen the changes of all before it'
  )
  t.equal(tree.read('f').split('\n').length, 20)
  t.match(await program.end(), { code: 0 })
})
