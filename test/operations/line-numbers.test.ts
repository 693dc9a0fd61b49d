// Numbered lines, on request: as `cat -n` has them, from the real number on, in every kind of read. What counts as seen is the same.
import t, { type Test } from 'tap'
import { connect, connectLegacy, connectModern, transports, type Answer } from '../fixtures/clients.ts'
import { inTurn } from '../fixtures/length.ts'
import { startServer } from '../fixtures/server.ts'
import { hashOf, makeTree } from '../fixtures/tree.ts'

const mixed = '\uFEFFone\n\ttwo\r\n\nfour\rfive'
const line_numbers = true

for (const [transport, test] of inTurn(t, transports)) {
  test(`over ${transport}: each line has its number, in a range too, and its line end as it is`, async (t) => {
    const { url } = await startServer(t, makeTree(t, { f: mixed, empty: '' }).root)
    const ann = await connect(t, transport, url, 'ann')
    const contentOf = async (input: object) =>
      (await ann.call('async_read', { path: 'f', line_numbers, ...input }))['content'] as string
    t.equal(await contentOf({}), '1\tone\n2\t\ttwo\r\n3\t\n4\tfour\r5\tfive')
    t.equal(await contentOf({ offset: 1, limit: 2 }), '2\t\ttwo\r\n3\t\n')
    t.equal(await contentOf({ offset: 4 }), '5\tfive')
    t.equal(await contentOf({ offset: 9 }), '')
    t.equal(await contentOf({ limit: 0 }), '')
    t.equal(await contentOf({ path: 'empty' }), '')
    t.equal(await contentOf({ line_numbers: false, offset: 4 }), 'five')
    const long = Array.from({ length: 1_000 }, (_, index) => `row ${index + 1}\n`)
    await ann.call('async_write', { path: 'long', content: long.join('') })
    const numbered = long.map((row, index) => `${index + 1}\t${row}`)
    t.equal(await contentOf({ path: 'long' }), numbered.join(''))
    t.equal(await contentOf({ path: 'long', offset: 98, limit: 3 }), numbered.slice(98, 101).join(''))
  })

  test(`over ${transport}: files of a batch and of a moment have their numbers, each as asked`, async (t) => {
    const { url } = await startServer(t, makeTree(t, { f: 'one\ntwo\n', g: 'three\n' }).root)
    const ann = await connect(t, transport, url, 'ann')
    const files = [{ path: 'f', line_numbers, offset: 1 }, { path: 'g' }, { path: 'g', line_numbers }]
    const contents = [{ content: '2\ttwo\n' }, { content: 'three\n' }, { content: '1\tthree\n' }]
    t.match((await ann.call('async_batch_read', { files }))['results'], contents)
    const { results, snapshot } = await ann.call('async_batch_read', { files, consistent: true })
    t.match(results, contents)
    await ann.call('async_append', { path: 'f', content: 'new\n' })
    t.match(await ann.call('async_read', { path: 'f', snapshot, line_numbers }), { content: '1\tone\n2\ttwo\n' })
  })

  test(`over ${transport}: what a numbered read has shown is seen, and nothing else`, async (t) => {
    const content = 'one\ntwo\nthree\n'
    const { url } = await startServer(t, makeTree(t, { f: content }).root)
    const ann = await connect(t, transport, url, 'ann')
    const known = { path: 'f', known_hash: hashOf(content), line_numbers }
    await ann.call('async_read', { path: 'f', line_numbers, limit: 2 })
    t.match(await ann.call('async_read', { ...known, limit: 2 }), { not_modified: true })
    t.match(await ann.call('async_read', { ...known, offset: 1 }), { content: '2\ttwo\n3\tthree\n' })
    t.match(await ann.call('async_read', known), { not_modified: true, content: undefined })
    const patches = [{ start_line: 2, end_line: 2, new_content: '2' }]
    t.match(await ann.call('async_update', { path: 'f', expected_hash: hashOf(content), patches }), { status: 'ok' })
  })

  test(`over ${transport}: a part by bytes has no numbers, and asking for them is refused`, async (t) => {
    const { url } = await startServer(t, makeTree(t, { f: 'one\n' }).root)
    const ann = await connect(t, transport, url, 'ann')
    t.match(await ann.call('async_read', { path: 'f', byte_offset: 1, line_numbers }), {
      error_code: 'INVALID_REQUEST',
      message: /leave out .*line_numbers/
    })
  })
}

