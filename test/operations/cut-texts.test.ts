// Whatever the server cuts for an answer, a notice, an event or a log: no half of a character is left in it.
import t from 'tap'
import { parseUnified } from '../../board/unified.ts'
import { digestOf } from '../../src/engine/receipts/digest.ts'
import { pieceBytes } from '../../src/support/large-work.ts'
import { beginningOf, cutPlace, shortened } from '../../src/support/cut-text.ts'
import { connect, connectModern, transports, type Answer } from '../fixtures/clients.ts'
import { inTurn } from '../fixtures/length.ts'
import { startHooks } from '../fixtures/native-session.ts'
import { answersHere } from '../fixtures/rpc-here.ts'
import { startServer } from '../fixtures/server.ts'
import { hashOf, makeTree } from '../fixtures/tree.ts'

const alignments = [0, 1]
/** Longer than anything that is shown, with each cut within a character at one alignment or the other. */
const astral = (shift: number) => 'x'.repeat(shift) + '😀'.repeat(3_000)

/** Where a text of the value has half a character. */
function halves(value: unknown, at = '$'): string[] {
  if (typeof value === 'string') return value.isWellFormed() ? [] : [at]
  if (typeof value !== 'object' || value === null) return []
  return Object.entries(value).flatMap(([key, item]) => [
    ...halves(key, `${at} (name)`),
    ...halves(item, `${at}.${key}`)
  ])
}

/** The calls whose answers show the beginning of something long. */
function cuttingCalls(shift: number): Record<string, readonly [name: string, input: object]> {
  const long = astral(shift)
  const update = { path: 'long.txt', expected_hash: hashOf(long) }
  const deep = `${'x'.repeat(shift)}😀/`.repeat(200)
  return {
    'a patch that is nearly there': [
      'async_update',
      { ...update, patches: [{ old_string: `${long}y`, new_string: '' }] }
    ],
    'a patch with an end that differs': [
      'async_update',
      { ...update, patches: [{ old_string: `${long.slice(0, -100)}y`, new_string: '' }] }
    ],
    'lines that are not as expected': [
      'async_update',
      { ...update, patches: [{ start_line: 1, end_line: 1, new_content: '', expected_lines: 'y' }] }
    ],
    'a hunk that does not apply': ['async_update', { ...update, unified_diff: `@@ -1 +1 @@\n-y${long}\n+z\n` }],
    'a diff that is none': ['async_update', { ...update, unified_diff: `@@ -1 +1 @@\n-y\n+z\n${long}\n` }],
    'a stale version': ['async_update', { ...update, expected_hash: hashOf('other'), content: 'x' }],
    'a pattern that is none': ['async_list', { path: '.', pattern: `${long.slice(0, 900 + shift)}[` }],
    'a path that is too deep': ['async_read', { path: deep }],
    'an unknown parameter': ['async_read', { path: 'long.txt', [long.slice(0, 900 + shift)]: 1 }],
    'a value that is none of those': ['async_update', { ...update, content: '', on_contention: long }],
    'a path that is too long, in a batch': ['async_batch_read', { files: [{ path: long, limit: -1 }] }],
    'a name that is none': ['read_file', { name: long.slice(0, 900 + shift) }],
    'a name that is none, and more': [
      'edit_file',
      { name: long.slice(0, 900 + shift), [long.slice(0, 300 + shift)]: 1 }
    ],
    'locks of long names': ['lock_try', { filepaths: [long.slice(0, 400 + shift)] }]
  }
}

