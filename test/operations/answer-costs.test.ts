// What an answer costs its reader: a diff never more than reading the file again, what decides before what is long, lists in pages.
import t, { type Test } from 'tap'
import { countTokens } from '../../bench/tokens.ts'
import { applyDiff } from '../harness/swarm/apply-diff.ts'
import { connect, type Answer, type TransportName } from '../fixtures/clients.ts'
import { isFull } from '../fixtures/length.ts'
import { startServer } from '../fixtures/server.ts'
import { makeTree } from '../fixtures/tree.ts'

const lineOf = (number: number) => `  const line${number} = compute("${(number * 7919) % 1000}", ${number})\n`
const linesTo = (count: number) => Array.from({ length: count }, (_, index) => lineOf(index))
const changed = (number: number) => `  const other${number} = compute(${number}) // changed\n`

async function scene(t: Test, lines: readonly string[], transport: TransportName = 'rest') {
  const text = lines.join('')
  const tree = makeTree(t, { f: text })
  const { url } = await startServer(t, tree.root)
  const [ann, bob] = [await connect(t, transport, url, 'ann'), await connect(t, transport, url, 'bob')]
  const { hash } = await ann.call('async_read', { path: 'f' })
  return {
    url,
    tree,
    ann,
    bob,
    hash: hash as string,
    /** Bob's change of some lines. @returns the new text */
    change: async (isChanged: (index: number) => boolean, to = changed) => {
      const next = lines.map((line, index) => (isChanged(index) ? to(index) : line)).join('')
      await bob.call('async_update', { path: 'f', expected_hash: hash, content: next })
      return next
    },
    /** Ann's late one. */
    late: (more: object = {}) => ann.call('async_update', { path: 'f', expected_hash: hash, content: 'x', ...more })
  }
}

const bytesOf = (answer: Answer) => Buffer.byteLength(JSON.stringify(answer))

t.test('three changed lines of a thousand cost at most 4 % of the tokens of reading them', async (t) => {
  const { ann, hash, late, bob } = await scene(t, linesTo(1000))
  let current = hash
  for (const [index, number] of [166, 500, 833].entries()) {
    const patches = [{ old_string: lineOf(number), new_string: changed(number) }]
    const answer = await bob.call('async_update', {
      path: 'f',
      expected_hash: current,
      patches,
      agent_id: `other-agent-${index}`
    })
    current = answer['hash'] as string
  }
  const answer = await late({ content: undefined, patches: [{ old_string: lineOf(3), new_string: '' }] })
  t.match(answer, { status: 'contention', patches_applicable: true, diff: { format: 'json', changes: { length: 3 } } })
  const reading = await ann.call('async_read', { path: 'f' })
  const share = countTokens(JSON.stringify(answer)) / countTokens(JSON.stringify(reading))
  t.ok(share <= 0.04, `${(share * 100).toFixed(2)} %`)
})

const shapes: [title: string, isChanged: (index: number) => boolean, format: string, to?: (index: number) => string][] =
  [
    ['one line', (index) => index === 400, 'json'],
    ['every fifteenth line', (index) => index % 15 === 0, 'unified'],
    ['every ninth line', (index) => index % 9 === 0, 'unified'],
    ['every second line', (index) => index % 2 === 0, 'lines'],
    ['every second line of most hundreds', (index) => index % 2 === 0 && index % 100 < 90, 'lines'],
    ['every line', () => true, 'lines'],
    ['the first half', (index) => index < 375, 'lines'],
    ['a removed third', (index) => index % 3 === 0, 'lines', () => '']
  ]

for (const [turn, transport] of (['rest', 'mcp-2025'] as const).entries()) {
  t.test(`over ${transport}, a contention costs at most 70 % of reading the file, whatever has changed`, async (t) => {
    // In the short form each over one of the two.
    for (const [title, isChanged, format, to] of shapes.filter((_, index) => isFull || index % 2 === turn)) {
      const lines = linesTo(750)
      const { ann, hash, change, late } = await scene(t, lines, transport)
      const current = await change(isChanged, to)
      const answer = await late()
      const share = bytesOf(answer) / bytesOf(await ann.call('async_read', { path: 'f' }))
      t.ok(share <= 0.7, `${title}: ${(share * 100).toFixed(1)} %`)
      const { diff } = answer as { diff: Parameters<typeof applyDiff>[1] }
      t.equal(diff.format, format, title)
      if (diff.format !== 'lines') {
        t.equal(applyDiff(lines.join(''), diff), current, `${title}: the diff is whole`)
        continue
      }
      t.match(answer, { base_known: true, message: /only names the lines/, diff: { advice: /async_read.*async_diff/ } })
      const ranges = diff.lines ?? []
      t.ok(ranges.length <= 20, `${title}: ${ranges.length} ranges`)
      for (const [index] of lines.entries()) {
        if (to !== undefined || !isChanged(index)) continue
        const isNamed = ranges.some(({ start_line, end_line }) => start_line <= index + 1 && index < end_line)
        if (!isNamed) t.fail(`${title}: line ${index + 1} is not named`)
      }
      const input = { path: 'f', from_hash: hash }
      t.strictSame((await ann.call('async_diff', input))['diff'], diff, 'async_diff is no dearer')
      for (const diff_format of ['json', 'unified']) {
        const { diff: whole } = (await ann.call('async_diff', { ...input, diff_format })) as { diff: typeof diff }
        t.equal(applyDiff(lines.join(''), whole), current, `${title}: all of it as ${diff_format}`)
      }
    }
  })
}

