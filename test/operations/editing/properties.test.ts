// 2,000 random files and edit lists: every answer and the bytes that result, against the model in line-model.ts.
import { rmSync } from 'node:fs'
import { Agent, request } from 'node:http'
import { isDeepStrictEqual } from 'node:util'
import fc from 'fast-check'
import t from 'tap'
import type { Answer } from '../../fixtures/clients.ts'
import { show } from '../../fixtures/file-editing.ts'
import { startServer } from '../../fixtures/server.ts'
import { makeTree } from '../../fixtures/tree.ts'
import { lengthOf } from '../../fixtures/length.ts'
import { edit, fileLines, isConsistent, read, type ModelEdit, type ModelRequest } from './line-model.ts'

const files = lengthOf({ full: 2000, short: 100 })

/** What may stand in a line, line separators of Unicode included: they end no line. */
const lineText = fc.oneof(
  { weight: 3, arbitrary: fc.string({ unit: fc.constantFrom('a', 'b', ' ', '$', '\t'), maxLength: 4 }) },
  {
    weight: 1,
    arbitrary: fc.string({
      unit: fc.constantFrom('x', '\u2028', '\u2029', '\u0085', '\v', '\f', '\u{1f600}', '\u00e9', '\ufeff', '\0'),
      maxLength: 3
    })
  }
)
const lineEnds = ['\n', '\r\n', '\r'] as const
const lineEnd = fc.oneof(
  ...lineEnds.map((end) => fc.constant(fc.constant(end))),
  fc.constant(fc.constantFrom(...lineEnds))
)

const text = lineEnd.chain((end) =>
  fc
    .record({
      lines: fc.array(fc.tuple(lineText, end), { maxLength: 7 }),
      hasFinalBreak: fc.oneof(
        { weight: 2, arbitrary: fc.constant(true) },
        { weight: 1, arbitrary: fc.constant(false) }
      ),
      hasMark: fc.oneof({ weight: 5, arbitrary: fc.constant(false) }, { weight: 1, arbitrary: fc.constant(true) })
    })
    .map(({ lines, hasFinalBreak, hasMark }) => {
      const whole = lines.map((line) => line.join('')).join('')
      return (hasMark ? '\ufeff' : '') + (hasFinalBreak ? whole : whole.replace(/(\r\n|\n|\r)$/, ''))
    })
)

const handed = fc
  .tuple(fc.array(fc.tuple(lineText, fc.constantFrom(...lineEnds)), { maxLength: 3 }), lineText)
  .map(([lines, last]) => lines.map((line) => line.join('')).join('') + last)

interface RawEdit {
  readonly at: number
  readonly operation: ModelEdit['operation']
  readonly content: string
  /** Now and then something is wrong with an edit. */
  readonly fault: 'none' | 'content' | 'range'
}

const rawEdit: fc.Arbitrary<RawEdit> = fc.record({
  at: fc.nat({ max: 40 }),
  operation: fc.constantFrom('replace', 'insert', 'delete'),
  content: handed,
  fault: fc.oneof(
    { weight: 40, arbitrary: fc.constant('none' as const) },
    { weight: 1, arbitrary: fc.constantFrom('content' as const, 'range' as const) }
  )
})

/** An edit of a file of so many lines. */
function toEdit({ at, operation, content, fault }: RawEdit, total: number): ModelEdit {
  const last = operation === 'insert' ? total + 1 : total
  const line = fault === 'range' ? last + 1 + at : (at % Math.max(last, 1)) + 1
  const hasContent = (operation !== 'delete') !== (fault === 'content')
  return { line, operation, ...(hasContent && { content }) }
}

const lineNumber = fc.option(fc.integer({ min: 1, max: 10 }), { nil: undefined })

const plan = fc.record({
  /** undefined: the file does not exist. */
  before: fc.oneof({ weight: 10, arbitrary: text }, { weight: 1, arbitrary: fc.constant(undefined) }),
  edits: fc.array(rawEdit, { maxLength: 4 }),
  append: fc.oneof({ weight: 2, arbitrary: fc.constant(undefined) }, { weight: 1, arbitrary: handed }),
  create: fc.oneof({ weight: 3, arbitrary: fc.constant(true) }, { weight: 2, arbitrary: fc.constant(false) }),
  range: fc.record({ start: lineNumber, end: lineNumber })
})
type Plan = typeof plan extends fc.Arbitrary<infer Value> ? Value : never

function toRequest({ before, edits, append }: Plan): ModelRequest {
  const total = fileLines(before ?? '').length
  return { edits: edits.map((edit) => toEdit(edit, total)), append: append ?? '' }
}

/** Where line ends would meet, or a line would vanish: too rare to wait for. */
const examples: [Plan][] = (
  [
    ['a\r\nb\rc\n\n', { at: 2, operation: 'delete' }],
    ['a\rb\n\n', { at: 1, operation: 'delete' }],
    ['\n\ra\n', { at: 2, operation: 'replace' }],
    ['a\n\nb', { at: 2, operation: 'delete' }],
    ['a\r\rb', { at: 2, operation: 'delete' }],
    ['a', { at: 0, operation: 'replace' }],
    ['a', { at: 1, operation: 'insert' }],
    ['', { at: 0, operation: 'insert' }]
  ] as const
).map(([before, edit]) => [
  {
    before,
    edits: [{ ...edit, content: '', fault: 'none' }],
    append: undefined,
    create: false,
    range: { start: undefined, end: undefined }
  }
])