const eras = { '2026': connectModern, '2025': connectLegacy }

async function connectPaged(t: Test, era: keyof typeof eras, files: Record<string, string>, agent?: string) {
  const settings = { answer_chars: 4_000, fields: 'needed' }
  const { url } = await startServer(t, makeTree(t, files).root, { mcp: settings })
  const client = await eras[era](url, agent, '', 'claude-code')
  t.teardown(() => client.close())
  return async (input: object): Promise<Answer> => {
    const answer = await client.callTool({ name: 'async_read', arguments: { line_numbers, ...input } })
    const [{ text }] = answer['content'] as [{ text: string }]
    t.ok(text.length <= 4_000, `${text.length} characters`)
    const end = text.indexOf('\n')
    return end === -1 ? JSON.parse(text) : { ...JSON.parse(text.slice(0, end)), content: text.slice(end + 1) }
  }
}

for (const [era, test] of inTurn(t, ['2026', '2025'] as const)) {
  test(`a ${era} client goes on through a long file by its numbers, in plain text`, async (t) => {
    // Numbers are most of it.
    const rows = Array.from({ length: 2_000 }, (_, index) => `${index % 7}\n`)
    const read = await connectPaged(t, era, { f: rows.join('') }, 'ann')
    const parts: string[] = []
    for (let offset: number | undefined = 0; offset !== undefined;) {
      const part: Answer = await read({ path: 'f', offset })
      parts.push(part['content'])
      offset = part['next_offset'] as number | undefined
    }
    t.equal(parts.join(''), rows.map((row, index) => `${index + 1}\t${row}`).join(''))
    t.ok(parts.length > 4)
    t.match(await read({ path: 'f', known_hash: hashOf(rows.join('')) }), { not_modified: true })
  })

  test(`a ${era} client gets the beginning of a long line with its number, and the rest without`, async (t) => {
    const text = `\uFEFFone\n${'"é😀\\'.repeat(1_000)}\nend\n`
    const read = await connectPaged(t, era, { f: text }, 'ann')
    t.match(await read({ path: 'f' }), { content: '1\tone\n', next_offset: 1 })
    const first = await read({ path: 'f', offset: 1 })
    t.match(first, { content: /^2\t"é😀/, message: /beginning of line 2.*byte_offset \d+, without line_numbers\.$/ })
    const parts = [(first['content'] as string).slice(2)]
    for (let next = first['next_byte_offset'] as number | undefined; next !== undefined;) {
      const part: Answer = await read({ path: 'f', byte_offset: next, line_numbers: false })
      parts.push(part['content'])
      next = part['next_byte_offset'] as number | undefined
    }
    t.equal(`one\n${parts.join('')}`, text.slice(1))
    t.match(await read({ path: 'f', offset: 1, limit: 1, known_hash: hashOf(text) }), { content: /^2\t/ }, 'not seen')
  })
}

t.test('a caller without a name that got a part, because of the numbers, does not know the file', async (t) => {
  const text = 'x\n'.repeat(500)
  const read = await connectPaged(t, '2026', { f: text, g: 'x\n'.repeat(50) })
  t.match(await read({ path: 'f' }), { next_offset: Number })
  t.match(await read({ path: 'f', known_hash: hashOf(text), line_numbers: false }), { content: text })
  t.match(await read({ path: 'g', known_hash: hashOf('x\n'.repeat(50)) }), { not_modified: true })
})
