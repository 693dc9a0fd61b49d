// Large requests and answers are worked on in pieces, so that others are served between them: the outcome is the same.
import { setImmediate as nextRound } from 'node:timers/promises'
import t from 'tap'
import { KnownText } from '../../src/engine/versions/known-text.ts'
import { largeTurn } from '../../src/support/large-work.ts'
import { encodeInPieces, isLarge } from '../../src/support/encode-large.ts'
import { parseJson } from '../../src/operations/definition/parse-json.ts'
import { lengthOf, someOf } from '../fixtures/length.ts'
import { createRandom } from '../fixtures/random.ts'
import { startServer } from '../fixtures/server.ts'
import { startStdio } from '../fixtures/stdio.ts'
import { hashOf, makeTree } from '../fixtures/tree.ts'

const random = createRandom(7)
const atoms = [
  'a',
  '\n',
  '"',
  '\\',
  '\\\\\\',
  '\u0000',
  '/',
  'é',
  '€',
  '😀',
  '\u2028',
  'u0041',
  '\ufeff',
  'long line of text '
]

function randomText(length: number): string {
  const parts: string[] = []
  for (let size = 0; size < length;) {
    const atom = atoms[Math.floor(random() * atoms.length)]!
    parts.push(atom)
    size += atom.length
  }
  return parts.join('')
}

const escapeAll = (json: string) =>
  json.replaceAll(/[\u0080-\uffff]/g, (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`)

t.test('pieces of large work run in rounds of their own, in the order in which they were asked for', async (t) => {
  let round = 0
  const over = new AbortController()
  const counting = (async () => {
    while (!over.signal.aborted) {
      await nextRound()
      round += 1
    }
  })()
  const order: number[] = []
  const rounds = await Promise.all(
    Array.from({ length: 20 }, async (_, index) => {
      await largeTurn()
      order.push(index)
      return round
    })
  )
  over.abort()
  await counting
  t.strictSame(
    order,
    [...order].sort((a, b) => a - b)
  )
  t.equal(new Set(rounds).size, rounds.length, 'others are served between any two of them')
})

t.test('a large message means what JSON.parse says, wherever it is cut', async (t) => {
  for (let round = 0; round < lengthOf({ full: 4, short: 2 }); round += 1) {
    const text = randomText(1_200_000 + round)
    const value = {
      [`key ${'k'.repeat(70_000)}`]: text,
      path: 'f',
      patches: [{ old_string: text.slice(0, 300_000), new_string: '' }, [text.slice(5)], null, 1.5e3]
    }
    const json = round % 2 === 0 ? JSON.stringify(value, null, ' ') : escapeAll(JSON.stringify(value))
    t.strictSame(await parseJson(Buffer.from(json)), value)
  }
  for (const row of ['\\', '"', '\\"', '😀', '\u0001']) {
    for (const start of someOf(['', 'x', 'xy', 'xyz'], 2)) {
      const text = start + row.repeat(300_000)
      t.ok((await parseJson(Buffer.from(JSON.stringify(text)))) === text, JSON.stringify(start + row))
      t.strictSame(await parseJson(Buffer.from(escapeAll(JSON.stringify([text])))), [text])
    }
  }
})

t.test('a large message that is no JSON is refused as a small one is', async (t) => {
  const long = 'x'.repeat(600_000)
  const bad: [string | Buffer, RegExp][] = [
    [`{"content":"${long}`, /not valid JSON/],
    [`{"content":"${long}"`, /not valid JSON/],
    [`{"content":"${long}\n"}`, /not valid JSON/],
    [`{"content":"${long}\\x"}`, /not valid JSON/],
    [`{"content":"${long}\\u12"}`, /not valid JSON/],
    [`{"a" "${long}"}`, /not valid JSON/],
    [Buffer.concat([Buffer.from(`"${long}`), Buffer.from([0xc3]), Buffer.from(`${long}"`)]), /not valid UTF-8/],
    [`"${long}"${'['.repeat(70)}`, /more than 64 levels|not valid JSON/],
    [`${'['.repeat(70)}"${long}"`, /more than 64 levels/],
    [
      `[${Array(2)
        .fill(`{${Array.from({ length: 11_000 }, (_, index) => `"k${index}":"${'v'.repeat(20)}"`).join(',')}}`)
        .join(',')}]`,
      /more than 20000 parameters/
    ],
    [`["${long}",${'0,'.repeat(200_001)}0]`, /more than 200000 elements/]
  ]
  for (const [json, message] of bad)
    await t.rejects(async () => parseJson(Buffer.from(json)), { code: 'INVALID_REQUEST', jsonRpcCode: -32700, message })
})

t.test('the JSON of a large answer, made in pieces, is the same answer', async (t) => {
  const text = randomText(1_200_000)
  const known = new KnownText(text)
  const answers = [
    { status: 'ok', content: text, path: 'f' },
    { status: 'ok', results: [{ content: text.slice(0, 200_000) }, { status: 'error' }, { content: text.slice(1) }] },
    { content: known.body, total_lines: 1 }
  ]
  for (const answer of answers) {
    t.ok(isLarge(answer))
    const bytes = Buffer.concat(await encodeInPieces(answer))
    t.strictSame(JSON.parse(bytes.toString()), answer)
  }
  t.notOk(isLarge({ status: 'ok', content: 'small' }))
  t.notOk(isLarge({ status: 'ok', results: [{ content: 'small' }, {}] }))
})