for (const shift of alignments) {
  for (const [transport, test] of inTurn(t, transports)) {
    test(`${transport}, ${shift}: no answer has half a character`, async (t) => {
      const tree = makeTree(t, { 'long.txt': astral(shift) })
      const { url, log } = await startServer(t, tree.root, { daemon: { log_level: 'trace' } })
      const client = await connect(t, transport, url, 'ann')
      await client.call('async_read', { path: 'long.txt' })
      for (const [title, [name, input]] of Object.entries(cuttingCalls(shift))) {
        // What MCP does not list, it refuses by name.
        const answer = await client.call(name, input).catch((error: Error) => ({ message: error.message }))
        t.strictSame(halves(answer), [], title)
      }
      t.strictSame(
        log.flatMap((line) => halves(JSON.parse(line))),
        [],
        'nor has the log'
      )
      t.ok(log.length > 0)
    })
  }

  t.test(`${shift}: what shows the place of a patch shows half of no character at any length`, async (t) => {
    const tree = makeTree(t, {})
    const { url } = await startServer(t, tree.root)
    const client = await connect(t, 'rest', url, 'ann')
    const text = `${astral(shift)}\n`
    tree.write('f.txt', text)
    const { error_code, details } = await client.call('async_update', {
      path: 'f.txt',
      expected_hash: hashOf(text),
      patches: [{ old_string: text.replace('\n', 'y\n'), new_string: '' }]
    })
    t.equal(error_code, 'INVALID_PATCH')
    t.match(details, { nearest: { start_line: 1, clipped: true, text: /😀$/u } })
  })

  t.test(`${shift}: JSON-RPC, files over HTTP, resources, events and hooks`, async (t) => {
    const long = astral(shift)
    const tree = makeTree(t, { 'long.txt': long })
    const requests = Object.values(cuttingCalls(shift)).map(([method, params], id) => ({
      jsonrpc: '2.0',
      id,
      method,
      params
    }))
    const others = [long, `\ud83d${long}`].flatMap((name, index) => [
      { jsonrpc: '2.0', id: `m${index}`, method: name },
      { jsonrpc: '2.0', id: `k${index}`, method: 'async_read', params: { path: 'long.txt', [name]: 1 } }
    ])
    const answers = await answersHere(t, tree, [...requests, ...others])
    t.equal(answers.length, requests.length + others.length)
    for (const answer of answers) t.strictSame(halves(answer), [], JSON.stringify(answer['id']))

    const { url, log, hook, session } = await startHooks(t, { daemon: { log_level: 'trace' } }, { 'long.txt': long })
    const headers = { 'content-type': 'text/x-diff', 'if-match': `"${hashOf(long)}"` }
    const body = `@@ -1 +1 @@\n-y${long}\n+z\n`
    const patched = (await (await fetch(`${url}/files/long.txt`, { method: 'PATCH', headers, body })).json()) as Answer
    t.match(patched, { error_code: 'INVALID_PATCH', details: { hunk: /^@@ -1 \+1 @@\n-y[x😀]+$/u } })
    const queries = [
      `/events?types=${long.slice(0, 600 + shift)}`,
      `/events?paths=../${long.slice(0, 600 + shift)}`,
      `/activity?limit=${long.slice(0, 90 + shift)}`
    ]
    for (const query of queries) t.strictSame(halves(await (await fetch(url + query)).json()), [], query.slice(0, 20))
    await fetch(`${url}/async_read`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', 'x-agent-id': 'deep' },
      body: JSON.stringify({ path: long.slice(0, 700 + shift) })
    })
    const activity = (await (await fetch(`${url}/activity`)).json()) as { agents: Answer[] }
    t.match(activity.agents, [{ path: /….*/ }])
    t.strictSame(halves(activity), [])
    const agent = session(long)
    t.strictSame(
      halves(await agent.before('Edit', { file_path: 'long.txt', old_string: `y${long}`, new_string: long })),
      []
    )
    await hook('claude-code', { session_id: 's', hook_event_name: long, tool_name: `x${long}` })
    t.strictSame(
      log.flatMap((line) => halves(JSON.parse(line))),
      [],
      'the log'
    )
    const sdk = await connectModern(url)
    t.teardown(() => sdk.close())
    const refused = [() => sdk.callTool({ name: long, arguments: {} }), () => sdk.readResource({ uri: `bad:${long}` })]
    for (const call of refused) {
      const message = await call().then(
        () => 'no error',
        (error: Error) => error.message
      )
      t.ok(message.length > 50 && message.isWellFormed(), message.slice(0, 40))
    }
  })
}

t.test('two calls of one name that differ in one character are two, wherever it lies', async (t) => {
  const text = (face: string, shift: number) => `${'x'.repeat(pieceBytes - shift)}${face}${'x'.repeat(10)}`
  for (const shift of [0, 1, 2])
    t.not(
      await digestOf('async_append', { content: text('😀', shift) }, []),
      await digestOf('async_append', { content: text('😁', shift) }, []),
      `${shift}`
    )
})

t.test('a text is cut before a character that does not fit', async (t) => {
  const text = 'a😀b'
  t.strictSame(
    [0, 1, 2, 3, 4, 9].map((most) => beginningOf(text, most)),
    ['', 'a', 'a', 'a😀', text, text]
  )
  t.strictSame(
    [1, 2, 4].map((most) => shortened(text, most)),
    ['a...', 'a...', text]
  )
  t.strictSame(
    [0, 1, 2, 3, 4].map((at) => cutPlace(text, at)),
    [0, 1, 1, 3, 4]
  )
  t.equal(beginningOf('\ude00\ude00', 1), '\ude00', 'what was no text before is not looked at')
})

t.test('the board marks whole characters', async (t) => {
  for (const [one, other] of [
    ['😀', '😁'],
    ['😀', '🈀']
  ] as const) {
    const [hunk] = parseUnified(`--- a\n+++ b\n@@ -1 +1 @@\n-aaaa${one}bbbb\n+aaaa${other}bbbb\n`)
    t.strictSame(
      hunk?.lines.map(({ text, changed }) => text.slice(...changed!)),
      [one, other]
    )
  }
})