t.test('the answers and bytes are those of the model', async (t) => {
  const tree = makeTree(t)
  const { url } = await startServer(t, tree.root, { daemon: { log_level: 'silent' }, crud: { durability: 'rename' } })
  const agent = new Agent({ keepAlive: true })
  t.teardown(() => agent.destroy())
  const post = (operation: string, input: object) => send(agent, `${url}/${operation}`, input)

  async function check(plan: Plan): Promise<void> {
    const { before, append, create, range } = plan
    const name = 'file.txt'
    rmSync(tree.path(name), { force: true })
    if (before !== undefined) tree.write(name, before)
    const asked = toRequest(plan)
    const expected = edit(before, asked)
    const input = { name, ...asked, append, create_if_missing: create }
    const answer = await post('edit_file', input)
    const now = tree.all().includes(name) ? tree.bytes(name).toString('utf8') : undefined
    const same = (what: string, actual: unknown, wanted: unknown) => expectSame({ before, input, what, actual, wanted })

    if (before === undefined && !create) {
      same('code', codeOf(answer), isConsistent(asked.edits) ? -32001 : -32602)
    } else if (expected === 'invalid') {
      same('code', codeOf(answer), -32602)
      same('unchanged bytes', now, before)
    } else {
      const { linesModified, totalLines } = expected
      const facts = { lines_modified: linesModified, file_created: before === undefined, new_total_lines: totalLines }
      same('answer', answer, { success: true, ...facts })
      same('bytes', now, expected.text)
      same('lines in the bytes', fileLines(expected.text).length, totalLines)
    }
    if (now === undefined) return

    same('whole', await post('read_file', { name }), { content: read(now), total_lines: fileLines(now).length })
    const { start, end } = range
    const part = await post('read_file', { name, start_line: start, end_line: end })
    const content = read(now, start, end)
    if (content === undefined) return same('range', codeOf(part), -32602)
    const echo = { ...(start !== undefined && { start_line: start }), ...(end !== undefined && { end_line: end }) }
    const hasRange = start !== undefined || end !== undefined
    same('range', part, {
      content,
      total_lines: fileLines(now).length,
      ...(hasRange && { range_requested: echo })
    })
  }

  await fc.assert(fc.asyncProperty(plan, check), { numRuns: files, examples })
})

t.test('each kind of file and of outcome is among them, often enough', (t) => {
  const count = 2000
  const seen = fc.sample(plan, count).flatMap((plan) => {
    const { before, create } = plan
    const expected = edit(before, toRequest(plan))
    if (before === undefined && !create) return ['missing']
    const kindsBefore = before === undefined ? [] : kindsOf(before)
    if (expected === 'invalid') return ['refused', ...kindsBefore]
    return [before === undefined ? 'created' : 'edited', ...kindsBefore, ...kindsOf(expected.text)]
  })
  for (const kind of [...kinds.keys(), 'missing', 'refused', 'created', 'edited']) {
    const times = seen.filter((each) => each === kind).length
    t.ok(times >= count / 200, `${kind}: ${times}`)
  }
  t.end()
})

const kinds = new Map<string, (text: string) => boolean>([
  ['line ends \\n', (text) => /^[^\r]*\n[^\r]*$/.test(text)],
  ['line ends \\r\\n', (text) => /^([^\n\r]*\r\n)+[^\n\r]*$/.test(text)],
  ['line ends \\r', (text) => /^[^\n]*\r[^\n]*$/.test(text)],
  ['mixed line ends', (text) => new Set(text.match(/\r\n|\n|\r/g)).size > 1],
  ['byte order mark', (text) => text.startsWith('\ufeff')],
  ['no final line break', (text) => /[^\n\r]$/.test(text)],
  ['empty', (text) => text === ''],
  ['one line', (text) => fileLines(text).length === 1],
  ['separators of Unicode', (text) => /[\u2028\u2029\u0085]/.test(text)],
  ['beyond the BMP', (text) => /\u{1f600}/u.test(text)]
])

function kindsOf(text: string): string[] {
  return [...kinds].filter(([, fits]) => fits(text)).map(([kind]) => kind)
}

function codeOf(answer: Answer): unknown {
  return (answer['error'] as Answer | undefined)?.['code'] ?? answer
}

interface Comparison {
  readonly before: string | undefined
  readonly input: object
  readonly what: string
  readonly actual: unknown
  readonly wanted: unknown
}

function expectSame({ before, input, what, actual, wanted }: Comparison): void {
  if (isDeepStrictEqual(actual, wanted)) return
  throw new Error(
    `${what}: ${show(actual)} instead of ${show(wanted)}\n  file ${show(before)}\n  edit_file ${show(input)}`
  )
}

/** fetch would take four times as long. */
function send(agent: Agent, url: string, input: object): Promise<Answer> {
  return new Promise((resolve, reject) => {
    const headers = { 'content-type': 'application/json' }
    const outgoing = request(url, { method: 'POST', agent, headers }, (incoming) => {
      const chunks: Buffer[] = []
      incoming.on('data', (chunk: Buffer) => chunks.push(chunk))
      incoming.on('end', () => resolve(JSON.parse(Buffer.concat(chunks).toString()) as Answer))
    })
    outgoing.on('error', reject)
    outgoing.end(JSON.stringify(input))
  })
}