const megabytes = 4
const large = `${'the quick brown fox\n'.repeat(50_000)}é\n`.repeat(megabytes)

async function post(url: string, name: string, input: object) {
  const headers = { 'content-type': 'application/json', 'x-agent-id': 'ann' }
  const answer = await fetch(`${url}/${name}`, { method: 'POST', headers, body: JSON.stringify(input) })
  return { status: answer.status, retryAfter: answer.headers.get('retry-after'), body: (await answer.json()) as never }
}

t.test('large files are written, read and changed as small ones are', async (t) => {
  const tree = makeTree(t)
  const { url } = await startServer(t, tree.root)
  const hash = hashOf(large)
  t.match(await post(url, 'async_write', { path: 'f', content: large }), { status: 200, body: { hash } })
  t.equal(tree.read('f'), large)
  t.match(await post(url, 'async_read', { path: 'f' }), { status: 200, body: { hash, content: large } })
  const changed = `\ufeff${large}the end`
  const update = { path: 'f', content: changed, expected_hash: hash }
  t.match(await post(url, 'async_update', update), { status: 200, body: { hash: hashOf(changed) } })
  t.equal(tree.read('f'), changed)
  const missing = { path: 'f', expected_hash: hashOf(changed), patches: [{ old_string: 'slow fox', new_string: '' }] }
  t.match(await post(url, 'async_update', missing), { status: 400, body: { error_code: 'INVALID_PATCH' } })
})

t.test('large messages come through standard input, and through a relay to another process', async (t) => {
  const tree = makeTree(t)
  await startServer(t, tree.root)
  // The server above is the authority of the tree.
  const program = startStdio(t, ['--transport', 'stdio', '--dir', tree.root])
  const hash = hashOf(large)
  t.match(await program.call('async_write', { path: 'f', content: large }), { result: { hash } })
  t.equal(tree.read('f'), large)
  t.match(await program.call('async_read', { path: 'f' }), { result: { hash, content: large } })
  t.match(await program.end(), { code: 0 })
})

t.test('a small call is answered while large ones are under way, not behind them', async (t) => {
  const files = Object.fromEntries(Array.from({ length: 12 }, (_, index) => [`large${index}`, `${index}\n${large}`]))
  const tree = makeTree(t, { ...files, small: 'one\n' })
  const { url } = await startServer(t, tree.root)
  const ended: string[] = []
  const calls = Object.keys(files).map(async (path) => {
    const { status } = await post(url, 'async_read', { path })
    t.equal(status, 200)
    ended.push(path)
  })
  await post(url, 'async_read', { path: 'small' })
  ended.push('small')
  await Promise.all(calls)
  t.ok(ended.indexOf('small') < ended.length / 2, ended.join(' '))
})

t.test('reads of large files wait for room, and take no more than their share', async (t) => {
  const files = Object.fromEntries(Array.from({ length: 10 }, (_, index) => [`large${index}`, `${index}\n${large}`]))
  const tree = makeTree(t, files)
  // Two of the largest requests are 10 MiB and a little more: one of these files, which counts four times, at a time.
  const limits = { max_file_size_bytes: 4_200_000 }
  const { url, app } = await startServer(t, tree.root, {
    crud: limits,
    daemon: { max_pending_request_bytes: 1_048_576 }
  })
  const answers = await Promise.all(Object.keys(files).map((path) => post(url, 'async_read', { path })))
  for (const answer of answers) t.match(answer, { status: 200, body: { hash: /^sha256:/ } })
  const health = (await (await fetch(`${url}/health`)).json()) as {
    bytes_in_flight: { work_peak: number; work: number }
  }
  t.ok(health.bytes_in_flight.work_peak > 4 * large.length)
  t.ok(health.bytes_in_flight.work_peak < 5 * large.length, 'one at a time')
  t.match(app.requestBudget.use, { work: 0, held: 0, waiting: 0 }, 'all is given back')
})

t.test('a read that finds no room in time is refused with a time to come back', async (t) => {
  const files = Object.fromEntries(Array.from({ length: 10 }, (_, index) => [`large${index}`, `${index}\n${large}`]))
  const tree = makeTree(t, files)
  const { url } = await startServer(t, tree.root, {
    crud: { max_file_size_bytes: 4_200_000 },
    daemon: { max_pending_request_bytes: 1_048_576, max_work_wait_seconds: 0 }
  })
  const answers = await Promise.all(Object.keys(files).map((path) => post(url, 'async_read', { path })))
  const refused = answers.filter(({ status }) => status === 503)
  t.ok(refused.length > 0)
  for (const answer of refused)
    t.match(answer, { retryAfter: '1', body: { error_code: 'OVERLOADED', details: { retry_after_seconds: 1 } } })
  t.ok(
    answers.some(({ status }) => status === 200),
    'one always goes on'
  )
})
