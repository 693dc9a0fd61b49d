// Answers that fit: MCP gives a model the beginning of what is long, says how to go on, and lists a tree in few words. REST gives all at once.
import t, { type Test } from 'tap'
import { countTokens } from '../../../bench/tokens.ts'
import { loadConfig } from '../../../src/config/config.ts'
import { connect as connectRest, connectLegacy, connectModern, type Answer } from '../../fixtures/clients.ts'
import { inTurn } from '../../fixtures/length.ts'
import { argsFor, legacyHandshake } from '../../fixtures/rpc.ts'
import { startServer } from '../../fixtures/server.ts'
import { startStdio } from '../../fixtures/stdio.ts'
import { hashOf, makeTree, shortHashOf, type Tree } from '../../fixtures/tree.ts'

const eras = { '2026': connectModern, '2025': connectLegacy }
type Era = keyof typeof eras

/** Claude Code hides longer answers from its model. */
const hiddenAbove = 50_000
const { tools: _, ...shipped } = loadConfig({}).mcp
const mcp = { ...shipped, tools: ['all', 'undo', 'files'], fields: 'all' }

/** Counted with o200k, listings have up to 6 % more tokens than `countTokens` finds. */
const o200kPerToken = 1.06

const line = 'say("\\t", "é", \'😀\')\n'
const long = line.repeat(3_000)
/** What is missing in it is half of the whole. */
const short = line.repeat(1_000)

/** A name that a line of a listing cannot hold; Windows has none. */
const odd = process.platform === 'win32' ? { files: {}, line: '' } : { files: { 'x\ny': '12' }, line: '"x\\ny" 2\n' }

interface Result {
  readonly structuredContent?: Answer
  readonly content: readonly { readonly text: string }[]
}

async function scene(
  t: Test,
  era: Era,
  files: Readonly<Record<string, string>>,
  settings: object = {},
  agent?: string
) {
  const tree = makeTree(t, files)
  const { url } = await startServer(t, tree.root, { mcp: { ...mcp, ...settings } })
  const client = await eras[era](url, agent)
  t.teardown(() => client.close())
  const call = async (name: string, input: object): Promise<Result> => {
    const answer = (await client.callTool({ name, arguments: { ...input } })) as Result
    t.ok(charsOf(answer) < hiddenAbove, `${name}: ${charsOf(answer)} characters`)
    return answer
  }
  const read = async (input: object) => bodyOf(await call('async_read', input))
  return { tree, client, call, read, rest: await connectRest(t, 'rest', url, 'rest') }
}

function charsOf({ structuredContent, content }: Result): number {
  const text = content.map((part) => part.text).join('')
  return Math.max(text.length, JSON.stringify(structuredContent ?? '').length)
}

/** Whichever form the answer has. */
function bodyOf({ structuredContent, content }: Result): Answer {
  if (structuredContent !== undefined) return structuredContent
  const text = content[0]?.text ?? ''
  const end = text.indexOf('\n')
  return { ...(JSON.parse(end === -1 ? text : text.slice(0, end)) as Answer), content: text.slice(end + 1) }
}

/** Goes on as the answers say, to the end. */
async function readAll(read: (input: object) => Promise<Answer>, input: object) {
  const parts: string[] = []
  const answers: Answer[] = []
  for (let next: object | undefined = {}; next !== undefined;) {
    const answer = await read({ ...input, ...next })
    parts.push(answer['content'])
    answers.push(answer)
    const { next_offset, next_byte_offset } = answer
    next =
      next_byte_offset !== undefined
        ? { byte_offset: next_byte_offset }
        : next_offset === undefined
          ? undefined
          : { offset: next_offset }
  }
  return { text: parts.join(''), answers }
}

