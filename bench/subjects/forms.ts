// What the form of an answer costs a model: reads and differences of this repository's sources, as text and as JSON.
import { connectModern } from '../../test/fixtures/clients.ts'
import { startProgram } from '../../test/fixtures/server.ts'
import { makeTree } from '../../test/fixtures/tree.ts'
import { largestSources } from '../../test/harness/swarm/swarm.ts'
import { withOwner, type Owner } from '../owner.ts'
import { installPackages, loadTokenCounter } from '../peers/packages.ts'
import { percent, printTable, whole } from '../table.ts'

/** By the names of their clients. */
const forms = { text: 'claude-code', JSON: 'script' }
const settings = {
  'as shipped': {},
  'every member, whole hashes': { ASYNC_CRUD_MCP_MCP__FIELDS: 'all', ASYNC_CRUD_MCP_MCP__HASHES: 'full' }
}

/** A longer one comes in pages. */
const maxChars = 30_000
/** Lines that another agent changes in each source. */
const changed = 3

type Count = (text: string) => number
type Sums = Map<string, number>

export async function measureForms(): Promise<void> {
  console.log('\n## forms: reads and differences as text and as JSON')
  const failure = installPackages()
  if (failure !== undefined) return console.log(`\n${failure}`)
  const countTokens = loadTokenCounter()
  const files = Object.entries(largestSources(Infinity)).filter(([, text]) => text.length < maxChars)
  const inFiles = files.reduce((sum, [, text]) => sum + countTokens(text), 0)
  for (const [name, environment] of Object.entries(settings)) {
    const sums = await withOwner((owner) => measure(owner, Object.fromEntries(files), environment, countTokens))
    const rows = [...sums].map(([answer, tokens]) => {
      const json = sums.get(answer.replace('text', 'JSON').replace(', numbered', ''))!
      const over = answer.startsWith('read') ? percent(tokens / inFiles - 1) : ''
      return [answer, whole(tokens), over, percent(tokens / json)]
    })
    const title = `${files.length} sources, ${whole(inFiles)} tokens (o200k), ${changed} lines changed in each: ${name}`
    printTable(title, ['answer', 'tokens', 'more than the file', 'of JSON'], rows)
  }
}

async function measure(
  owner: Owner,
  files: Readonly<Record<string, string>>,
  environment: Record<string, string>,
  countTokens: Count
): Promise<Sums> {
  const { url } = await startProgram(owner, ['--dir', makeTree(owner, files).root], environment)
  const sums: Sums = new Map()
  for (const [form, name] of Object.entries(forms)) {
    const client = await connectModern(url, form, '', name)
    owner.teardown(() => client.close())
    const ask = async (answer: string, tool: string, input: Record<string, unknown>) => {
      const { content } = await client.callTool({ name: tool, arguments: input })
      const [{ text = '' } = {}] = content as { text?: string }[]
      sums.set(answer, (sums.get(answer) ?? 0) + countTokens(text))
    }
    for (const [path, text] of Object.entries(files)) {
      await ask(`read, ${form}`, 'async_read', { path })
      await ask(`read, ${form}, numbered`, 'async_read', { path, line_numbers: true })
      const base = await hashOf(url, path)
      const { patch, after } = changeLines(text)
      await post(url, 'async_update', { path, expected_hash: base, content: after, agent_id: 'other' })
      await ask(`async_diff, ${form}`, 'async_diff', { path, from_hash: base })
      await ask(`contention, ${form}`, 'async_update', { path, expected_hash: base, content: '\n' })
      const late = { path, expected_hash: base, patches: [patch] }
      await ask(`contention, patches apply, ${form}`, 'async_update', late)
      await post(url, 'async_update', {
        path,
        expected_hash: await hashOf(url, path),
        content: text,
        agent_id: 'other'
      })
    }
  }
  return sums
}

/** Evenly spread, and a patch of the first line. */
function changeLines(text: string) {
  const lines = text.split('\n')
  const [first = ''] = lines
  const after = [...lines]
  for (let index = 0; index < changed; index += 1) {
    const at = Math.floor(((index + 1) * lines.length) / (changed + 1))
    after[at] = `  const changedByAnother${index} = compute(${at})`
  }
  return {
    patch: { start_line: 1, end_line: 1, new_content: `${first} changed\n`, expected_lines: first },
    after: after.join('\n')
  }
}

async function hashOf(url: string, path: string): Promise<string> {
  return ((await post(url, 'async_status', { path })) as { hash: string }).hash
}

async function post(url: string, name: string, input: object): Promise<unknown> {
  const headers = { 'content-type': 'application/json' }
  const response = await fetch(`${url}/${name}`, { method: 'POST', headers, body: JSON.stringify(input) })
  return response.json()
}