t.test('a form that the caller chose is kept while it costs no more than reading', async (t) => {
  const { change, late } = await scene(t, linesTo(750))
  await change((index) => index % 15 === 0)
  t.match(await late({ diff_format: 'json' }), { diff: { format: 'json' } })
  const more = await scene(t, linesTo(750))
  await more.change((index) => index % 2 === 0)
  t.match(await more.late({ diff_format: 'json' }), { diff: { format: 'lines' } })
  t.match(await more.late({ diff_format: 'unified' }), { diff: { format: 'lines' } })
})

t.test('an agent that was only named lines is given the content, not less', async (t) => {
  const { ann, change, late, hash } = await scene(t, linesTo(750))
  const current = await change((index) => index % 2 === 0)
  t.match(await late(), { diff: { format: 'lines' } })
  t.match(await ann.call('async_read', { path: 'f', known_hash: hash }), { content: current, diff: undefined })
})

t.test('a small file answers with the diff, which costs less than another call', async (t) => {
  const { change, late } = await scene(t, linesTo(3))
  await change((index) => index === 1)
  t.match(await late(), { diff: { format: 'json', changes: [{ start_line: 2, context_before: /line0/ }] } })
})

t.test('a merge beside very many changes names their lines', async (t) => {
  const { ann, change, hash } = await scene(t, linesTo(750))
  await change((index) => index % 2 === 0 && index < 700)
  const patches = [{ old_string: lineOf(749), new_string: 'mine\n' }]
  const merged = await ann.call('async_update', { path: 'f', expected_hash: hash, patches, on_contention: 'merge' })
  t.match(merged, { status: 'ok', merged: true, diff: { format: 'lines', lines: [{ start_line: 1, end_line: 699 }] } })
  t.strictSame(Object.keys(merged).at(-1), 'diff')
})

t.test('of many authors the last ten are named, and the others are counted', async (t) => {
  const { bob, late } = await scene(t, linesTo(3))
  for (let index = 0; index < 12; index += 1)
    await bob.call('async_append', { path: 'f', content: '\n', agent_id: `agent-${index}` })
  const answer = await late()
  const names = (answer['modified_by'] as { agent_id: string }[]).map(({ agent_id }) => agent_id)
  t.strictSame(
    names,
    Array.from({ length: 10 }, (_, index) => `agent-${index + 2}`)
  )
  t.equal(answer['earlier_modifications'], 2)
})

t.test('what decides comes before content and diff, notices included', async (t) => {
  const { url, hash, bob, change, tree } = await scene(t, linesTo(750))
  tree.write('g', 'g\n')
  const post = async (name: string, input: object) => {
    const headers = { 'content-type': 'application/json', 'x-agent-id': 'ann' }
    return (await fetch(`${url}/${name}`, { method: 'POST', headers, body: JSON.stringify(input) })).text()
  }
  await post('async_read', { path: 'g' })
  await bob.call('async_append', { path: 'g', content: 'x' })
  const read = await post('async_read', { path: 'f', limit: 2 })
  t.match(read, /^\{"status":"ok","path":"f","hash":"sha256:.*"notices":.*"content":"[^"]*(\\"[^"]*)*"\}$/s)
  await change((index) => index === 4)
  await post('async_read', { path: 'g' })
  await bob.call('async_append', { path: 'g', content: 'x' })
  const late = await post('async_update', { path: 'f', expected_hash: hash, content: '' })
  t.match(late, /^\{"status":"contention","path":"f","current_hash":.*"notices":.*"diff":\{"format":"json".*\}\}$/)
  const diff = await post('async_diff', { path: 'f', from_hash: hash })
  t.match(diff, /"to_hash":.*"modified_by":.*"diff":\{"format":"json".*\}\}$/)
  t.match(await post('read_file', { name: 'g', start_line: 1 }), /^\{"total_lines":2,.*"content":"[^"]*"\}$/)
})

t.test('async_list answers a thousand entries and the cursor to the next', async (t) => {
  const files = Object.fromEntries(Array.from({ length: 1001 }, (_, index) => [`many/${1000 + index}`, '']))
  const { url } = await startServer(t, makeTree(t, files).root)
  const client = await connect(t, 'rest', url)
  const first = await client.call('async_list', { path: 'many' })
  t.match(first, { total_entries: 1001, entries: { length: 1000 }, next_cursor: String })
  t.equal(Object.keys(first).at(-1), 'entries')
  const rest = await client.call('async_list', { path: 'many', cursor: first['next_cursor'] as string })
  t.match(rest, { entries: [{ name: '2000' }], next_cursor: undefined })
})