for (const [era, test] of inTurn(t, ['2026', '2025'] as const)) {
  test(`${era}: a long file comes in parts that clients show, and is seen when all have come`, async (t) => {
    const { read, rest } = await scene(t, era, { f: long }, {}, 'ann')
    const hash = shortHashOf(long)
    const first = await read({ path: 'f' })
    t.match(first, { hash, total_lines: 3_000, message: /^These are lines 1 to \d+ of 3000.* offset \d+\.$/ })
    t.equal(first['lines_returned'], first['next_offset'])
    t.equal(first['content'], line.repeat(first['next_offset']))
    t.match(
      await read({ path: 'f', known_hash: hash }),
      { not_modified: undefined, content: String },
      'not all is seen'
    )
    const seen = { offset: 0, limit: first['next_offset'] }
    t.match(await read({ path: 'f', ...seen, known_hash: hash }), { not_modified: true })
    t.match(await read({ path: 'f', offset: first['next_offset'], limit: 1, known_hash: hash }), { content: line })
    const { text, answers } = await readAll(read, { path: 'f' })
    t.equal(text, long)
    t.ok(answers.length >= 2)
    t.notOk('message' in answers.at(-1)!)
    t.match(await read({ path: 'f', known_hash: hash }), { not_modified: true })
    t.match(await read({ path: 'f', offset: 10, limit: 2_900 }), { next_offset: Number }, 'a range, too')
    t.match(await rest.call('async_read', { path: 'f' }), { content: long, next_offset: undefined })
  })

  test(`${era}: a line that is longer than an answer comes by bytes, and does not count as seen`, async (t) => {
    const text = `\uFEFFone\n${'"é😀\\'.repeat(20_000)}\nend\n`
    const { read } = await scene(t, era, { f: text }, {}, 'ann')
    const { text: all, answers } = await readAll(read, { path: 'f' })
    t.equal(all, text.slice(1))
    t.match(answers[0], { content: 'one\n', next_offset: 1 })
    t.match(answers[1], { message: /beginning of line 2.*byte_offset \d+\.$/, lines_returned: 1 })
    t.match(answers.at(-1), { byte_range: { end: Buffer.byteLength(text) } })
    t.match(await read({ path: 'f', offset: 0, limit: 1, known_hash: hashOf(text) }), { not_modified: true })
    t.match(await read({ path: 'f', offset: 1, limit: 1, known_hash: hashOf(text) }), { next_byte_offset: Number })
  })

  test(`${era}: files of a batch share the answer, and those that are cut say so`, async (t) => {
    const { call, rest } = await scene(t, era, { a: 'a\n', b: long, c: long, d: 'd\n' })
    const files = ['a', 'b', 'c', 'd'].map((path) => ({ path }))
    const { results, summary } = bodyOf(await call('async_batch_read', { files }))
    t.match(summary, { total: 4, succeeded: 4 })
    t.match(results, [{ content: 'a\n' }, { next_offset: Number }, { next_offset: Number }, { content: 'd\n' }])
    t.notOk('next_offset' in results[0] || 'next_offset' in results[3])
    t.ok(results[1].lines_returned > 400 && results[2].lines_returned > 400, 'both have a good part')
    const consistent = bodyOf(await call('async_batch_read', { files, consistent: true }))
    t.match(consistent['results'][2], { next_offset: Number })
    const many = Array.from({ length: 300 }, () => ({ path: 'b' }))
    const some = bodyOf(await call('async_batch_read', { files: many }))
    t.equal(some['next_index'], some['results'].length)
    t.match(some['message'], new RegExp(`of 300 files .*files\\[${some['next_index']}\\]`))
    t.match((await rest.call('async_batch_read', { files }))['results'], [{}, { content: long }, { content: long }, {}])
  })

  test(`${era}: a file of the folder comes in parts, too`, async (t) => {
    const { call } = await scene(t, era, { f: long })
    const parts: string[] = []
    for (let next: number | undefined = 1; next !== undefined;) {
      const part: Answer = bodyOf(await call('read_file', { name: 'f', start_line: next }))
      parts.push(`${part['content']}\n`)
      next = part['next_start_line'] as number | undefined
    }
    t.equal(parts.join(''), long)
    t.ok(parts.length > 1)
  })

  test(`${era}: an unnamed caller that was given the hash with a part does not know the file`, async (t) => {
    const { read } = await scene(t, era, { f: long, g: 'short\n' })
    await read({ path: 'f' })
    t.match(await read({ path: 'f', known_hash: hashOf(long) }), { not_modified: undefined, content: String })
    t.match(await read({ path: 'g', known_hash: hashOf('short\n') }), era === '2026' ? { not_modified: true } : {})
  })

  test(`${era}: a difference that is longer than an answer names its lines, and is not seen`, async (t) => {
    const { call, read, rest, tree } = await scene(t, era, { f: short }, {}, 'ann')
    const { hash } = await read({ path: 'f' })
    await rest.call('async_update', { path: 'f', expected_hash: hash, content: long })
    const input = { path: 'f', expected_hash: hash, content: 'two\n', diff_format: 'unified' }
    const answer = bodyOf(await call('async_update', input))
    t.match(answer, {
      status: 'contention',
      diff: { format: 'lines', lines: [{ start_line: Number }] },
      message: /async_read/
    })
    const asked = { path: 'f', from_hash: hash, diff_format: 'unified' }
    t.match(bodyOf(await call('async_diff', asked)), {
      diff: { format: 'lines', advice: /longer than an answer.*REST/ }
    })
    t.match(await rest.call('async_diff', asked), { diff: { format: 'unified', content: String } })
    const files = ['f', 'g'].map((path) => ({ path, expected_hash: hash, content: 'two\n' }))
    await rest.call('async_write', { path: 'g', content: long })
    bodyOf(await call('async_batch_update', { files, diff_format: 'unified' }))
    t.match(await read({ path: 'f', known_hash: hashOf(long) }), { content: String })
    t.equal(tree.read('f'), long)
  })

  test(`${era}: conflicts of a merge leave room for the difference`, async (t) => {
    const rows = Array.from({ length: 3_000 }, (_, index) => `line ${index} of the file\n`)
    const changedBy = (name: string) => rows.map((row, index) => (index % 10 === 0 ? `${name} ${row}` : row)).join('')
    const { call, read, rest } = await scene(t, era, { f: rows.join('') }, {}, 'ann')
    const { hash } = await read({ path: 'f' })
    await rest.call('async_update', { path: 'f', expected_hash: hash, content: changedBy('bob') })
    const mine = { path: 'f', expected_hash: hash, content: changedBy('ann'), on_contention: 'merge' }
    const there = await rest.call('async_update', mine)
    t.ok(JSON.stringify(there).length > hiddenAbove, 'over REST it has everything')
    const answer = bodyOf(await call('async_update', mine))
    t.match(answer, { status: 'contention', merge_conflicts: [{ base: { start_line: 1, content: undefined } }] })
    t.equal(answer['merge_conflicts'].length + answer['further_merge_conflicts'], 300)
  })

  test(`${era}: authors, versions and what an undo has taken back come in parts, or are counted`, async (t) => {
    const rows = Array.from({ length: 400 }, (_, index) => `${index}\n`)
    const names = rows.map((_, index) => `${'folder-of-a-long-name/'.repeat(4)}${index}`)
    const { call, rest } = await scene(t, era, { f: rows.join('') }, { answer_chars: 8_000 }, 'ann')
    const { hash } = await rest.call('async_read', { path: 'f' })
    const patches = rows.flatMap((row, index) =>
      index % 2 === 0 ? [{ old_string: `\n${row}`, new_string: `\nx${row}` }] : []
    )
    await rest.call('async_update', { path: 'f', expected_hash: hash, patches: patches.slice(1) })
    const lines: number[] = []
    for (let next: number | undefined = 1; next !== undefined;) {
      const answer: Answer = bodyOf(await call('async_blame', { path: 'f', start_line: next }))
      for (const { start_line, end_line } of answer['ranges'] as { start_line: number; end_line: number }[])
        for (let at = start_line; at <= end_line; at++) lines.push(at)
      next = answer['next_start_line'] as number | undefined
    }
    t.strictSame(
      lines,
      rows.map((_, index) => index + 1)
    )
    await rest.call('async_batch_write', { files: names.map((path) => ({ path, content: 'x' })), change_set: 'many' })
    const seen: string[] = []
    for (let cursor: string | undefined, isFirst = true; isFirst || cursor !== undefined; isFirst = false) {
      const input = { change_set: 'many', limit: 100, ...(cursor !== undefined && { cursor }) }
      const answer: Answer = bodyOf(await call('async_history', input))
      t.ok(JSON.stringify(answer).length <= 8_000)
      seen.push(...(answer['versions'] as Answer[]).map(({ path }) => path as string))
      cursor = answer['next_cursor'] as string | undefined
    }
    t.strictSame(seen, names.toReversed())
    const undone = bodyOf(await call('async_undo', { of_change_set: 'many' }))
    t.ok(JSON.stringify(undone).length <= 8_000)
    t.match(undone, { status: 'ok', undone: 400, further_files: 400 - undone['files'].length })
  })

  test(`${era}: 547 entries cost 5,000 tokens, and 9,000 with hashes`, async (t) => {
    const { call, rest } = await scene(t, era, sources())
    const plain = await call('async_list', { path: '.', recursive: true })
    t.match(bodyOf(plain), { total_entries: 547, next_cursor: undefined, lines: 'name bytes' })
    t.equal(plain.structuredContent, undefined, 'or else a client shows its model only that')
    const { entries } = await rest.call('async_list', { path: '.', recursive: true, ignore: true })
    for (const { path } of (entries as Answer[])
      .filter((one) => one['type'] === 'file')
      .map((one) => ({ path: one['name'] })))
      await rest.call('async_read', { path })
    const hashed = await call('async_list', { path: '.', recursive: true, include_hashes: true })
    for (const [answer, most] of [
      [plain, 5_000],
      [hashed, 9_000]
    ] as const) {
      const tokens = countTokens(answer.content[0]!.text) * o200kPerToken
      t.ok(tokens <= most, `${Math.round(tokens)} of ${most} tokens`)
    }
    t.match(bodyOf(hashed), { lines: 'name hash', next_cursor: undefined, content: / index-0\.ts [0-9a-f]{16}\n/ })
  })

  test(`${era}: a listing leaves out what Git ignores unless asked, and names what is odd`, async (t) => {
    const files = { '.gitignore': 'out\n', 'a b': '1', ...odd.files, 'd/e/f': '', 'out/g': '' }
    const { call } = await scene(t, era, files)
    const list = async (input: object) => bodyOf(await call('async_list', { path: '.', ...input }))['content'] as string
    t.equal(await list({ recursive: true }), `.gitignore 4\na b 1\n${odd.line}d/\nd/e/\n f 0`)
    t.equal(await list({}), `.gitignore 4\na b 1\n${odd.line}d/`)
    t.match(await list({ ignore: false }), 'out/')
    const some = { path: '.', pattern: 'g*', recursive: true }
    t.match(bodyOf(await call('async_list', some)), { total_entries: 0, message: /ignore: false/ })
    t.equal(await list({ ...some, ignore: false }), 'out/\n g 0')
    t.equal(await list({ path: 'out' }), 'g 0', 'which asks for it by its name')
  })

  test(`${era}: a listing of any length comes in pages that miss nothing`, async (t) => {
    const names = Array.from({ length: 1_500 }, (_, index) => `${'n'.repeat(30)}-${1000 + index}`)
    for (const listing of ['compact', 'full']) {
      const { call } = await scene(t, era, Object.fromEntries(names.map((name) => [name, ''])), { listing })
      const found: string[] = []
      let pages = 0
      for (let cursor: string | undefined, isFirst = true; isFirst || cursor !== undefined; isFirst = false) {
        const page = bodyOf(
          await call('async_list', { path: '.', limit: 5_000, ...(cursor !== undefined && { cursor }) })
        )
        found.push(
          ...(listing === 'full'
            ? (page['entries'] as Answer[]).map(({ name }) => name as string)
            : (page['content'] as string).split('\n').map((row) => row.replace(/ 0$/, '')))
        )
        cursor = page['next_cursor'] as string | undefined
        if (listing === 'compact')
          t.equal(page['message'] !== undefined, cursor !== undefined, 'a page that is not the last says how to go on')
        pages += 1
      }
      t.strictSame(found, names, listing)
      t.ok(pages > 1, `${pages} pages`)
    }
  })

  test(`${era}: a page of a listing has as many entries as fit with the digits that are shown`, async (t) => {
    const names = Array.from({ length: 60 }, (_, index) => `file-${100 + index}`)
    const files = Object.fromEntries(names.map((name) => [name, name]))
    for (const listing of ['compact', 'full']) {
      const counts = []
      for (const hashes of ['short', 'full']) {
        const { call, rest } = await scene(t, era, files, { listing, hashes, answer_chars: 4_000 })
        await rest.call('async_batch_read', { files: names.map((path) => ({ path })) })
        const answer = await call('async_list', { path: '.', include_hashes: true })
        t.ok(charsOf(answer) <= 4_000, `${listing}, ${hashes}: ${charsOf(answer)} characters`)
        counts.push(JSON.stringify(answer.content).match(/file-\d+/g)?.length ?? 0)
      }
      const [short = 0, full = 0] = counts
      t.ok(full > 1 && short > full && full < names.length, `${listing}: ${short} entries, ${full} with whole hashes`)
    }
  })

  test(`${era}: tools with long answers say so to Claude Code, and programs can have listings in full`, async (t) => {
    const { client, call } = await scene(
      t,
      era,
      { '.gitignore': 'out', f: '', 'out/g': '' },
      { listing: 'full', output_schemas: true }
    )
    const { tools } = await client.listTools()
    const metas = Object.fromEntries(tools.map(({ name, _meta }) => [name, _meta?.['anthropic/maxResultSizeChars']]))
    t.match(metas, { async_read: 500_000, async_list: 500_000, async_batch_read: 500_000, lock_try: undefined })
    const { structuredContent } = await call('async_list', { path: '.' })
    t.match(
      structuredContent,
      { entries: [{ name: '.gitignore' }, { name: 'f', type: 'file' }, { name: 'out' }] },
      'as REST'
    )
  })
}

