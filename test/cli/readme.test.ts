// The README's sessions, pasted as they stand, do what they say.
import { execFile } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { promisify } from 'node:util'
import { fileURLToPath } from 'node:url'
import { Client } from '@modelcontextprotocol/client'
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio'
import t from 'tap'
import { operations } from '../../src/operations/index.ts'
import type { Answer } from '../fixtures/clients.ts'
import { startProgram } from '../fixtures/server.ts'
import { makeTree } from '../fixtures/tree.ts'

const project = new URL('../../../', import.meta.url)
const readme = readFileSync(new URL('README.md', project), 'utf8')

const [session = '', lines = ''] = ['## A first session with curl', '## Lines of a file, with curl alone'].map(
  (title) => {
    const start = readme.indexOf(title)
    return readme.slice(start, readme.indexOf('\n## ', start))
  }
)

function blocksOf(section: string): string[] {
  return [...section.matchAll(/```sh\n([^]*?)```/g)].map((match) => match[1] as string)
}

async function run(script: string): Promise<string> {
  return (await promisify(execFile)('bash', ['-euc', script], { cwd: fileURLToPath(project) })).stdout
}

const parse = (text: string | undefined) => JSON.parse(text ?? '') as Answer

t.test('the sessions with curl do what they say', async (t) => {
  const tree = makeTree(t)
  const blocks = [...blocksOf(session), ...blocksOf(lines)].map((block) => block.replaceAll('/tmp/demo', tree.root))
  const [prepare = '', first = '', second = '', byLine = '', stdio = ''] = blocks
  t.equal(blocks.length, 5)
  await run(prepare.replace(/npm start.*/, ''))
  const { url } = await startProgram(t, ['--dir', tree.root])
  const here = (script: string) => script.replaceAll('http://127.0.0.1:8720', url)

  const [read, ann, late, bob, ...file] = (await run(here(first + second))).split('\n')
  t.match(parse(read), { status: 'ok', content: 'one\ntwo\nthree\nfour\nfive\nsix\nseven\neight\n' })
  t.match(parse(ann), { status: 'ok' })
  const promised = JSON.parse(/```json\n([^]*?)```/.exec(session)?.[1] ?? '') as Answer
  t.match(parse(late), promised, "Bob's answer is the one that is printed")
  t.match(parse(bob), { status: 'ok' })
  t.equal(file.join('\n'), 'one\nzwei\nthree\nfour\nfive\nsix\nseven\nacht\n')

  const [call = ''] = first.split('\n')
  const [listed, range, edited, appended, created, ...files] = (await run(here(`${call}\n${byLine}`))).split('\n')
  t.match(parse(listed), { files: [{ name: 'list.txt', lines: 8 }], total_count: 1 })
  t.strictSame(parse(range), {
    content: 'zwei\nthree',
    total_lines: 8,
    range_requested: { start_line: 2, end_line: 3 }
  })
  t.match(parse(edited), { success: true, lines_modified: 3, new_total_lines: 8 })
  t.match(parse(appended), { lines_modified: 1, new_total_lines: 9 })
  t.match(parse(created), { file_created: true, new_total_lines: 1 })
  t.equal(files.join('\n'), 'uno\nzwei\nbetween\nthree\nfive\nsix\nseven\nacht\nnine\nwrite the report\n')

  t.strictSame(parse(await run(stdio)), {
    jsonrpc: '2.0',
    id: 1,
    result: { content: 'write the report', total_lines: 1 }
  })
})

t.test('an MCP client that starts the server itself as the README says finds the tools', async (t) => {
  const tree = makeTree(t, { 'a.txt': 'one\n' })
  const block = /over stdio[^]*?```json\n([^]*?)```/.exec(readme)?.[1] ?? ''
  const { mcpServers } = JSON.parse(block) as { mcpServers: Record<string, { command: string; args: string[] }> }
  const { command = '', args = [] } = mcpServers['async-crud'] ?? {}
  const real = args.map((arg) =>
    arg.replace('/path/to/async-crud-mcp', fileURLToPath(project)).replace('/path/to/your/project', tree.root)
  )
  const client = new Client({ name: 'test', version: '1' }, { versionNegotiation: { mode: 'auto' } })
  t.teardown(() => client.close())
  await client.connect(new StdioClientTransport({ command, args: real, stderr: 'ignore' }))
  t.match(await client.callTool({ name: 'read_file', arguments: { name: 'a.txt' } }), {
    structuredContent: { content: 'one', total_lines: 1 }
  })
})

t.test('every operation is in the README, and every link leads to a file', async (t) => {
  for (const { name } of operations) t.match(readme, `\`${name}\``)
  for (const [, target] of readme.matchAll(/\]\((?!http)([^)]+)\)/g)) {
    const path = new URL(String(target), project)
    t.doesNotThrow(() => (target?.endsWith('/') === true ? undefined : readFileSync(path)), String(target))
  }
})
