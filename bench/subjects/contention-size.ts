// What a contention answer costs its reader, against reading the file again.
import { connectModern } from '../../test/fixtures/clients.ts'
import { startProgram } from '../../test/fixtures/server.ts'
import { makeTree } from '../../test/fixtures/tree.ts'
import { withOwner, type Owner } from '../owner.ts'
import { sourceLines } from '../sources.ts'
import { percent, printTable, whole, type Row } from '../table.ts'
import { countTokens, tokenRule } from '../tokens.ts'

export interface Sizes {
  /** The body over REST. */
  readonly rest: number
  /** The result over MCP: structured content, and the same as text. */
  readonly mcp: number
  /** What a model sees of it: the text. */
  readonly text: number
  readonly tokens: number
}

type Input = Record<string, unknown>

const maxUpdates = 10
/** A file is read again in one answer: by pages it would cost a little more. */
const wholeFile = { ASYNC_CRUD_MCP_MCP__ANSWER_CHARS: '500000' }

const head = [
  'answer',
  'REST bytes',
  'MCP bytes',
  'text bytes',
  'tokens (approx.)',
  'bytes of re-reading',
  'tokens of re-reading'
]

export async function contentionSize(): Promise<void> {
  console.log('\n## contention: the size of the answer to a late update, against reading the file again')
  console.log(`\n${tokenRule}`)
  for (const [lines, changed] of [
    [1000, 3],
    [10_000, 10],
    [750, 75],
    [750, 375]
  ] as const) {
    const answers = await withOwner((owner) => measureContention(owner, lines, changed, countTokens))
    const rows = Object.entries(answers).map(([name, sizes]) => toRow(name, sizes, answers['re-reading']))
    printTable(`${whole(lines)} lines, ${changed} changed`, head, rows)
  }
}

/** The answer to a late patch, in each form, and reading the file again instead. */
export async function measureContention(
  owner: Owner,
  lineCount: number,
  changed: number,
  countTokens: (text: string) => number
): Promise<Record<'re-reading' | 'contention' | `contention, ${'json' | 'unified'} asked for`, Sizes>> {
  const lines = sourceLines(lineCount)
  const tree = makeTree(owner, { f: lines.join('') })
  const { url } = await startProgram(owner, ['--dir', tree.root], wholeFile)
  const client = await connectModern(url, 'late-agent')
  owner.teardown(() => client.close())
  const sizesOf = async (name: string, input: Input) => measureCall(url, client, name, input, countTokens)
  const { hash } = (await (await post(url, 'async_read', { path: 'f' })).json()) as { hash: string }
  // Others change single lines, evenly spread: few in updates of their own, many in one.
  const after = [...lines]
  let current = hash
  for (let index = 0; index < changed; index += 1) {
    const at = Math.floor(((index + 0.5) * lineCount) / changed)
    after[at] = `  const changedBySomebodyElse${index} = compute(${at})\n`
    if (changed > maxUpdates && index < changed - 1) continue
    const update = { path: 'f', expected_hash: current, content: after.join(''), agent_id: `other-agent-${index}` }
    current = ((await (await post(url, 'async_update', update)).json()) as { hash: string }).hash
  }
  const late = {
    path: 'f',
    expected_hash: hash,
    patches: [{ old_string: lines.slice(0, 12).join(''), new_string: '\n' }]
  }
  return {
    're-reading': await sizesOf('async_read', { path: 'f' }),
    contention: await sizesOf('async_update', late),
    'contention, json asked for': await sizesOf('async_update', { ...late, diff_format: 'json' }),
    'contention, unified asked for': await sizesOf('async_update', { ...late, diff_format: 'unified' })
  }
}

function toRow(name: string, sizes: Sizes, reread: Sizes): Row {
  const { rest, mcp, text, tokens } = sizes
  return [name, ...[rest, mcp, text, tokens].map(whole), percent(text / reread.text), percent(tokens / reread.tokens)]
}

async function measureCall(
  url: string,
  client: Awaited<ReturnType<typeof connectModern>>,
  name: string,
  input: Input,
  countTokens: (text: string) => number
): Promise<Sizes> {
  const body = await (await post(url, name, input)).text()
  const result = await client.callTool({ name, arguments: input })
  const [content] = result['content'] as { text: string }[]
  const text = content?.text ?? ''
  const expected = name === 'async_read' ? 'ok' : 'contention'
  if (!text.startsWith(`{"status":"${expected}"`) || text.includes('"next_offset":'))
    throw new Error(`${name}: ${text.slice(0, 500)}`)
  return {
    rest: Buffer.byteLength(body),
    mcp: Buffer.byteLength(JSON.stringify(result)),
    text: Buffer.byteLength(text),
    tokens: countTokens(text)
  }
}

function post(url: string, name: string, input: Input): Promise<Response> {
  const headers = { 'content-type': 'application/json', 'x-agent-id': 'late-agent' }
  return fetch(`${url}/${name}`, { method: 'POST', headers, body: JSON.stringify(input) })
}