t.test('over standard input parts come as over HTTP', async (t) => {
  const tree: Tree = makeTree(t, { f: long })
  const program = startStdio(t, argsFor(tree, '--tools', 'all'))
  for (const message of legacyHandshake) program.send(message)
  const read = async (input: object) => {
    const { result } = await program.call('tools/call', { name: 'async_read', arguments: input })
    t.ok(charsOf(result as Result) < hiddenAbove)
    return bodyOf(result as Result)
  }
  t.equal((await readAll(read, { path: 'f' })).text, long)
  const { result } = await program.call('async_read', { path: 'f' })
  t.equal(result?.['content'], long, 'a plain call of JSON-RPC gets all')
  const relay = startStdio(t, argsFor(tree, '--tools', 'all'))
  for (const message of legacyHandshake) relay.send(message)
  const { result: relayed } = await relay.call('tools/call', { name: 'async_read', arguments: { path: 'f' } })
  t.match(bodyOf(relayed as Result), { next_offset: Number }, 'and so do they through another process')
})

/** 547 entries, as of a tree of sources, and ignored ones beside them. */
function sources(): Record<string, string> {
  const files: Record<string, string> = { '.gitignore': 'node_modules\n' }
  const words = ['index', 'lock-manager', 'read-tracker', 'options', 'async-read', 'seen-lines', 'worker-pool', 'test']
  const folders = [
    'engine/locks',
    'engine/files',
    'engine/versions',
    'operations/change',
    'transports/mcp',
    'tree/state'
  ]
  const all = folders.flatMap((folder) => [`src/${folder}`, `test/${folder}`])
  // Folders: 12, and 2 + 8 + 2 above them; `.gitignore`; files for the rest.
  const others = new Set(
    all.flatMap((folder) => folder.split('/').map((_, at, parts) => parts.slice(0, at + 1).join('/')))
  )
  for (let index = 0; Object.keys(files).length + others.size < 547; index++) {
    const folder = all[index % all.length]!
    const number = Math.floor(index / all.length)
    files[`${folder}/${words[number % words.length]}-${number}.ts`] = 'x'.repeat(number * 97)
  }
  for (let index = 0; index < 50; index++) files[`node_modules/p${index}/index.js`] = ''
  return files
}

for (const [name, letter] of [
  ['ASCII', 'x'],
  ['letters of two bytes', 'é']
] as const)
  t.test(
    `${name}: a text is shown whole up to the very character that has room, with numbers of lines too`,
    async (t) => {
      const room = 5000 - 800 - 'f'.length
      // Of 100 characters in JSON.
      const lines = `${letter.repeat(98)}\n`.repeat(Math.floor(room / 100))
      const full = lines + letter.repeat(room % 100)
      const { read } = await scene(t, '2026', { f: full, g: `${full}${letter}` }, { answer_chars: 5000 }, 'ann')
      // The second time from what is known of the version.
      for (let time = 1; time <= 2; time += 1) {
        const whole = await read({ path: 'f' })
        t.equal(whole['content'], full)
        t.notOk('next_offset' in whole)
        t.match(await read({ path: 'g' }), { content: lines, next_offset: Math.floor(room / 100) })
        const numbered = await read({ path: 'f', line_numbers: true })
        t.ok((numbered['next_offset'] as number) < Math.floor(room / 100), 'the numbers take room, too')
      }
    }
  )
